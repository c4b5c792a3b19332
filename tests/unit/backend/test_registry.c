/* links: tp_backend */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "host/backend/registry.h"

static struct backend opened;
static int cuda_works, closed;

static enum err open_cpu(const struct backend_options *options, struct backend **out)
{
    opened.threads = options->threads;
    *out = &opened;
    return ERR_OK;
}

static enum err open_cuda(const struct backend_options *options, struct backend **out)
{
    FAIL_IF(!cuda_works, ERR_UNSUPPORTED, "no GPU here");
    return open_cpu(options, out);
}

static void close_any(struct backend *be)
{
    assert_ptr_equal(be, &opened);
    closed++;
}

static const struct backend_ops cpu = {.name = "cpu", .open = open_cpu, .close = close_any};
static const struct backend_ops cuda = {.name = "cuda", .open = open_cuda, .close = close_any};

static enum err try_open(const char *name)
{
    static const struct backend_options options = {.threads = 3};
    struct backend *be = NULL;
    enum err e = backend_open(name, &options, &be);
    assert_true((e == ERR_OK) == (be != NULL));
    return e;
}

static const char *reason_of(const char *wanted)
{
    const char *name, *reason;
    for (int i = 0; backend_describe(i, &name, &reason); i++)
        if (!strcmp(name, wanted))
            return reason;
    return NULL;
}

/* A single test: registration cannot be undone, so the order is part of it. */
static void names_open_what_was_registered(void **state)
{
    (void)state;
    assert_int_equal(try_open("auto"), ERR_UNSUPPORTED);
    assert_int_equal(try_open("cpu"), ERR_UNSUPPORTED);

    backend_register(&cpu);
    assert_int_equal(try_open("cpu"), ERR_OK);
    assert_int_equal(opened.threads, 3);
    assert_int_equal(try_open("auto"), ERR_OK);
    assert_string_equal(backend_passed_over(), ""); /* of a back end that is not in the build */
    assert_int_equal(try_open("cuda"), ERR_UNSUPPORTED);
    assert_string_equal(err_text(),
                        "`backend=cuda`: this build has no CUDA back end: use one of auto, cpu");
    assert_int_equal(try_open("opencl"), ERR_USAGE);
    assert_string_equal(err_text(), "`backend=opencl`: unknown: must be one of auto, cpu");
    assert_string_equal(reason_of("cpu"), "");
    assert_true(strlen(reason_of("cuda")) > 0);
    assert_null(reason_of("opencl"));

    backend_register(&cuda);
    opened.ops = NULL;
    assert_int_equal(try_open("cuda"), ERR_UNSUPPORTED);
    assert_string_equal(err_text(), "no GPU here");
    assert_int_equal(try_open("auto"), ERR_OK); /* falls back to the CPU */
    assert_string_equal(backend_passed_over(), "no GPU here");
    cuda_works = 1;
    assert_int_equal(try_open("auto"), ERR_OK);
    assert_string_equal(backend_passed_over(), "");
    assert_int_equal(try_open("cuda"), ERR_OK);
    assert_string_equal(reason_of("cuda"), "");
    const char *name, *reason;
    assert_false(backend_describe(-1, &name, &reason));
    assert_false(backend_describe(100, &name, &reason));

    backend_close(NULL);
    assert_int_equal(closed, 0);
    opened.ops = &cpu;
    backend_close(&opened);
    assert_int_equal(closed, 1);
}

static void declared_work_adds_up_until_taken(void **state)
{
    (void)state;
    struct backend be = {0};
    backend_declare(&be, 10, 20, 30);
    backend_declare(&be, 1, 2, 3);
    struct work w = backend_take_work(&be);
    assert_true(w.flops == 11 && w.bytes_min == 22 && w.bytes_ideal_cache == 33);
    w = backend_take_work(&be);
    assert_true(w.flops == 0 && w.bytes_min == 0 && w.bytes_ideal_cache == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_open_what_was_registered),
        cmocka_unit_test(declared_work_adds_up_until_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
