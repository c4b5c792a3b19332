/* links: tp_scan $<TARGET_NAME_IF_EXISTS:PkgConfig::HDF5> */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "host/store/engine/engine.h"
#include "host/store/writer/writer.h"
#include "tests/unit/check.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

/* Enumerations of HDF5 are the integers that they are; FALSE = 0 and TRUE = 1 alone are bool. */
static char folder[] = "/tmp/tomoprof-test-enum-XXXXXX";

static int enter(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static void add_enum(hid_t file, const char *name, hid_t base, int count, const char *const *names,
                     const int *values)
{
    const hsize_t shape[] = {(hsize_t)count};
    hid_t type = H5Tenum_create(base), space = H5Screate_simple(1, shape, NULL);
    for (int i = 0; i < count; i++) {
        int64_t value = values[i];
        assert_true(H5Tconvert(H5T_NATIVE_INT64, base, 1, &value, NULL, H5P_DEFAULT) >= 0);
        assert_true(H5Tenum_insert(type, names[i], &value) >= 0);
    }
    hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          memory = H5Tenum_create(H5T_NATIVE_INT);
    for (int i = 0; i < count; i++)
        assert_true(H5Tenum_insert(memory, names[i], &values[i]) >= 0);
    assert_true(H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Tclose(memory);
    H5Dclose(d);
    H5Sclose(space);
    H5Tclose(type);
}

/* Labels are numbers; FALSE and TRUE alone are bool. */
static void test_enumerations(void **state)
{
    (void)state;
    static const char *const labels[] = {"AIR", "BONE", "METAL", "VOID"},
                             *const bools[] = {"FALSE", "TRUE"}, *const others[] = {"NO", "YES"};
    const int values[] = {0, 1, 2, 7}, negative[] = {-3, 1, 2, 300};
    const struct {
        const char *name, *dtype;
        hid_t base;
        int count;
        const char *const *names;
        const int *values;
    } rows[] = {
        {"labels", "uint8", H5T_STD_U8LE, 4, labels, values},
        {"signed", "int8", H5T_STD_I8LE, 4, labels, values},
        {"bool", "bool", H5T_STD_I8LE, 2, bools, values},
        {"reversed", "bool", H5T_STD_I8LE, 2, (const char *const[]){"TRUE", "FALSE"},
         (const int[]){1, 0}},
        {"wrong", "int8", H5T_STD_I8LE, 2, bools, (const int[]){1, 0}},
        {"others", "uint8", H5T_STD_U8LE, 2, others, values},
        {"wide", "int16", H5T_STD_I16LE, 4, labels, negative},
        {"big", "int32", H5T_STD_I32BE, 4, labels, negative},
        {"bool16", "int16", H5T_STD_I16LE, 2, bools, values},
    };
    hid_t file = H5Fcreate("enum.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_enum(file, rows[i].name, rows[i].base, rows[i].count, rows[i].names, rows[i].values);
    H5Fclose(file);
    struct store *s;
    assert_ok(store_open("enum.h5", &s));
    assert_int_equal(s->arrays_count, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store_array *a;
        char dtype[16];
        double got[4];
        assert_ok(store_find(s, rows[i].name, &a));
        store_dtype_name(a->dtype, dtype);
        assert_string_equal(dtype, rows[i].dtype);
        assert_ok(engine_read(s, a, NULL, (struct store_dtype){'f', 8, 0}, got, NULL));
        assert_int_equal(a->members_count, a->dtype.kind == 'b' ? 0 : rows[i].count);
        for (int k = 0; k < rows[i].count; k++) {
            assert_true(got[k] == rows[i].values[k]);
            assert_true(!a->members || a->dtype.kind == 'b' ||
                        (a->members[k].value == rows[i].values[k] &&
                         !strcmp(a->members[k].name, rows[i].names[k])));
        }
    }
    store_close(s);
}

static char lost[2000];

static void keep_lost(const char *names)
{
    snprintf(lost, sizeof lost, "%s", names);
}

/* From HDF5 to HDF5 the names stay, from and to bool, too; other formats list them as lost. */
static void test_converted(void **state)
{
    (void)state;
    static const char *const names[] = {"labels", "signed", "bool", "big"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct writer_result r;
        struct store *before, *after;
        struct store_array *a, *b;
        const struct writer_options o = {.array = names[i], .lost = keep_lost};
        lost[0] = 0;
        unlink("out.h5");
        unlink("out.npy");
        assert_ok(store_convert("enum.h5", "out.h5", &o, &r));
        assert_null(strstr(lost, "names of values"));
        assert_ok(store_open("enum.h5", &before));
        assert_ok(store_find(before, names[i], &a));
        assert_ok(store_open("out.h5", &after));
        b = after->arrays[0];
        assert_int_equal(b->dtype.kind, a->dtype.kind);
        assert_int_equal(b->members_count, a->members_count);
        for (int k = 0; k < a->members_count; k++) {
            assert_string_equal(b->members[k].name, a->members[k].name);
            assert_true(b->members[k].value == a->members[k].value);
        }
        assert_ok(store_convert("enum.h5", "out.npy", &o, &r));
        assert_int_equal(strstr(lost, "names of values (AIR") != NULL, a->members_count > 0);
        store_close(before);
        store_close(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_enumerations),
                                       cmocka_unit_test(test_converted)};
    return cmocka_run_group_tests(tests, enter, leave);
}
#else
int main(void)
{
    printf("skipped: this build has no HDF5\n");
    return 77;
}
#endif
