/* tomoprof.h with the CUDA back end: arrays in host memory and on the device. */
#include <math.h>

#include "host/backend/registry.h"
#include "tests/operators/harness.h"
#include "tests/unit/api/api_case.h"

static void other_context(const struct api_case *a, const char *backend, struct api_case *out)
{
    tomoprof_context_options o = TOMOPROF_CONTEXT_OPTIONS;
    *out = *a;
    o.backend = backend;
    if (tomoprof_context_create(&o, &out->c))
        fail_msg("%s", tomoprof_error(NULL));
}

static void both_backends_project_alike(void **state)
{
    (void)state;
    struct api_case cpu, cuda;
    api_open(&cpu, "cone_plain_odd");
    other_context(&cpu, "cuda", &cuda);
    float *x = api_golden(&cpu, "volume", cpu.volume), *y = api_floats(cpu.sinogram),
          *z = api_floats(cpu.sinogram);
    const tomoprof_array ax = api_array(x, cpu.volume);
    tomoprof_array ay = api_array(y, cpu.sinogram), az = api_array(z, cpu.sinogram);
    api_ok(&cpu, tomoprof_forward_project(cpu.c, cpu.m, &ax, &ay));
    api_ok(&cuda, tomoprof_forward_project(cuda.c, cuda.m, &ax, &az));
    double *expected = widen(y, api_count(cpu.sinogram));
    assert_true(relative_l2(z, expected, api_count(cpu.sinogram)) < 1e-5);
    free(expected);
    mem_free(x);
    free(y);
    free(z);
    tomoprof_context_free(cuda.c);
    api_close(&cpu);
}

static void arrays_on_the_device_are_used_where_they_lie(void **state)
{
    (void)state;
    struct api_case cpu, cuda;
    struct backend *be;
    struct buffer bx, by;
    api_open(&cpu, "par_plain_odd");
    other_context(&cpu, "cuda", &cuda);
    assert_string_equal(tomoprof_backend(cpu.c), "cpu");
    assert_string_equal(tomoprof_backend(cuda.c), "cuda");
    assert_ok(backend_open("cuda", &(struct backend_options){0}, &be));
    const size_t bytes = (size_t)api_count(cpu.sinogram) * sizeof(float);
    float *x = api_golden(&cpu, "volume", cpu.volume), *y = api_floats(cpu.sinogram),
          *z = api_floats(cpu.sinogram);
    tomoprof_array ax = api_array(x, cpu.volume), ay = api_array(y, cpu.sinogram);
    api_ok(&cuda, tomoprof_forward_project(cuda.c, cuda.m, &ax, &ay));

    assert_ok(be->ops->upload(be, x, (size_t)api_count(cpu.volume) * sizeof(float), &bx));
    assert_ok(be->ops->alloc(be, "sinogram", bytes, &by));
    assert_ok(be->ops->sync(be));
    ax.data = bx.ptr;
    ay.data = by.ptr;
    ax.place = ay.place = TOMOPROF_CUDA;
    api_ok(&cuda, tomoprof_forward_project(cuda.c, cuda.m, &ax, &ay));
    assert_ok(be->ops->download(be, &by, z, bytes));
    assert_memory_equal(z, y, bytes);

    ax.data = x; /* of the host */
    api_fails(&cuda, TOMOPROF_BAD_ARGUMENT, "x: the address ",
              tomoprof_forward_project(cuda.c, cuda.m, &ax, &ay));
    ax.data = (char *)bx.ptr + 16; /* ends 16 bytes behind the allocation */
    api_fails(&cuda, TOMOPROF_BAD_ARGUMENT, "its last byte",
              tomoprof_forward_project(cuda.c, cuda.m, &ax, &ay));
    ax.data = bx.ptr;
    ax.type = TOMOPROF_INT32;
    api_fails(&cuda, TOMOPROF_UNSUPPORTED, "x lies on a GPU and is not float32",
              tomoprof_forward_project(cuda.c, cuda.m, &ax, &ay));
    ax.type = TOMOPROF_FLOAT32;
    api_fails(&cpu, TOMOPROF_UNSUPPORTED, "x lies on a GPU, but the context computes on the CPU",
              tomoprof_forward_project(cpu.c, cpu.m, &ax, &ay));
    double sigma;
    api_fails(&cuda, TOMOPROF_UNSUPPORTED, "y lies on a GPU; this function takes arrays in host",
              tomoprof_auto_regularise(cuda.c, cuda.m, &ay, NULL, &sigma, &sigma, &sigma));
    be->ops->release(be, &bx);
    be->ops->release(be, &by);
    backend_close(be);
    mem_free(x);
    free(y);
    free(z);
    tomoprof_context_free(cuda.c);
    api_close(&cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_backends_project_alike),
        cmocka_unit_test(arrays_on_the_device_are_used_where_they_lie),
    };
    harness_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
