/* Tests the messages of the CUDA back end when a driver, a device, memory or a launch fails, and
 * that nothing is left over. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/recon/recon.h"
#include "tests/device/problem.h"
#include "tests/device/shim/shim.h"
#include "tests/operators/harness.h"

static enum err open_device(size_t limit, struct backend **out)
{
    const struct backend_options options = {.device_memory = limit};
    return backend_open("cuda", &options, out);
}

/* Advises on an error of CUDA's, by its number. */
static void opening_advises(void)
{
    static const struct {
        int code;
        enum err e;
        const char *words;
    } rows[] = {{46, ERR_FAILED, "another program has it for itself: nvidia-smi -q -d COMPUTE"},
                {221, ERR_UNSUPPORTED, "libnvidia-ptxjitcompiler.so.1, is missing"},
                {802, ERR_FAILED, "nvidia-fabricmanager"},
                {803, ERR_FAILED, "the driver was updated since this machine was started"},
                {804, ERR_FAILED, "remove its folder from LD_LIBRARY_PATH"},
                {999, ERR_FAILED, "does /dev/nvidia-uvm exist?"}};
    struct backend *be = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shim_faults = (struct shim_faults){.call = 3, .code = rows[i].code};
        assert_error(open_device(0, &be), rows[i].e, rows[i].words);
        assert_string_equal(shim_counts().failed, "cudaSetDevice");
    }
    shim_faults = (struct shim_faults){0};
    assert_int_equal(shim_counts().live, 0);
}

/* A child of fork cannot use the driver of its parent. */
static void a_fork_has_no_device(void **state)
{
    (void)state;
    struct backend *be;
    assert_ok(open_device(0, &be));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct buffer b;
        const enum err e = be->ops->alloc(be, "an array", 64, &b);
        _exit(e == ERR_FAILED && strstr(err_text(), "Does nvidia-smi see it") ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    backend_close(be);
}

static void opening_says_what_is_missing(void **state)
{
    (void)state;
    struct backend *be = NULL;
    shim_faults = (struct shim_faults){.no_driver = 1};
    assert_error(open_device(0, &be), ERR_UNSUPPORTED, "no NVIDIA driver is installed");
    shim_faults = (struct shim_faults){.old_driver = 1};
    assert_error(
        open_device(0, &be), ERR_UNSUPPORTED,
        "too old: it serves CUDA 12.4, this build needs 13.0 (driver 580 or later): update it, "
        "or build for CUDA 12 too");
    shim_faults = (struct shim_faults){.no_device = 1};
    assert_error(open_device(0, &be), ERR_UNSUPPORTED, "finds no GPU");
    shim_faults = (struct shim_faults){.no_code = 1};
    assert_error(open_device(0, &be), ERR_UNSUPPORTED, "this build has no code for this GPU");
    shim_faults = (struct shim_faults){0};
    shim_capability = 61;
    assert_error(open_device(0, &be), ERR_UNSUPPORTED,
                 "has compute capability 6.1, this build needs 7.5: use `backend=cpu`");
    shim_capability = 90;
    /* Other programs have the memory that a context takes. */
    shim_faults = (struct shim_faults){.call = 3, .code = 2};
    assert_error(open_device(0, &be), ERR_MEMORY, "the GPU ran out of memory while being opened");
    assert_string_equal(shim_counts().failed, "cudaSetDevice");
    shim_faults = (struct shim_faults){0};
    assert_int_equal(shim_counts().live, 0);
    assert_null(be);
    opening_advises();
    assert_ok(open_device(0, &be));
    backend_close(be);
    assert_int_equal(shim_counts().live, 0);
}

static void too_large_an_array_is_refused_with_both_numbers(void **state)
{
    (void)state;
    struct backend *be;
    struct buffer b;
    assert_ok(open_device(0, &be));
    const int64_t before = shim_counts().allocations;
    assert_error(be->ops->alloc(be, "a volume", (size_t)1 << 30, &b), ERR_MEMORY,
                 "a volume needs 1.0 GiB of GPU memory, 256 MiB available");
    assert_int_equal(shim_counts().allocations, before); /* the driver was not asked */
    backend_close(be);
    assert_ok(open_device((size_t)1 << 20, &be));
    assert_error(be->ops->alloc(be, "a volume", (size_t)2 << 20, &b), ERR_MEMORY,
                 "2.0 MiB of GPU memory, 1.0 MiB available (limited by `device_memory`)");
    assert_ok(be->ops->alloc(be, "half", (size_t)1 << 19, &b));
    struct buffer second;
    assert_error(be->ops->alloc(be, "a volume", (size_t)1 << 20, &second), ERR_MEMORY,
                 "512 KiB available");
    be->ops->release(be, &b);
    assert_ok(be->ops->alloc(be, "a volume", (size_t)1 << 20, &b));
    be->ops->release(be, &b);
    backend_close(be);
    assert_int_equal(shim_counts().live, 0);
}

/* Runs one MBIR iteration with every piece of the back end in it. */
static enum err small_recon(void)
{
    struct rig r;
    struct buffer y = {0}, w = {0}, x = {0};
    struct mbir_report report = {0};
    const struct mbir_options o = {.max_iterations = 1, .weights = &w};
    memset(&r, 0, sizeof r);
    static const struct test_case tiny = {"tiny",          .beam = BEAM_CONE, .views = 4,
                                          .rows = 5,       .channels = 6,     .source_detector = 24,
                                          .source_iso = 12};
    assert_ok(case_model(&tiny, &r.model));
    r.model.regularisation.automatic = 0;
    const size_t sino = (size_t)scan_samples(&r.model.scan) * sizeof(float);
    const size_t vol = (size_t)volume_voxels(&r.model.volume) * sizeof(float);
    float *host = random_floats(1, 1, 2, scan_samples(&r.model.scan) + (int64_t)vol);
    enum err e = open_device(0, &r.be);
    if (e == ERR_OK && (e = r.be->ops->upload(r.be, host, sino, &y)) == ERR_OK &&
        (e = r.be->ops->upload(r.be, host, sino, &w)) == ERR_OK &&
        (e = r.be->ops->alloc(r.be, "volume", vol, &x)) == ERR_OK &&
        (e = mbir_recon(r.be, &r.model, &y, &o, &x, &report)) == ERR_OK)
        e = r.be->ops->download(r.be, &x, host, vol);
    mbir_report_free(&report);
    if (r.be) {
        r.be->ops->release(r.be, &y);
        r.be->ops->release(r.be, &w);
        r.be->ops->release(r.be, &x);
    }
    backend_close(r.be);
    ct_model_free(&r.model);
    free(host);
    return e;
}

/* Fails at the 1st, 2nd, ... until the run ends well; returns how many did not. */
static int64_t sweep(int64_t *counter, enum err expected, const char *words, int64_t step)
{
    for (int64_t n = 1;; n += step) {
        shim_faults = (struct shim_faults){0};
        *counter = n;
        const enum err e = small_recon();
        const int reached = *counter == 0;
        shim_faults = (struct shim_faults){0};
        assert_int_equal(shim_counts().live, 0);
        if (!reached) {
            assert_int_equal(e, ERR_OK);
            return n - 1;
        }
        if (e != expected)
            fail_msg("failure %lld: %s (%s), expected %s", (long long)n, err_name(e), err_text(),
                     err_name(expected));
        if (!strstr(err_text(), words))
            fail_msg("failure %lld: \"%s\" does not say \"%s\"", (long long)n, err_text(), words);
    }
}

static void every_failing_allocation_ends_in_a_sentence(void **state)
{
    (void)state;
    assert_true(sweep(&shim_faults.allocation, ERR_MEMORY, "of GPU memory", 1) > 10);
}

static void every_failing_launch_ends_in_a_sentence(void **state)
{
    (void)state;
    assert_true(sweep(&shim_faults.launch, ERR_FAILED, "the GPU failed while starting", 7) > 20);
}

static void a_lost_device_ends_in_a_sentence(void **state)
{
    (void)state;
    assert_true(sweep(&shim_faults.lost, ERR_FAILED, "the GPU was lost while", 1) > 6);
}

/* A filter by cuFFT, whose calls have codes of their own. */
static enum err small_filter(void)
{
    const struct test_case c = {"rows", .views = 2, .rows = 3, .channels = 20};
    struct buffer y = {0};
    struct backend *be = NULL;
    struct ct_model m;
    float host[120] = {0};
    assert_ok(case_model(&c, &m));
    setenv("TOMOPROF_CUDA_FILTER", "cufft", 1);
    enum err e = open_device(0, &be);
    if (!e && !(e = be->ops->upload(be, host, sizeof host, &y)) &&
        !(e = be->ops->ramp_filter(be, &m.scan, 1, &y, &y)))
        e = be->ops->download(be, &y, host, sizeof host);
    if (be)
        be->ops->release(be, &y);
    backend_close(be);
    unsetenv("TOMOPROF_CUDA_FILTER");
    ct_model_free(&m);
    return e;
}

/* Three plans of cuFFT, two rounds of slices. */
static enum err small_fourier(void)
{
    const struct test_case c = {"rows", .views = 2, .rows = 17, .channels = 4, .shape = {3, 3, 17}};
    const size_t bytes = 153 * sizeof(float);
    struct buffer y = {0}, x = {0};
    struct backend *be = NULL;
    struct ct_model m;
    float host[153] = {0};
    assert_ok(case_model(&c, &m));
    enum err e = open_device(0, &be);
    if (!e && !(e = be->ops->upload(be, host, 136 * sizeof *host, &y)) &&
        !(e = be->ops->alloc(be, "volume", bytes, &x)) &&
        !(e = be->ops->fourier_back(be, &m.scan, &m.volume, &y, &x)))
        e = be->ops->download(be, &x, host, bytes);
    if (be) {
        be->ops->release(be, &y);
        be->ops->release(be, &x);
    }
    backend_close(be);
    ct_model_free(&m);
    return e;
}

/* FDK by voxels: its scratch, and two batches of views. */
static enum err small_voxels(void)
{
    const struct test_case c = {"voxels",         .beam = BEAM_CONE, .views = 40,
                                .rows = 4,        .channels = 5,     .source_detector = 20,
                                .source_iso = 10, .shape = {4, 4, 3}};
    struct buffer y = {0}, x = {0};
    struct backend *be = NULL;
    struct ct_model m;
    float host[800] = {0};
    assert_ok(case_model(&c, &m));
    setenv("TOMOPROF_CUDA_LAUNCH", "1e-9", 1);
    enum err e = open_device(0, &be);
    if (!e && !(e = be->ops->upload(be, host, sizeof host, &y)) &&
        !(e = be->ops->alloc(be, "volume", 48 * sizeof *host, &x)) &&
        !(e = back_project_voxel(be, &m, &y, &x)))
        e = be->ops->download(be, &x, host, 48 * sizeof *host);
    if (be) {
        be->ops->release(be, &y);
        be->ops->release(be, &x);
    }
    backend_close(be);
    unsetenv("TOMOPROF_CUDA_LAUNCH");
    ct_model_free(&m);
    return e;
}

/* Every call of the runtime fails once: alone, which may pass where nothing depends on it, or with
 * all that follow. Returns how many there are. */
static int64_t fail_each_call(enum err (*run)(void), int sticky, int64_t step)
{
    const char *const words = sticky ? "an illegal memory access" : "the GPU failed while";
    for (int64_t n = 1;; n += step) {
        shim_faults = (struct shim_faults){.call = n, .sticky = sticky};
        const enum err e = run();
        const int reached = shim_faults.call == 0;
        const char *const call = shim_counts().failed;
        shim_faults = (struct shim_faults){0};
        if (shim_counts().live)
            fail_msg("%s, call %lld, leaves %lld things", call, (long long)n,
                     (long long)shim_counts().live);
        if (!reached) {
            assert_int_equal(e, ERR_OK);
            return n - 1;
        }
        const int said = strstr(err_text(), words) || strstr(err_text(), "cuFFT failed while");
        if (e == ERR_OK ? !may_pass(call) : !said || (!sticky && may_pass(call)))
            fail_msg("%s, call %lld: %s (%s)", call, (long long)n, err_name(e), err_text());
    }
}

/* More than two pinned buffers hold, there and back. */
static enum err large_copy(void)
{
    const size_t n = ((size_t)33 << 20) / sizeof(uint32_t);
    uint32_t *there = malloc(n * sizeof *there), *back = malloc(n * sizeof *back);
    struct buffer y = {0};
    struct backend *be = NULL;
    assert_non_null(there);
    assert_non_null(back);
    for (size_t i = 0; i < n; i++)
        there[i] = (uint32_t)i * 2654435761u;
    enum err e = open_device(0, &be);
    if (!e && !(e = be->ops->upload(be, there, n * sizeof *there, &y)) &&
        !(e = be->ops->download(be, &y, back, n * sizeof *back))) {
        assert_memory_equal(there, back, n * sizeof *there);
        assert_int_equal(be->uploaded_bytes, n * sizeof *there);
        assert_int_equal(be->downloaded_bytes, n * sizeof *there);
    }
    if (be)
        be->ops->release(be, &y);
    backend_close(be);
    free(there);
    free(back);
    return e;
}

static void large_arrays_pass_through_pinned_memory(void **state)
{
    (void)state;
    assert_ok(large_copy());
    shim_faults = (struct shim_faults){.pin = 1, .pin_all = 1};
    assert_ok(large_copy()); /* a system that pins nothing */
    shim_faults = (struct shim_faults){0};
    assert_int_equal(shim_counts().live, 0);
    assert_true(fail_each_call(large_copy, 0, 1) > 25);
}

static void every_failing_call_ends_in_a_sentence(void **state)
{
    (void)state;
    for (int sticky = 0; sticky < 2; sticky++) {
        assert_true(fail_each_call(small_recon, sticky, sticky ? 3 : 1) > 80);
        assert_true(fail_each_call(small_filter, sticky, 1) > 30);
        assert_true(fail_each_call(small_fourier, sticky, sticky ? 3 : 1) > 40);
        assert_true(fail_each_call(small_voxels, sticky, 1) > 30);
    }
}

/* Runs `touch` in a child; 1 when a signal ends it. */
static int dies(void (*touch)(float *device), float *device)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        touch(device);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void read_it(float *device)
{
    volatile float *p = device;
    (void)*p;
}

static void do_nothing(float *device)
{
    (void)device;
}

static void the_host_cannot_touch_device_memory(void **state)
{
    (void)state;
    struct backend *be;
    struct buffer b;
    assert_ok(open_device(0, &be));
    assert_ok(be->ops->alloc(be, "array", 4000, &b));
    assert_int_equal(b.place, PLACE_DEVICE);
    assert_false(dies(do_nothing, b.ptr));
    assert_true(dies(read_it, b.ptr));
    be->ops->release(be, &b);
    backend_close(be);
}

/* Wrong sizes from a caller are refused before a kernel or a copy does harm. */
static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    struct rig r;
    const struct test_case c = {"wrong", .views = 2, .rows = 3, .channels = 5};
    rig_open(&r, "cuda", 1, &c);
    const struct backend_ops *const ops = r.be->ops;
    float host[4] = {0};
    struct buffer small, other;
    assert_ok(ops->alloc(r.be, "array", sizeof host, &small));
    assert_ok(ops->alloc(r.be, "array", 2 * sizeof host, &other));
    const int64_t before = shim_counts().launches;
    assert_error(ops->download(r.be, &small, host, 17), ERR_INTERNAL, "17 bytes");
    assert_error(ops->copy(r.be, &small, &other), ERR_INTERNAL, "16 bytes into a buffer of 32");
    assert_error(ops->ramp_filter(r.be, &r.model.scan, 1, &small, &small), ERR_INTERNAL, "of 16");
    assert_error(ops->median3(r.be, 2, 2, 2, &small, &other), ERR_INTERNAL, "of 16 and 32");
    assert_error(ops->median3(r.be, 1, 2, 2, &small, &small), ERR_INTERNAL, "in place");
    assert_error(ops->streams->send(r.be, host, sizeof host, &small, 4), ERR_INTERNAL, "at 4");
    assert_error(ops->streams->receive(r.be, &small, 4, sizeof host, host), ERR_INTERNAL, "at 4");
    struct buffer vast = {.place = PLACE_DEVICE, .bytes = (size_t)1 << 46};
    assert_error(ops->scale(r.be, 2, &vast), ERR_INPUT,
                 "scale_kernel: 2147483648 blocks of threads are more than a GPU takes");
    assert_int_equal(shim_counts().launches, before);
    ops->release(r.be, &small);
    ops->release(r.be, &other);
    rig_close(&r);
}

/* Contents of fresh memory, and what lies behind it, must not be relied on. */
static void fresh_memory_holds_nan(void **state)
{
    (void)state;
    struct backend *be;
    struct buffer b;
    float host[5];
    assert_ok(open_device(0, &be));
    assert_ok(be->ops->alloc(be, "array", sizeof host, &b));
    assert_ok(be->ops->download(be, &b, host, sizeof host));
    for (int i = 0; i < 5; i++)
        assert_true(isnan(host[i]));
    be->ops->release(be, &b);
    backend_close(be);
}

/* Uploads and downloads are the caller's; a compute function moves pixel lists and sums at most. */
static void compute_functions_transfer_no_arrays(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, "cuda", 1, &cases[0]);
    float *blank = floats(r.voxels);
    struct buffer x = rig_push(&r, blank, r.voxels), y = rig_push(&r, blank, r.samples);
    const struct pixel_set all = {.count = r.pixels};
    const struct shim_counts before = shim_counts();
    assert_ok(r.be->ops->forward(r.be, r.projector, &all, &x, (struct sinogram){.data = &y}));
    assert_ok(r.be->ops->back(r.be, r.projector, &all, (struct sinogram){.data = &y},
                              (struct sinogram){0}, 1, &x));
    const struct shim_counts after = shim_counts();
    assert_int_equal(after.to_device, before.to_device);
    assert_int_equal(after.to_host, before.to_host);
    assert_true(after.launches > before.launches);
    r.be->ops->release(r.be, &x);
    r.be->ops->release(r.be, &y);
    free(blank);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_says_what_is_missing),
        cmocka_unit_test(a_fork_has_no_device),
        cmocka_unit_test(too_large_an_array_is_refused_with_both_numbers),
        cmocka_unit_test(every_failing_allocation_ends_in_a_sentence),
        cmocka_unit_test(every_failing_launch_ends_in_a_sentence),
        cmocka_unit_test(a_lost_device_ends_in_a_sentence),
        cmocka_unit_test(every_failing_call_ends_in_a_sentence),
        cmocka_unit_test(large_arrays_pass_through_pinned_memory),
        cmocka_unit_test(the_host_cannot_touch_device_memory),
        cmocka_unit_test(fresh_memory_holds_nan),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(compute_functions_transfer_no_arrays),
    };
    return cmocka_run_group_tests(tests, harness_setup, NULL);
}
