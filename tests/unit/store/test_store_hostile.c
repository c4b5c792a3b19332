/* links: tp_store tp_base */
/* Files that lie: names that leave their folder, chunks outside of their file, sizes that no data
 * give, damaged data. Each is one sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/store/engine/engine.h"
#include "tests/unit/check.h"

static char folder[64], path[128];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/tomoprof-store.XXXXXX");
    snprintf(path, sizeof path, "%s/file", mkdtemp(folder) ? folder : "/nowhere");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Writes one array of 100 x 100 x 100 uint16 in one chunk, and where that lies. */
static void write_refs(const char *compressor, const char *place)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"refs\": {\"a/.zarray\": {\"zarr_format\": 2, \"shape\": [100, 100, 100], "
             "\"chunks\": [100, 100, 100], \"dtype\": \"<u2\", \"compressor\": %s, \"fill_value\": "
             "0, \"order\": \"C\", \"filters\": null}, \"a/0.0.0\": %s}}",
             compressor, place);
    write_file(text, strlen(text));
}

static void check_read(enum err code, const char *words)
{
    struct store *s;
    struct store_array *a;
    uint16_t *x = malloc(2000000);
    assert_ok(store_open(path, &s));
    assert_ok(store_find(s, NULL, &a));
    assert_error(engine_read(s, a, NULL, a->dtype, x, NULL), code, words);
    store_close(s);
    free(x);
}

#define ZLIB "{\"id\": \"zlib\"}"

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {"../secret", "/etc/passwd", "a/../../b", "a//b",
                                        "./a",       "a\\b",        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char place[64];
        snprintf(place, sizeof place, "[\"%s%s\", 0, 10]", names[i], i == 5 ? "\\\\x" : "");
        write_refs("null", i == 5 ? "[\"a\\\\b\", 0, 10]" : place);
        check_read(ERR_INPUT, "outside of its folder");
    }
    write_refs("null", "[\"s3://bucket/key\", 0, 10]");
    check_read(ERR_UNSUPPORTED, "files beside it");
}

static void test_places(void **state)
{
    (void)state;
    write_refs("null", "[\"file\", 0, 2000000]");
    check_read(ERR_INPUT, "lies outside of its file");
    write_refs("null", "[\"file\", 9007199254740000, 9007199254740000]");
    check_read(ERR_INPUT, "lies outside of its file");
    write_refs("null", "[\"file\", -1, 10]");
    check_read(ERR_INPUT, "lies outside of its file");
    write_refs("null", "[\"file\", 0, 100]");
    check_read(ERR_INPUT, "cut short");
    write_refs("null", "[\"missing\", 0, 100]");
    check_read(ERR_INPUT, "cannot read");
}

/* 2 MB from 100 bytes is more than deflate can. */
static void test_bombs(void **state)
{
    (void)state;
    write_refs(ZLIB, "[\"file\", 0, 100]");
    check_read(ERR_INPUT, "more than 1040:1 is refused");
    write_refs("{\"id\": \"zstd\"}", "[\"file\", 0, 20]");
    if (codec_available(CODEC_ZSTD))
        check_read(ERR_INPUT, "more than 65536:1 is refused");
}

static void test_damage(void **state)
{
    (void)state;
    char place[6000] = "\"";
    memset(place + 1, 'x', 5000);
    strcpy(place + 5001, "\"");
    char text[8192];
    snprintf(
        text, sizeof text,
        "{\"refs\": {\"a/.zarray\": {\"zarr_format\": 2, \"shape\": [1000], \"chunks\": [1000], "
        "\"dtype\": \"<u2\", \"compressor\": " ZLIB ", \"fill_value\": 0, \"order\": \"C\", "
        "\"filters\": null}, \"a/0\": %s}}",
        place);
    write_file(text, strlen(text));
    check_read(ERR_INPUT, "chunk 0 of a: its zlib data are damaged");
}

/* 2^26 x 2^38 chunks in a shard are 2^64: none in 64 bits. */
static void test_shards(void **state)
{
    (void)state;
    const char text[] =
        "{\"refs\": {\"a/zarr.json\": {\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": "
        "[4, "
        "4], \"data_type\": \"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
        "{\"chunk_shape\": [67108864, 274877906944]}}, \"chunk_key_encoding\": {\"name\": "
        "\"default\"}, \"fill_value\": 0, \"codecs\": [{\"name\": \"sharding_indexed\", "
        "\"configuration\": {\"chunk_shape\": [1, 1], \"codecs\": [{\"name\": \"bytes\"}], "
        "\"index_codecs\": [{\"name\": \"bytes\"}]}}]}, \"a/c/0/0\": \"0123456789\"}}";
    write_file(text, strlen(text));
    check_read(ERR_INPUT, "a shard of a has too many chunks");
}

/* Codecs by their plain names, and those that an index cannot have. */
static void test_index_codecs(void **state)
{
    (void)state;
    static const struct {
        const char *codecs, *why;
    } rows[] = {
        {"\"bytes\"", NULL},
        {"{\"name\": \"bytes\"}", NULL},
        {"\"bytes\", \"gzip\"", "the codec \"gzip\" in the index of its shards"},
        {"{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}",
         "the codec \"bytes\" (big-endian) in the index"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store *s;
        char text[2048];
        snprintf(text, sizeof text,
                 "{\"refs\": {\"a/zarr.json\": {\"zarr_format\": 3, \"node_type\": \"array\", "
                 "\"shape\": [4, 4], \"data_type\": \"uint8\", \"chunk_grid\": {\"name\": "
                 "\"regular\", \"configuration\": {\"chunk_shape\": [4, 4]}}, "
                 "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": "
                 "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [2, 2], "
                 "\"codecs\": [\"bytes\"], \"index_codecs\": [%s]}}]}}}",
                 rows[i].codecs);
        write_file(text, strlen(text));
        if (rows[i].why) {
            assert_error(store_open(path, &s), ERR_INPUT, rows[i].why);
            continue;
        }
        assert_ok(store_open(path, &s));
        store_close(s);
    }
}

/* Twenty symbolic links of a group to itself: 20^6 folders were read. */
static void test_loops(void **state)
{
    (void)state;
    char name[256];
    struct store *s;
    snprintf(name, sizeof name, "%s/a", folder);
    assert_int_equal(mkdir(name, 0700), 0);
    for (int i = -2; i < 20; i++) {
        snprintf(name, sizeof name,
                 i == -2   ? "%s/.zgroup"
                 : i == -1 ? "%s/a/.zarray"
                           : "%s/link%d",
                 folder, i);
        if (i >= 0) {
            assert_int_equal(symlink(i % 2 ? "." : folder, name), 0);
            continue;
        }
        FILE *f = fopen(name, "w");
        fprintf(f, "{\"zarr_format\": 2");
        if (i == -1)
            fprintf(f, ", \"shape\": [4], \"chunks\": [4], \"dtype\": \"|u1\", \"compressor\": "
                       "null, \"fill_value\": 0, \"order\": \"C\", \"filters\": null");
        fprintf(f, "}");
        fclose(f);
    }
    assert_ok(store_open(folder, &s));
    assert_int_equal(s->arrays_count, 1);
    assert_string_equal(s->arrays[0]->name, "a");
    store_close(s);
    snprintf(name, sizeof name, "cd %s && rm -r .zgroup a link*", folder);
    assert_int_equal(system(name), 0);
}

static void test_headers(void **state)
{
    (void)state;
    struct store *s;
    write_file("hello, world", 12);
    assert_error(store_open(path, &s), ERR_INPUT,
                 "of no known format (it begins with the bytes 68 65 6c 6c)");
    write_file("", 0);
    assert_error(store_open(path, &s), ERR_INPUT, "of an empty file");
    assert_error(store_open(folder, &s), ERR_INPUT, "a folder without");
    assert_error(store_open("/nowhere/at/all", &s), ERR_INPUT, "cannot read");
    char npy[80] =
        "\x93NUMPY\x01\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000)}";
    memset(npy + strlen(npy + 10) + 10, ' ', sizeof npy - strlen(npy + 10) - 10);
    write_file(npy, sizeof npy);
    assert_error(store_open(path, &s), ERR_INPUT, "cut short");
    memcpy(strchr(npy + 10, '('), "(0, 0, 1000)", 12);
    write_file(npy, sizeof npy);
    assert_error(store_open(path, &s), ERR_INPUT, "impossible size (dimension 0: 0)");
    static const unsigned char circle[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 0, 0, 0, 0};
    write_file(circle, sizeof circle);
    assert_error(store_open(path, &s), ERR_INPUT, "directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_places, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bombs, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_damage, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_shards, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_index_codecs, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_loops, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_headers, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
