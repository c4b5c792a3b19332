/* links: tp_store tp_base */
/* The loading engine: what a plan fetches, who reads it, what it times and how much memory it
 * takes. */
#include <time.h>

#include "host/store/format/npy.h"
#include "host/store/writer/writer.h"
#include "tests/unit/store/store_case.h"

/* A box of one row touches few bytes where nothing is compressed, and whole chunks otherwise. */
static void test_plan(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    const struct engine_box row = {{0, 19, 0}, {5, 1, 41}};
    open_known(&all[0], &s, &a);
    const struct engine_options exact = {.gap = -1};
    assert_ok(engine_plan(s, a, &row, &exact, &p));
    assert_int_equal(engine_facts(p)->tasks, 5);
    assert_int_equal(engine_facts(p)->bytes_fetched, 5 * 41 * 4);
    assert_true(engine_facts(p)->amplification == 1);
    engine_plan_free(p);
    const struct engine_box outside = {{0, 19, 0}, {6, 1, 41}};
    assert_error(engine_plan(s, a, &outside, NULL, &p), ERR_INPUT, "dimension 0");
    store_close(s);
    const struct known *k = all;
    while (strcmp(k->file, "zarr/zarr2"))
        k++;
    open_known(k, &s, &a);
    assert_ok(engine_plan(s, a, &row, NULL, &p));
    assert_int_equal(engine_facts(p)->chunks, 4);
    assert_int_equal(engine_facts(p)->chunks_stored, 4);
    engine_plan_free(p);
    store_close(s);
}

/* A box asks for the places of its own chunks or shards; the rest comes when it is needed. */
static void test_box_index(void **state)
{
    static const char *const names[][2] = {{"zarr/zarr2", NULL}, {"zarr/zarr3", "sharded"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct engine_box corner = {{4, 36, 40}, {1, 1, 1}};
        struct engine_plan *p;
        struct store *s, *other;
        struct store_array *a, *b;
        int64_t known = 0;
        open_named(names[i][0], names[i][1], &s, &a);
        open_named(names[i][0], names[i][1], &other, &b);
        assert_ok(engine_plan(s, a, &corner, NULL, &p));
        engine_plan_free(p);
        assert_non_null(a->indexed);
        for (int64_t c = 0; c < a->chunks_count; c++)
            known += a->indexed[c];
        assert_int_equal(known, 1);
        assert_int_equal(s->objects_count, 1);
        assert_ok(engine_plan(s, a, &corner, NULL, &p)); /* asked once */
        engine_plan_free(p);
        assert_int_equal(s->objects_count, 1);
        assert_ok(store_index(s, a));
        assert_ok(store_index(other, b));
        assert_null(a->indexed);
        assert_int_equal(s->objects_count, other->objects_count);
        for (int64_t c = 0; c < a->chunks_count; c++) {
            const struct store_chunk *x = &a->chunks[c], *y = &b->chunks[c];
            assert_string_equal(s->objects[x->object].name, other->objects[y->object].name);
            assert_true(x->offset == y->offset && x->stored == y->stored);
        }
        store_close(s);
        store_close(other);
    }
}

static enum err slow_read(struct fetch_worker *w, struct fetch_request *r, int n)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return fetch_pread.read(w, r, n);
}

/* Little is read by the calling thread alone, unless its first group shows that the rest is slow.
 */
static void test_little(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    struct engine_result r;
    struct fetch_way slow = fetch_pread;
    slow.read = slow_read;
    open_known(&all[0], &s, &a);
    const struct engine_box box = {{1, 3, 2}, {4, 30, 39}};
    const struct engine_options o = {.way = &slow, .batch = 1, .gap = -1};
    check_box(&all[0], s, a, &box, &o);
    float *x = malloc((size_t)store_elements(a) * sizeof *x);
    assert_ok(engine_plan(s, a, &box, &o, &p));
    assert_true(engine_facts(p)->tasks > 16);
    assert_ok(engine_run(p, a->dtype, x, NULL, NULL, &r));
    assert_int_equal(r.workers, engine_processors());
    engine_plan_free(p);
    free(x);
    store_close(s);
}

/* Times of every part, from several workers; what was not read is marked. */
static void test_times(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    struct engine_result r;
    open_known(&all[0], &s, &a);
    const struct engine_box whole = engine_all(a);
    const struct engine_options o = {.threads = 2, .order = ORDER_INDEX};
    float *x = malloc((size_t)store_elements(a) * sizeof *x);
    assert_ok(engine_plan(s, a, &whole, &o, &p));
    struct engine_time *t = calloc((size_t)engine_facts(p)->tasks, sizeof *t);
    assert_ok(engine_run(p, a->dtype, x, NULL, t, &r));
    int64_t sum = 0;
    for (int64_t i = 0; i < engine_facts(p)->tasks; i++) {
        assert_true(t[i].worker >= 0 && t[i].fetch >= 0 && t[i].decode >= 0 && t[i].place >= 0);
        sum += t[i].fetch + t[i].decode + t[i].convert + t[i].place;
    }
    assert_true(sum > 0 && sum <= r.wall_ns * r.workers);
    engine_plan_free(p);
    const volatile int stop = 1;
    const struct engine_options ended = {.threads = 1, .stop = &stop};
    assert_ok(engine_plan(s, a, &whole, &ended, &p));
    assert_ok(engine_run(p, a->dtype, x, NULL, t, &r));
    assert_int_equal(r.tasks_done, 0);
    assert_int_equal(t[0].worker, -1);
    engine_plan_free(p);
    free(t);
    free(x);
    store_close(s);
}

/* Some tiles of a mosaic without gaps: nothing else of the output is touched, as when all are read. */
static void test_some_tiles(void **state)
{
    (void)state;
    struct store *s;
    struct store_array *a;
    struct engine_plan *p;
    struct engine_result r;
    assert_ok(store_open(TP_DATA "/store/czi/raw.czi", &s));
    assert_ok(store_find(s, NULL, &a));
    assert_ok(store_index(s, a));
    const struct engine_box whole = engine_all(a);
    const struct engine_options o = {.threads = 1, .chunks_most = 2};
    const size_t bytes = (size_t)(store_elements(a) * a->dtype.bytes);
    unsigned char *x = malloc(bytes), *all_of_it = malloc(bytes);
    size_t touched = 0, wrong = 0;
    assert_true(x && all_of_it);
    assert_ok(engine_read(s, a, NULL, a->dtype, all_of_it, NULL));
    memset(x, 0xa5, bytes);
    assert_ok(engine_plan(s, a, &whole, &o, &p));
    assert_ok(engine_run(p, a->dtype, x, NULL, NULL, &r));
    for (size_t i = 0; i < bytes; i++) {
        touched += x[i] != 0xa5;
        wrong += x[i] != 0xa5 && x[i] != all_of_it[i];
    }
    assert_int_equal(r.fill_ns, 0);
    assert_int_equal(wrong, 0);
    assert_true(touched > 0 && touched < bytes * 3 / 4);
    engine_plan_free(p);
    free(x);
    free(all_of_it);
    store_close(s);
}

/* A slice, and a block, of a compressed store: what is read is decoded into its place, and what
 * is held beside it is the compressed bytes. */
static void test_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/tomoprof-test-store-XXXXXX", npy[64], zarr[64], command[100];
    const int64_t shape[] = {8, 512, 512};
    const struct store_dtype f4 = {'f', 4, 0};
    struct writer_options o = {.chunk = {1, 512, 512}, .chunk_dims = 3};
    struct writer_result written;
    struct engine_result result;
    struct engine_plan *p;
    struct store *s;
    assert_non_null(mkdtemp(folder));
    snprintf(npy, sizeof npy, "%s/x.npy", folder);
    snprintf(zarr, sizeof zarr, "%s/x.zarr", folder);
    float *x = calloc(8 * 512 * 512, sizeof *x), *y = calloc(512 * 512, sizeof *y);
    assert_true(x && y);
    for (int64_t i = 0; i < 8 * 512 * 512; i++)
        x[i] = (float)(i * 7 % 1013);
    assert_ok(npy_write(npy, 3, shape, x));
    assert_ok(store_convert(npy, zarr, &o, &written));
    assert_ok(store_open(zarr, &s));
    const struct engine_box slice = {{5}, {1, 512, 512}};
    assert_ok(engine_plan(s, s->arrays[0], &slice, NULL, &p));
    assert_ok(engine_run(p, f4, y, NULL, NULL, &result));
    assert_memory_equal(y, x + 5 * 512 * 512, 512 * 512 * sizeof *y);
    assert_true(result.buffer_bytes < 512 * 512 * (int64_t)sizeof *y); /* with y less than twice */
    engine_plan_free(p);
    store_close(s);
    free(x);
    free(y);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),       cmocka_unit_test(test_box_index),
        cmocka_unit_test(test_little),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_some_tiles), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
