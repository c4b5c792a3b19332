/* links: tp_cpu */
/* The CPU back end's buffers and how many threads it takes. */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/cpu/cpu.h"
#include "host/cpu/common/isa.h"
#include "host/cpu/common/threads.h"
#include "tests/unit/check.h"

static struct backend *open_with(int threads)
{
    struct backend *be;
    struct backend_options options = {.threads = threads};
    assert_ok(cpu_backend.open(&options, &be));
    return be;
}

static void test_open(void **state)
{
    (void)state;
    struct backend *all = open_with(0), *one = open_with(1), *seven = open_with(7);
    assert_ptr_equal(one->ops, &cpu_backend);
    assert_int_equal(all->threads, cpu_threads_usable());
    assert_int_equal(one->threads, 1);
    assert_int_equal(seven->threads, 7);
    assert_non_null(strstr(one->device, ", 1 thread, "));
    assert_non_null(strstr(seven->device, ", 7 threads, "));
    assert_non_null(strstr(seven->device, isa_name(cpu_isa())));
    cpu_backend.close(all);
    cpu_backend.close(one);
    cpu_backend.close(seven);

    struct backend *none;
    struct backend_options options = {.threads = -1};
    assert_error(cpu_backend.open(&options, &none), ERR_USAGE, "`threads=-1`");
    options.threads = 1000000;
    assert_error(cpu_backend.open(&options, &none), ERR_USAGE, "`threads=1000000`");
}

static void test_table_is_full(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof cpu_backend; at += sizeof(void *))
        if (at != offsetof(struct backend_ops, vcd_iteration) && /* optional, of GPUs */
            at != offsetof(struct backend_ops, measured) &&
            at != offsetof(struct backend_ops, measure_ceilings) &&
            at != offsetof(struct backend_ops, streams))
            assert_true(memcmp((const char *)&cpu_backend + at, &(void *){NULL}, sizeof(void *)));
}

static void test_buffers(void **state)
{
    (void)state;
    struct backend *be = open_with(3);
    const struct backend_ops *ops = be->ops;
    /* beyond 1 MiB several threads share the work, here unevenly */
    static const size_t sizes[] = {0, 1, 4096, (1 << 20) + 13, (3 << 20) + 7};
    const size_t held = mem_held();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        struct buffer a, b;
        unsigned char *host = malloc(n + 1);
        for (size_t k = 0; k < n; k++)
            host[k] = (unsigned char)(k * 31 + 1);
        assert_ok(ops->alloc(be, "test", n, &a));
        assert_true(a.place == PLACE_HOST && a.owned && a.bytes == n);
        assert_ok(ops->upload(be, host, n, &b));
        assert_true(b.ptr == host && !b.owned && b.bytes == n);
        assert_ok(ops->copy(be, &b, &a));
        assert_memory_equal(a.ptr, host, n);
        assert_ok(ops->zero(be, &b));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(host[k], 0);
        host[n] = 77;
        assert_ok(ops->download(be, &a, host, n));
        assert_memory_equal(a.ptr, host, n);
        assert_int_equal(host[n], 77);
        assert_ok(ops->download(be, &b, host, n)); /* onto itself */
        assert_ok(ops->sync(be));
        ops->release(be, &b);
        ops->release(be, &a);
        assert_null(a.ptr);
        free(host);
    }
    assert_int_equal(mem_held(), held);
    assert_true(be->uploaded_bytes == 0 && be->downloaded_bytes == 0);
    cpu_backend.close(be);
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    struct backend *be = open_with(1);
    char memory[16];
    struct buffer a, b;
    assert_ok(be->ops->upload(be, memory, 16, &a));
    assert_ok(be->ops->upload(be, memory, 8, &b));
    assert_error(be->ops->copy(be, &a, &b), ERR_INTERNAL, "16");
    assert_error(be->ops->download(be, &b, memory, 16), ERR_INTERNAL, "16");
    setenv("TOMOPROF_MEMORY", "1MiB", 1);
    assert_error(be->ops->alloc(be, "a large thing", (size_t)1 << 30, &a), ERR_MEMORY,
                 "a large thing");
    unsetenv("TOMOPROF_MEMORY");
    cpu_backend.close(be);
}

static void test_affinity(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_in_range(cpu_threads_usable(), 1, CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(cpu_threads_usable(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* A tree of control files in a temporary folder, removed by the last call. */
static char folder[64];

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *strrchr(path, '/') = 0;
    assert_ok(dir_make(path));
    struct outfile f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(outfile_open(&f, path));
    assert_ok(outfile_write(&f, text, strlen(text)));
    assert_ok(outfile_commit(&f));
}

static double cpus(const char *list)
{
    char path[128];
    put("list", list);
    snprintf(path, sizeof path, "%s/list", folder);
    return cgroup_cpus(path, folder);
}

static void test_quota(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/test_cpu.XXXXXX");
    assert_non_null(mkdtemp(folder));
    /* version 2 */
    put("free/cpu.max", "max 100000\n");
    put("a/cpu.max", "300000 100000\n");
    put("a/b/cpu.max", "75000 50000\n");
    put("a/wide/cpu.max", "800000 100000\n");
    put("a/odd/cpu.max", "0 0\n");
    assert_near(cpus("0::/\n"), 0, 0);
    assert_near(cpus("0::/free\n"), 0, 0);
    assert_near(cpus("0::/a\n"), 3, 0);
    assert_near(cpus("0::/a/b\n"), 1.5, 0);
    assert_near(cpus("0::/a/wide\n"), 3, 0);
    assert_near(cpus("0::/a/odd/gone\n"), 3, 0);
    /* version 1, mounted by controller, with version 2's empty list beside it */
    put("cpu/job/cpu.cfs_quota_us", "250000\n");
    put("cpu/job/cpu.cfs_period_us", "100000\n");
    put("cpu/any/cpu.cfs_quota_us", "-1\n");
    put("cpu/any/cpu.cfs_period_us", "100000\n");
    assert_near(cpus("12:memory:/a\n4:cpu,cpuacct:/job\n0::/\n"), 2.5, 0);
    assert_near(cpus("4:cpu:/any\n3:cpuset:/job\n"), 0, 0);
    assert_near(cpus("4:cpuacct,cpu:/job\n0::/a/b\n"), 1.5, 0);
    assert_near(cpus("garbage\n\n::\n4:cpu\n"), 0, 0);
    assert_near(cgroup_cpus("/nowhere/list", folder), 0, 0);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),     cmocka_unit_test(test_table_is_full),
        cmocka_unit_test(test_buffers),  cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_affinity), cmocka_unit_test(test_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
