/* links: tp_findings */
#include <stdio.h>
#include <string.h>

#include "profiler/findings/findings.h"
#include "tests/unit/check.h"

/* A run of `wall` s in which one line reads one file; all other numbers are zero. */
static struct model *run_of(double wall, double cpu, const char *path)
{
    struct model *m;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "io.py";
    assert_ok(model_list(m, model_line, &m->files[0], lines, 1));
    struct model_line *l = &m->files[0].lines[0];
    l->line = 254;
    l->cpu_incl.user = cpu;
    l->cpu_incl.sys = 0;
    l->cpu_incl.wait = 0;
    assert_ok(model_items(m, &record_model_line_io, 1, &l->io, &(int){0}));
    assert_ok(model_list(m, model_io_file, &m->io, files, 1));
    struct model_io_file *f = &m->io.files[0];
    f->path = path;
    f->opens = 2;
    f->read = (struct model_io_calls){.calls = 100};
    f->write = (struct model_io_calls){.calls = 0};
    m->io.read.s = m->io.read.waited_s = m->io.write.waited_s = 0;
    m->meta.wall_s = wall;
    m->totals.cpu.user = cpu;
    m->totals.cpu.sys = 0;
    return m;
}

static void reads(struct model *m, double mb, double s, double waited)
{
    struct model_io_file *f = &m->io.files[0];
    f->read.mb = f->unique_mb = m->io.read.mb = m->files[0].lines[0].io->read_mb = mb;
    f->read.s = f->s = m->io.read.s = m->files[0].lines[0].io->s = s;
    f->read.waited_s = f->waited_s = m->io.read.waited_s = m->files[0].lines[0].io->waited_s =
        waited;
    m->io.read.waited_mb = mb;
    f->reread = f->read.sequential_share = 1;
}

static const struct model_finding *found(struct model *m, const char *id)
{
    for (int i = 0; i < m->findings_count; i++)
        if (!strcmp(m->findings[i].id, id))
            return &m->findings[i];
    return NULL;
}

static void holds(const struct model_finding *f, const char *text)
{
    assert_non_null(f);
    if (!strstr(f->evidence, text))
        fail_msg("\"%s\" does not say \"%s\"", f->evidence, text);
    assert_non_null(f->refuted_by);
    assert_non_null(strstr(f->test, "tomoprof "));
    assert_true(f->gain_low_s >= 0 && f->gain_low_s <= f->gain_s);
}

/* 723 tiles of 0.768 s, of which a phase called "read" took 96.3 %: its report blamed seeks. One
 * core was busy. */
static void seeks_do_not_explain_what_a_phase_called_read_takes(void **state)
{
    (void)state;
    struct model *m = run_of(723 * 0.768, 723 * 0.768 * 0.97, "slide.czi");
    reads(m, 5300, 16, 12);
    m->files[0].lines[0].cpu_incl.wait = 10;
    m->io.files[0].read.forward = 400;
    m->io.files[0].read.back = 323;
    assert_ok(findings_add(m));
    const struct model_finding *f = found(m, "io.not_storage");
    holds(f, "723 jumps of 5 to 15 ms on a slow disk would take 3.62 to 10.8 s");
    holds(f, "seeks explain 2.0 % at most");
    assert_string_equal(f->title, "Decoding or a lock takes the time, not storage");
    assert_null(found(m, "io.storage"));
    model_destroy(m);
}

/* Python's server of processes has one line: it reads a few bytes, and all that it does is below.
 */
static void a_line_that_reads_next_to_nothing_loads_nothing(void **state)
{
    (void)state;
    struct model *m = run_of(10, 9, "/dev/urandom");
    reads(m, 0.0016, 0, 0);
    m->files[0].lines[0].cpu_incl.wait = 9;
    assert_ok(findings_add(m));
    assert_null(found(m, "io.not_storage"));
    model_destroy(m);
}

static void a_disk_that_is_waited_for_is_storage_bound(void **state)
{
    (void)state;
    struct model *m = run_of(10, 1, "slide.czi");
    reads(m, 800, 8.2, 8);
    m->files[0].lines[0].cpu_incl.wait = 8.5;
    assert_ok(findings_add(m));
    holds(found(m, "io.storage"), "waited 8 s of 10 s (80 %) for 800 MiB, 100 MiB/s");
    assert_near(found(m, "io.storage")->gain_s, 8, 1e-9);
    assert_null(found(m, "io.not_storage"));
    model_destroy(m);
}

/* It slept for half a second, was ready for a CPU for six, and nothing came from storage. */
static void waiting_for_a_cpu_is_not_storage(void **state)
{
    (void)state;
    struct model *m = run_of(10, 1, "slide.czi");
    reads(m, 800, 8.2, 8);
    m->files[0].lines[0].cpu_incl.wait = 8.5;
    m->io.storage_read_mb = 1;
    m->totals.wait.runnable = 6;
    assert_ok(model_list(m, model_own, m, own, 1));
    m->own[0].path_wait_ns = 500000000;
    m->io.files[0].reread = 4; /* which costs the rest of the reads' time alone */
    m->io.files[0].unique_mb = 200;
    assert_ok(findings_add(m));
    assert_null(found(m, "io.storage"));
    assert_near(found(m, "io.reread")->gain_s, (8.2 - 8 + 0.5) * 0.75, 1e-9);
    m->io.storage_read_mb = 700;
    assert_ok(findings_add(m));
    assert_non_null(found(m, "io.storage"));
    model_destroy(m);
}

/* inflate() takes most of the CPU time; each slice decodes the file from its beginning. */
static void decoding_and_reading_again_are_told(void **state)
{
    (void)state;
    struct model *m = run_of(10, 9.5, "brain.nii.gz");
    reads(m, 400, 0.1, 0.01);
    m->io.files[0].opens = 20;
    m->io.files[0].unique_mb = 80;
    m->io.files[0].reread = 5;
    assert_ok(model_list(m, model_frame, m, frames, 2));
    m->frames[0].function = "inflate_fast";
    m->frames[0].module = "/usr/lib/libz.so.1";
    m->frames[1].function = "work";
    assert_ok(model_list(m, model_stack, m, stacks, 2));
    for (int i = 0; i < 2; i++) {
        m->stacks[i].frame = i;
        m->stacks[i].cpu_ns = i ? 1500000000 : 8000000000;
    }
    assert_ok(model_list(m, model_io_place, &m->io.files[0], lines, 1)); /* the library's own */
    m->io.files[0].lines[0] = (struct model_io_place){
        .file = "h5py/defs.c", .line = 11300, .op = "read", .calls = 9, .s = 0.1};
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "load.py";
    m->files[0].user = 1;
    assert_ok(model_list(m, model_reading, &m->io, reading, 2));
    m->io.reading[0] = (struct model_reading){.file = "load.py", .line = 3, .decode_s = 8};
    m->io.reading[1] =
        (struct model_reading){.file = "load.py", .line = 2, .mb = 400, .calls = 9, .copy_s = 0.1};
    assert_ok(findings_add(m));
    assert_int_equal(found(m, "io.reread")->lines_count, 2);
    assert_string_equal(found(m, "io.reread")->lines[0].file, "load.py");
    assert_int_equal(found(m, "io.reread")->lines[0].line, 2);
    holds(found(m, "io.decode"), "zlib took 8 s of 9.5 s of CPU time (84 %)");
    holds(found(m, "io.reread"), "each byte 5 times");
    holds(found(m, "io.reread"), "square");
    assert_near(found(m, "io.reread")->gain_s, (8 + 0.1) * 0.8, 1e-9);
    model_destroy(m);
}

/* As the rules of many calls do not look at time: these cost nothing. */
/* Waits at sockets and pipes are not storage's. */
static void connections_are_not_storage(void **state)
{
    (void)state;
    for (int other = 0; other < 3; other++) { /* a pipe, a Unix socket */
        int pipe = other == 1;
        struct model *m = run_of(10, 1, "pipes");
        reads(m, 100, 9, 9);
        m->io.files[0].kind = pipe ? "pipe" : "file";
        if (!pipe) {
            m->io.files[0].read.waited_s = m->io.files[0].read.waited_mb = 0;
            assert_ok(model_list(m, model_io_file, &m->io, endpoints, 1));
            m->io.endpoints[0].path = other ? "/run/listener-3f" : "host:80";
            m->io.endpoints[0].connects = 1;
            m->io.endpoints[0].read.waited_s = 9;
            m->io.endpoints[0].read.waited_mb = 100;
        }
        assert_ok(findings_add(m));
        assert_null(found(m, "io.storage"));
        if (other)
            assert_null(found(m, "io.network"));
        else
            holds(found(m, "io.network"),
                  "Connections waited 9 s of 10 s (90 %), most of it host:80");
        model_destroy(m);
    }
}

static void faults_and_syncs_name_their_file(void **state)
{
    (void)state;
    struct model *m = run_of(10, 1, "table.bin");
    reads(m, 1, 0.01, 0);
    m->io.files[0].touched_mb = 50;
    m->io.files[0].mapped_mb = 60;
    m->totals.wait.disk = 4;
    m->io.major_faults = 99;
    assert_ok(findings_add(m));
    assert_null(found(m, "io.faults"));
    m->io.major_faults = 2000;
    assert_ok(findings_add(m));
    holds(found(m, "io.faults"),
          "2000 page faults waited for storage, about 2 ms each: 4 s (40 %)");
    assert_null(found(m, "io.sync"));
    m->io.sync_s = m->io.files[0].sync_s = 2;
    m->io.files[0].syncs = 400;
    m->io.files[0].write.mb = 0.5;
    assert_ok(model_list(m, model_io_place, &m->io.files[0], lines, 2));
    m->io.files[0].lines[0] = (struct model_io_place){.file = "a.c", .line = 7, .op = "write"};
    m->io.files[0].lines[1] = (struct model_io_place){.file = "a.c", .line = 9, .op = "sync"};
    assert_ok(findings_add(m));
    holds(found(m, "io.sync"), "table.bin: 400 calls, 5 ms each, for 0.5 MiB written");
    assert_int_equal(found(m, "io.sync")->lines_count, 1);
    assert_int_equal(found(m, "io.sync")->lines[0].line, 9);
    model_destroy(m);
}

static void many_small_calls_count_by_their_time(void **state)
{
    (void)state;
    for (int costly = 0; costly < 2; costly++) {
        struct model *m = run_of(10, 9, "table.bin");
        int64_t sizes[10] = {0, 20000};
        reads(m, 10, costly ? 2 : 0.01, 0);
        m->files[0].lines[0].io = NULL;
        m->io.files[0].read.calls = 20000;
        m->io.files[0].read.sizes = sizes;
        m->io.files[0].read.sizes_count = 10;
        m->io.files[0].seek_s = 0;
        assert_ok(findings_add(m));
        if (costly)
            holds(found(m, "io.small"), "20000 calls of 0.512 KiB each took 2 s (20 % of the run)");
        else
            assert_null(found(m, "io.small"));
        model_destroy(m);
    }
}

/* A series is 40 files: no one of them costs 2 % of the run, all of them together half of it. */
static void files_that_are_read_again_count_together(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct model *m = run_of(10, 1, "series/0.png");
        char names[40][24];
        assert_ok(model_list(m, model_io_file, &m->io, files, 40));
        for (int i = 0; i < 40; i++) {
            struct model_io_file *f = &m->io.files[i];
            snprintf(names[i], sizeof names[i], "series/%d.png", i);
            f->path = names[i];
            f->unique_mb = 0.2;
            f->reread = again ? 4 : 1;
            f->read = (struct model_io_calls){.calls = 8, .mb = 0.8, .s = 0.15};
        }
        assert_ok(findings_add(m));
        if (again) {
            holds(found(m, "io.reread"), "series/0.png and 39 more files: 32 MiB were read, 8 MiB");
            assert_near(found(m, "io.reread")->gain_s, 40 * 0.15 * 0.75, 1e-9);
        } else
            assert_null(found(m, "io.reread"));
        model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeks_do_not_explain_what_a_phase_called_read_takes),
        cmocka_unit_test(a_line_that_reads_next_to_nothing_loads_nothing),
        cmocka_unit_test(a_disk_that_is_waited_for_is_storage_bound),
        cmocka_unit_test(waiting_for_a_cpu_is_not_storage),
        cmocka_unit_test(decoding_and_reading_again_are_told),
        cmocka_unit_test(files_that_are_read_again_count_together),
        cmocka_unit_test(connections_are_not_storage),
        cmocka_unit_test(faults_and_syncs_name_their_file),
        cmocka_unit_test(many_small_calls_count_by_their_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
