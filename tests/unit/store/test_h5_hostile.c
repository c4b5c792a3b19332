/* links: tp_scan $<TARGET_NAME_IF_EXISTS:PkgConfig::HDF5> ZLIB::ZLIB */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/log.h"
#include "host/store/exchange/exchange.h"
#include "tests/unit/check.h"

#if __has_include(<hdf5.h>)
#include <hdf5.h>

/* Files made by somebody who wishes the reader ill, and good files of somebody else. */
enum { V = 4, R = 3, N = 5 };
static char folder[] = "/tmp/tomoprof-test-h5-XXXXXX";

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

static hid_t create(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return file;
}

/* float32 values that count up from 1, in a dataset made by `how`; they are not written where it
 * has none of its own. */
static hid_t add(hid_t file, const char *name, int views, hid_t how, int write)
{
    float values[V * R * N];
    for (int i = 0; i < V * R * N; i++)
        values[i] = (float)(i + 1);
    const hsize_t shape[] = {(hsize_t)views, R, N};
    hid_t space = H5Screate_simple(3, shape, NULL);
    hid_t d = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(d >= 0);
    if (write)
        assert_true(H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    return d;
}

static hid_t chunked(int deflate)
{
    const hsize_t chunk[] = {1, R, N};
    hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(how, 3, chunk);
    if (deflate)
        H5Pset_deflate(how, 4);
    return how;
}

static void finish(hid_t file)
{
    H5Dclose(add(file, "exchange/data_white", 1, H5P_DEFAULT, 1));
    H5Fclose(file);
}

static void assert_refused(const char *path, const char *phrase)
{
    struct exchange_counts c;
    assert_int_equal(exchange_read(&(struct exchange_source){.path = path}, 0, -1, &c), ERR_INPUT);
    assert_null(c.counts);
    if (!strstr(err_text(), phrase))
        fail_msg("said \"%s\", not \"%s\"", err_text(), phrase);
}

/* HDF5 would read any file of this user's as the dataset's numbers. */
static void raw_data_in_other_files_are_refused(void **state)
{
    (void)state;
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), file = create("external.h5");
    char secret[V * R * N * 4];
    memset(secret, 'x', sizeof secret);
    int fd = open("secret", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, secret, sizeof secret), sizeof secret);
    close(fd);
    H5Pset_external(how, "secret", 0, sizeof secret);
    H5Dclose(add(file, "exchange/data", V, how, 0));
    H5Pclose(how);
    finish(file);
    assert_refused("external.h5", "in another file");
}

/* The address of a chunk in the file's own table, replaced. */
static void chunks_beyond_the_file_are_refused(void **state)
{
    (void)state;
    haddr_t address;
    hsize_t bytes;
    const hsize_t at[] = {2, 0, 0};
    hid_t how = chunked(0), file = create("chunk.h5"), d = add(file, "exchange/data", V, how, 1);
    H5Dflush(d);
    assert_true(H5Dget_chunk_info_by_coord(d, at, NULL, &address, &bytes) >= 0);
    H5Dclose(d);
    H5Pclose(how);
    finish(file);
    struct exchange_counts c;
    assert_int_equal(exchange_read(&(struct exchange_source){.path = "chunk.h5"}, 0, -1, &c),
                     ERR_OK);
    exchange_counts_free(&c);

    char *data;
    size_t n, found = 0;
    assert_int_equal(file_read_all("chunk.h5", 1 << 20, &data, &n), ERR_OK);
    uint64_t wanted = address, beyond = n - 8;
    for (size_t i = 0; i + 8 <= n; i++)
        if (!memcmp(data + i, &wanted, 8)) {
            memcpy(data + i, &beyond, 8);
            found++;
        }
    assert_int_equal(found, 1);
    struct outfile f;
    assert_int_equal(outfile_open(&f, "chunk.h5"), ERR_OK);
    assert_int_equal(outfile_write(&f, data, n), ERR_OK);
    assert_int_equal(outfile_commit(&f), ERR_OK);
    free(data);
    assert_refused("chunk.h5", "outside of its file");
}

/* Chunks of 16 KiB, of which one unpacks to 256 MiB. */
static void make_bomb(const char *path)
{
    enum { EDGE = 64 };
    static float ones[EDGE * EDGE];
    const hsize_t shape[] = {V, EDGE, EDGE}, chunk[] = {1, EDGE, EDGE}, at[] = {1, 0, 0};
    uLongf bytes = 4 << 20;
    size_t zeros = (size_t)256 << 20;
    void *packed = malloc(bytes), *in = calloc(1, zeros);
    assert_true(packed && in && compress2(packed, &bytes, in, zeros, 1) == Z_OK);
    hid_t how = H5Pcreate(H5P_DATASET_CREATE), file = create(path);
    H5Pset_chunk(how, 3, chunk);
    H5Pset_deflate(how, 4);
    for (int i = 0; i < 2; i++) {
        hid_t space = H5Screate_simple(3 - i, shape + i, NULL);
        hid_t d = H5Dcreate2(file, i ? "exchange/data_white" : "exchange/data", H5T_NATIVE_FLOAT,
                             space, H5P_DEFAULT, i ? H5P_DEFAULT : how, H5P_DEFAULT);
        for (int k = 0; k < EDGE * EDGE; k++)
            ones[k] = 1;
        assert_true((i ? H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones)
                       : H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, bytes, packed)) >= 0);
        H5Dclose(d);
        H5Sclose(space);
    }
    H5Pclose(how);
    H5Fclose(file);
    free(in);
    free(packed);
}

static void a_file_of_somebody_else_is_read_apart(void **state)
{
    (void)state;
    struct exchange_counts own, other;
    struct exchange_info mine, theirs;
    hid_t how = chunked(1), file = create("theirs.h5");
    H5Dclose(add(file, "exchange/data", V, how, 1));
    H5Pclose(how);
    finish(file);
    make_bomb("bomb.h5");
    assert_int_equal(exchange_read(&(struct exchange_source){.path = "theirs.h5"}, 1, 2, &own),
                     ERR_OK);
    assert_int_equal(exchange_info(&(struct exchange_source){.path = "theirs.h5"}, &mine), ERR_OK);
    if (geteuid() != 0) {
        exchange_counts_free(&own);
        skip(); /* giving a file away takes root */
    }
    assert_int_equal(chown("theirs.h5", 12345, 12345), 0);
    assert_int_equal(exchange_info(&(struct exchange_source){.path = "theirs.h5"}, &theirs),
                     ERR_OK);
    assert_memory_equal(&mine, &theirs, sizeof mine);
    assert_int_equal(exchange_read(&(struct exchange_source){.path = "theirs.h5"}, 1, 2, &other),
                     ERR_OK);
    assert_int_equal(other.views, own.views);
    assert_int_equal(other.rows, 2);
    assert_int_equal(other.channels, own.channels);
    assert_memory_equal(own.counts, other.counts, sizeof(float) * V * 2 * N);
    assert_memory_equal(own.white, other.white, sizeof(float) * 2 * N);
    assert_memory_equal(own.dark, other.dark, sizeof(float) * 2 * N);
    assert_memory_equal(own.angles, other.angles, sizeof(float) * V);
    exchange_counts_free(&own);
    exchange_counts_free(&other);

    /* Errors and their sentences come across. */
    assert_int_equal(exchange_read(&(struct exchange_source){.path = "theirs.h5"}, 7, 2, &other),
                     ERR_INPUT);
    assert_non_null(strstr(err_text(), "2 rows from row 7 are wanted"));
    /* A chunk is never decoded beyond its size, whatever memory there is. */
    assert_refused("bomb.h5", "it holds more than the chunk");
#ifndef __SANITIZE_ADDRESS__ /* which takes more than any limit would leave */
    setenv("TOMOPROF_MEMORY", "64MiB", 1);
    assert_int_equal(chown("bomb.h5", 12345, 12345), 0);
    assert_refused("bomb.h5", "it holds more than the chunk");
    unsetenv("TOMOPROF_MEMORY");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_data_in_other_files_are_refused),
        cmocka_unit_test(chunks_beyond_the_file_are_refused),
        cmocka_unit_test(a_file_of_somebody_else_is_read_apart),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
#else
int main(void)
{
    printf("skipped: this build has no HDF5\n");
    return 77;
}
#endif
