/* links: tp_scan $<TARGET_NAME_IF_EXISTS:PkgConfig::HDF5> */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "host/scan/projections.h"
#include "host/store/engine/chunk_cache.h"
#include "host/store/exchange/exchange.h"
#include "host/store/exchange/roles.h"
#include "tests/unit/check.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

static char path[64];

/* A scan of 4 views, 3 rows, 5 channels, with one thing after another gone wrong. */
enum { V = 4, R = 3, N = 5 };

struct file {
    hid_t id;
};

static struct file create(void)
{
    struct file f = {H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)};
    assert_true(f.id >= 0);
    return f;
}

static void add_text(hid_t object, const char *name, const char *text, int variable)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text) + 1);
    hid_t a = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(a, type, variable ? (const void *)&text : text) >= 0);
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
}

/* A dataset of `type` from float64 values, groups made on the way; left open. */
static hid_t add(struct file f, const char *name, hid_t type, int dims, const hsize_t *shape,
                 const double *values, int chunked)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (chunked) {
        const hsize_t chunk[] = {2, 2, 3};
        H5Pset_chunk(how, dims, chunk);
        H5Pset_deflate(how, 4);
    }
    hid_t space = H5Screate_simple(dims, shape, NULL);
    hid_t d = H5Dcreate2(f.id, name, type, space, links, how, H5P_DEFAULT);
    assert_true(d >= 0);
    assert_true(!values ||
                H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Pclose(how);
    H5Pclose(links);
    return d;
}

/* Counts whose line integrals are known: dark 10 everywhere, white 10 + 1000 (1 + row), I = 10 +
 * half, quarter ... of it: y = ln 2 * (1 + (view + channel) % 3). */
static double line_integral(int v, int n)
{
    return log(2) * (1 + (v + n) % 3);
}

static double count(int v, int r, int n)
{
    return 10 + 1000 * (1 + r) * exp(-line_integral(v, n));
}

struct plan {
    int rows_first, chunked, variable;
    const char *units, *axes;
    hid_t type;
    int64_t thetas;
};

static const hsize_t view_shape[] = {V, R, N}, row_shape[] = {R, V, N};

static void add_data(struct file f, const struct plan *p)
{
    double counts[V * R * N];
    for (int v = 0; v < V; v++)
        for (int r = 0; r < R; r++)
            for (int n = 0; n < N; n++)
                counts[(p->rows_first ? r * V + v : v * R + r) * N + n] = count(v, r, n);
    hid_t d = add(f, "exchange/data", p->type, 3, p->rows_first ? row_shape : view_shape, counts,
                  p->chunked);
    const char *axes = p->axes ? p->axes : p->rows_first ? "y:theta:x" : NULL;
    if (axes)
        add_text(d, "axes", axes, p->variable);
    H5Dclose(d);
}

/* Two frames whose mean is the reference. */
static void add_frames(struct file f, const struct plan *p, const char *name, int white)
{
    double frames[2 * R * N];
    const hsize_t shape[] = {2, R, N}, turned[] = {R, 2, N};
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < R; r++)
            for (int n = 0; n < N; n++)
                frames[(p->rows_first ? r * 2 + k : k * R + r) * N + n] =
                    10 + (white ? 1000 * (1 + r) : 0) + (k ? 2 : -2);
    H5Dclose(add(f, name, p->type, 3, p->rows_first ? turned : shape, frames, 0));
}

static void add_theta(struct file f, const struct plan *p)
{
    const double degrees[6] = {0, 45, 90, 135, 180, 225};
    double theta[6];
    const hsize_t n[] = {(hsize_t)p->thetas};
    int radians = p->units && p->units[0] == 'r';
    for (int i = 0; i < 6; i++)
        theta[i] = radians ? degrees[i] * M_PI / 180 : degrees[i];
    hid_t d = add(f, "exchange/theta", H5T_IEEE_F64LE, 1, n, theta, 0);
    if (p->units)
        add_text(d, "units", p->units, p->variable);
    H5Dclose(d);
}

static void make(const struct plan *p)
{
    struct file f = create();
    add_data(f, p);
    add_frames(f, p, "exchange/data_white", 1);
    add_frames(f, p, "exchange/data_dark", 0);
    add_theta(f, p);
    H5Fclose(f.id);
}

static void check_scan(int64_t first, int64_t rows, double tolerance)
{
    struct projections p;
    size_t before = mem_held();
    assert_ok(projections_read(&(struct exchange_source){.path = path}, first, rows, &p));
    assert_true(p.views == V && p.rows == rows && p.channels == N && p.repaired == 0);
    for (int v = 0; v < V; v++) {
        assert_near(p.angles[v], v * M_PI / 4, 1e-6);
        for (int r = 0; r < rows; r++)
            for (int n = 0; n < N; n++)
                assert_near(p.sinogram[(v * rows + r) * N + n], line_integral(v, n), tolerance);
    }
    projections_free(&p);
    assert_int_equal(mem_held(), before);
}

static void test_layouts(void **state)
{
    (void)state;
    const struct plan plans[] = {
        {.type = H5T_IEEE_F32LE, .thetas = V, .units = "deg"},
        {.type = H5T_IEEE_F32LE, .thetas = V, .units = "degrees", .chunked = 1, .variable = 1},
        {.type = H5T_IEEE_F32LE, .thetas = V, .units = "rad", .axes = "theta:y:x"},
        {.type = H5T_IEEE_F32LE, .thetas = V, .rows_first = 1, .units = "radians"},
        {.type = H5T_IEEE_F32LE, .thetas = V, .rows_first = 1, .chunked = 1, .variable = 1},
        {.type = H5T_IEEE_F64BE, .thetas = V}, /* degrees by their size */
        {.type = H5T_STD_U16LE, .thetas = V, .units = "deg"},
        {.type = H5T_STD_U16BE, .thetas = V, .units = "deg"},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        int integers = H5Tget_class(plans[i].type) == H5T_INTEGER; /* counts cut to whole ones */
        make(&plans[i]);
        for (int64_t first = 0; first < R; first++)
            for (int64_t rows = 1; rows <= R - first; rows++)
                check_scan(first, rows, integers ? .01 : 1e-5);
    }
}

static void test_info(void **state)
{
    (void)state;
    struct exchange_info i;
    make(&(struct plan){.type = H5T_STD_U16LE, .thetas = V, .rows_first = 1, .units = "deg"});
    assert_ok(exchange_info(&(struct exchange_source){.path = path}, &i));
    assert_true(i.views == V && i.rows == R && i.channels == N && i.whites == 2 && i.darks == 2);
    assert_string_equal(i.dtype, "uint16");
    assert_true(i.sinogram_order == 1 && i.has_theta == 1);
    assert_near(i.theta_last, 3 * M_PI / 4, 1e-6);
}

static void test_uint8(void **state)
{
    (void)state;
    const hsize_t shape[] = {1, 1, 2};
    const double white[] = {200, 100}, data[] = {100, 25}, dark[] = {0, 0};
    struct file f = create();
    H5Dclose(add(f, "exchange/data", H5T_STD_U8LE, 3, shape, data, 0));
    H5Dclose(
        add(f, "exchange/data_white", H5T_STD_U8LE, 2, shape + 1, white, 0)); /* one frame, 2-D */
    H5Dclose(add(f, "exchange/data_dark", H5T_STD_U8LE, 3, shape, dark, 0));
    H5Fclose(f.id);
    struct projections p;
    assert_ok(projections_read(&(struct exchange_source){.path = path}, 0, -1, &p));
    assert_near(p.sinogram[0], log(2), 1e-6);
    assert_near(p.sinogram[1], log(4), 1e-6);
    assert_near(p.angles[0], 0, 0);
    projections_free(&p);
}

/* Scalars of process/acquisition stand in for frames and angles. */
static void test_fallbacks(void **state)
{
    (void)state;
    const hsize_t one[] = {1};
    const double white = 1010, dark = 10, start = 10, step = 5;
    const struct plan plan = {.type = H5T_IEEE_F32LE};
    struct projections p;
    struct file f = create();
    add_data(f, &plan);
    H5Dclose(add(f, "process/acquisition/flat_fields/flat_field_value", H5T_IEEE_F64LE, 1, one,
                 &white, 0));
    H5Dclose(add(f, "process/acquisition/dark_fields/dark_field_value", H5T_IEEE_F64LE, 1, one,
                 &dark, 0));
    H5Dclose(
        add(f, "process/acquisition/rotation/rotation_start", H5T_IEEE_F64LE, 1, one, &start, 0));
    H5Dclose(
        add(f, "process/acquisition/rotation/rotation_step", H5T_IEEE_F64LE, 1, one, &step, 0));
    H5Fclose(f.id);
    assert_ok(projections_read(&(struct exchange_source){.path = path}, 0, 1, &p));
    for (int v = 0; v < V; v++) {
        assert_near(p.angles[v], (10 + 5 * v) * M_PI / 180, 1e-6);
        assert_near(p.sinogram[v * N + 1], line_integral(v, 1), 1e-5);
    }
    projections_free(&p);

    f = create(); /* no angles at all: 0 to 180 degrees, end included; dark frames of 0 */
    add_data(f, &plan);
    H5Dclose(add(f, "process/acquisition/flat_fields/flat_field_value", H5T_IEEE_F64LE, 1, one,
                 &white, 0));
    H5Fclose(f.id);
    assert_ok(projections_read(&(struct exchange_source){.path = path}, 0, 1, &p));
    assert_near(p.angles[V - 1], M_PI, 1e-6);
    assert_near(p.sinogram[1], -log((10 + 1000 * exp(-line_integral(0, 1))) / 1010), 1e-5);
    projections_free(&p);
}

static void wrong_read(const char *words)
{
    struct projections p;
    size_t before = mem_held();
    assert_error(projections_read(&(struct exchange_source){.path = path}, 0, -1, &p), ERR_INPUT,
                 words);
    assert_non_null(strstr(err_text(), path));
    assert_true(!p.sinogram && !p.angles);
    assert_int_equal(mem_held(), before);
}

static void test_wrong_files(void **state)
{
    (void)state;
    struct plan good = {.type = H5T_IEEE_F32LE, .thetas = V, .units = "deg"}, bad;
    const double zeros[2 * R * N] = {0};
    const hsize_t frames[] = {2, R, N}, narrow[] = {2, R, N - 1}, flat[] = {V, R};

    bad = good;
    bad.thetas = V + 1;
    make(&bad);
    wrong_read("exchange/theta has 5 angles");
    bad = good;
    bad.units = "gon";
    make(&bad);
    wrong_read("\"gon\"");
    bad = good;
    bad.axes = "x:y:theta";
    make(&bad);
    wrong_read("x:y:theta");

    struct file f = create();
    H5Fclose(f.id);
    wrong_read("without arrays");

    f = create();
    H5Dclose(add(f, "exchange/data", H5T_IEEE_F32LE, 2, flat, zeros, 0));
    H5Fclose(f.id);
    wrong_read("2 dimensions instead of 3");

    f = create();
    add_data(f, &good);
    H5Fclose(f.id);
    wrong_read("`flats=FILE`");

    f = create();
    add_data(f, &good);
    H5Dclose(add(f, "exchange/data_white", H5T_IEEE_F32LE, 3, frames, zeros, 0));
    H5Fclose(f.id);
    wrong_read("all zero");

    f = create();
    add_data(f, &good);
    H5Dclose(add(f, "exchange/data_white", H5T_IEEE_F32LE, 3, narrow, zeros, 0));
    H5Fclose(f.id);
    wrong_read("frames of 3 x 4");

    f = create();
    H5Dclose(add(f, "exchange/data", H5T_IEEE_F32LE, 3, view_shape, NULL, 1)); /* never written */
    H5Fclose(f.id);
    wrong_read("holds no data");

    f = create();
    add_text(f.id, "exchange", "x", 0);
    H5Gclose(H5Gcreate2(f.id, "exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(f.id, "exchange/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(f.id);
    wrong_read("without arrays");

    f = create();
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Dclose(add(f, "exchange/data", type, 3, view_shape, NULL, 0));
    H5Tclose(type);
    H5Fclose(f.id);
    wrong_read("without arrays");

    FILE *text = fopen(path, "wb");
    fputs("no HDF5", text);
    fclose(text);
    wrong_read("of no known format");
    struct exchange_info i;
    const struct exchange_source text_file = {.path = path}, none = {.path = "/nowhere.h5"},
                                 folder = {.path = "/tmp"};
    assert_error(exchange_info(&text_file, &i), ERR_INPUT, "of no known format");
    assert_error(exchange_info(&none, &i), ERR_INPUT, "/nowhere.h5");
    assert_error(exchange_info(&folder, &i), ERR_INPUT, "/tmp");
}

static void test_wrong_rows(void **state)
{
    (void)state;
    static const int64_t ranges[][2] = {{-1, 1}, {3, 1},         {0, 4}, {2, 2},
                                        {1, 0},  {INT64_MAX, 5}, {3, -1}};
    struct projections p;
    make(&(struct plan){.type = H5T_IEEE_F32LE, .thetas = V, .units = "deg"});
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        assert_error(projections_read(&(struct exchange_source){.path = path}, ranges[i][0],
                                      ranges[i][1], &p),
                     ERR_INPUT, "rows 0 to 2");
}

/* Every beginning of a file ends in a sentence. */
static void test_torn(void **state)
{
    (void)state;
    make(&(struct plan){
        .type = H5T_STD_U16LE, .thetas = V, .units = "deg", .chunked = 1, .variable = 1});
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    fclose(f);
    for (long cut = n - 1; cut >= 0; cut -= cut > 300 ? 61 : 1) {
        assert_int_equal(truncate(path, cut), 0);
        wrong_read(path);
    }
}

static void test_write(void **state)
{
    (void)state;
    float y[V * R * N], angles[V] = {0, .5f, 1, 1.5f};
    struct exchange_info i;
    struct projections p;
    for (int k = 0; k < V * R * N; k++)
        y[k] = .05f * (float)k - .2f;
    assert_ok(exchange_write(path, V, R, N, y, angles, 5e4));
    assert_ok(exchange_info(&(struct exchange_source){.path = path}, &i));
    assert_true(i.views == V && i.rows == R && i.channels == N && i.whites == 1 && i.darks == 1);
    assert_ok(projections_read(&(struct exchange_source){.path = path}, 0, -1, &p));
    for (int k = 0; k < V * R * N; k++)
        assert_near(p.sinogram[k], y[k], 1e-6);
    for (int k = 0; k < V; k++)
        assert_near(p.angles[k], angles[k], 1e-7);
    projections_free(&p);
    assert_error(exchange_write("/nowhere/x.h5", V, R, N, y, angles, 5e4), ERR_IO, "/nowhere/x.h5");
    assert_error(exchange_write("/dev/null", V, R, N, y, angles, 5e4), ERR_USAGE, "/dev/null");
}

static void test_tooth(void **state)
{
    (void)state;
    struct exchange_info i;
    struct projections p;
    assert_ok(exchange_info(&(struct exchange_source){.path = TP_DATA "/tooth.h5"}, &i));
    assert_true(i.views == 181 && i.rows == 2 && i.channels == 640 && i.whites == 10 &&
                i.darks == 10);
    assert_string_equal(i.dtype, "float32");
    assert_near(i.theta_last, 179.00552486187846 * M_PI / 180, 1e-6);
    assert_ok(projections_read(&(struct exchange_source){.path = TP_DATA "/tooth.h5"}, 1, 1, &p));
    assert_int_equal(p.repaired, 0);
    double largest = 0;
    for (int k = 0; k < 181 * 640; k++)
        largest = (double)p.sinogram[k] > largest ? (double)p.sinogram[k] : largest;
    assert_true(largest > 1 && largest < 3);
    projections_free(&p);
}

/* Views, flats and a dark in one stack, two frames a chunk: each chunk is decoded once. */
static void test_shared_chunks(void **state)
{
    (void)state;
    static const double key[] = {1, 0, 0, 2, 0, 0, 0, 1, 2, 0}; /* chunks of 2 of one another */
    const hsize_t shape[] = {10, 2, 3};
    struct scan_file s;
    struct file f = create();
    double x[60];
    float views[6 * 6], flats[2 * 6];
    for (int i = 0; i < 60; i++)
        x[i] = i % 6 + 10 * (i / 6);
    H5Dclose(add(f, "entry/instrument/detector/data", H5T_STD_U16LE, 3, shape, x, 1));
    H5Dclose(add(f, "entry/instrument/detector/image_key", H5T_STD_I32LE, 1, shape, key, 0));
    hid_t group = H5Gopen2(f.id, "entry/instrument/detector", H5P_DEFAULT);
    add_text(group, "NX_class", "NXdetector", 0);
    H5Gclose(group);
    H5Fclose(f.id);
    for (int keep = 0; keep < 2; keep++) {
        const struct exchange_source source = {.path = path};
        assert_ok(scan_file_open(&source, &s));
        assert_int_equal(s.views, 6);
        if (keep)
            assert_ok(scan_file_keep(&s, 1 << 20));
        assert_ok(frames_read(&s, &s.flats, 0, 2, 0, 2, flats, 6));
        assert_ok(frames_read(&s, &s.data, 0, 6, 0, 2, views, 6));
        for (int i = 0, view = 0, flat = 0; i < 10; i++)
            for (int k = 0; k < 6; k++) {
                if (key[i] == 0)
                    assert_true(views[6 * view + k] == 10 * i + k);
                if (key[i] == 1)
                    assert_true(flats[6 * flat + k] == 10 * i + k);
                view += key[i] == 0 && k == 5;
                flat += key[i] == 1 && k == 5;
            }
        if (keep) {
            assert_int_equal(chunk_cache_facts(s.kept).misses, 5);
            assert_true(chunk_cache_facts(s.kept).hits >= 2);
        } else {
            assert_null(s.kept);
        }
        scan_file_close(&s);
    }
}

/* Rows one after the other, twice: no chunk is decoded twice, unless all do not fit. */
static void test_kept_rows(void **state)
{
    (void)state;
    make(&(struct plan){.type = H5T_STD_U16LE, .thetas = V, .units = "deg", .chunked = 1});
    for (int fits = 0; fits < 2; fits++) {
        struct exchange_source keeps = {.path = path}, not = keeps;
        int64_t decoded, again, first = 0;
        assert_ok(exchange_cache_create(fits ? 1 << 20 : 8, &keeps.kept));
        for (int i = 0; i < 2 * R; i++) {
            struct exchange_counts a, b;
            assert_ok(exchange_read(&keeps, i % R, 1, &a));
            assert_ok(exchange_read(&not, i % R, 1, &b));
            assert_memory_equal(a.counts, b.counts, sizeof(float) * V * N);
            assert_memory_equal(a.white, b.white, sizeof(float) * 3 * N);
            exchange_counts_free(&a);
            exchange_counts_free(&b);
            exchange_cache_count(keeps.kept, &decoded, &again);
            first = i == R - 1 ? decoded : first;
        }
        assert_true(decoded == first && (fits ? again > decoded && decoded >= 8 : !decoded));
        exchange_cache_free(keeps.kept);
    }
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    log_set_level(LOG_ERROR);
    snprintf(path, sizeof path, "/tmp/test_exchange.%ld.h5", (long)getpid());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),     cmocka_unit_test(test_info),
        cmocka_unit_test(test_uint8),       cmocka_unit_test(test_fallbacks),
        cmocka_unit_test(test_wrong_files), cmocka_unit_test(test_wrong_rows),
        cmocka_unit_test(test_torn),        cmocka_unit_test(test_write),
        cmocka_unit_test(test_tooth),       cmocka_unit_test(test_shared_chunks),
        cmocka_unit_test(test_kept_rows),
    };
    return cmocka_run_group_tests(tests, NULL, remove_path);
}
#else
int main(void)
{
    puts("skipped: this build has no libhdf5");
    return 77;
}
#endif
