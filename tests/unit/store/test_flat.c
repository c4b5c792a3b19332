/* links: tp_store tp_base */
/* Headers of MRC, NRRD and MetaImage that are wrong: one sentence, and never another array. */
#include <math.h>
#include <unistd.h>

#include "host/store/format/flat.h"
#include "tests/unit/store/store_case.h"

static void text_headers_that_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
        enum err e;
    } rows[] = {
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\n", "has no end", ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 5 0\nencoding: raw\n\n", "at least 1", ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 5 1.5\nencoding: raw\n\n", "integer", ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 1e300 4\nencoding: raw\n\n", "integer", ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 1 2 3 4 5 6 7 8 9\nencoding: raw\n\n", "1 to 8", ERR_INPUT},
        {"NRRD0005\ntype: block\nsizes: 5 4\nencoding: raw\n\n", "\"block\"", ERR_UNSUPPORTED},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: hex\n\n", "\"hex\"", ERR_UNSUPPORTED},
        {"NRRD0005\nsizes: 5 4\nencoding: raw\n\n", "without type", ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\nbyte skip: -2\n\n", "byte skip",
         ERR_INPUT},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\nline skip: 3\n\n", "skipped lines",
         ERR_UNSUPPORTED},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\ndata file: LIST\n\n", "several files",
         ERR_UNSUPPORTED},
        {"ObjectType = Image\nNDims = 2\nDimSize = 5 4\n", "without ElementDataFile", ERR_INPUT},
        {"ObjectType = Image\nDimSize = 5 -4\nElementType = MET_SHORT\nElementDataFile = LOCAL\n",
         "at least 1", ERR_INPUT},
        {"ObjectType = Image\nDimSize = 5 4\nElementType = MET_NONE\nElementDataFile = LOCAL\n",
         "MET_NONE", ERR_UNSUPPORTED},
        {"ObjectType = Image\nDimSize = 5 4\nElementType = MET_SHORT\nBinaryData = False\n"
         "ElementDataFile = LOCAL\n",
         "of text", ERR_UNSUPPORTED},
        {"ObjectType = Image\nDimSize = 5 4\nElementType = MET_SHORT\nElementDataFile = x%d.raw 1 "
         "3 1\n",
         "several files", ERR_UNSUPPORTED},
        {"ObjectType = Image\nDimSize = 1 1 1 1 1 1 1 1\nElementType = MET_SHORT\n"
         "ElementNumberOfChannels = 3\nElementDataFile = LOCAL\n",
         "more than 8", ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const unsigned char *head = (const unsigned char *)rows[i].text;
        struct flat_header h;
        const size_t n = strlen(rows[i].text);
        assert_int_equal(nrrd_is(head, n) + metaimage_is(head, n), 1);
        assert_error(nrrd_is(head, n) ? nrrd_parse("x", head, n, &h)
                                      : metaimage_parse("x", head, n, &h),
                     rows[i].e, rows[i].words);
    }
}

static void words_of_mrc_that_are_wrong(void **state)
{
    (void)state;
    unsigned char head[1024] = {0};
    struct flat_header h;
    assert_error(mrc_parse("x", head, sizeof head, &h), ERR_INPUT, "MAP");
    memcpy(head + 208, "MAP ", 4);
    assert_error(mrc_parse("x", head, sizeof head - 1, &h), ERR_INPUT, "MAP");
    head[12] = 3;
    assert_error(mrc_parse("x", head, sizeof head, &h), ERR_UNSUPPORTED, "mode 3");
    head[12] = 1;
    memset(head + 92, 0xff, 4);
    assert_error(mrc_parse("x", head, sizeof head, &h), ERR_INPUT, "extended header");
}

/* A file of the given bytes, opened; NULL where that fails. */
static struct store *flat_opened(const char *name, const void *bytes, size_t n)
{
    struct store *s;
    FILE *f = fopen(name, "wb");
    assert_true(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
    return store_open(name, &s) ? NULL : s;
}

/* Arrays that do not fit their file, sizes that overflow, names that lead out of the folder. */
static void arrays_stay_in_their_file(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\n\n12345678", "outside of its file"},
        {"NRRD0005\ntype: double\nsizes: 9000000000 9000000000\nencoding: raw\n\n1",
         "impossible size"},
        {"NRRD0005\ntype: short\nsizes: 50 4\nencoding: raw\nbyte skip: -1\n\n12", "less than"},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\ndata file: ../x.raw\n\n", ".."},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: raw\ndata file: /etc/passwd\n\n", "passwd"},
        {"NRRD0005\ntype: short\nsizes: 5 4\nencoding: gzip\n\n", "missing"},
        {"ObjectType = Image\nDimSize = 5 4\nElementType = MET_SHORT\nHeaderSize = -1\n"
         "ElementDataFile = none.raw\n",
         "none.raw"},
    };
    char name[64];
    snprintf(name, sizeof name, "/tmp/test_flat.%ld", (long)getpid());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store *s = flat_opened(name, rows[i].text, strlen(rows[i].text));
        if (s || !strstr(err_text(), rows[i].words))
            fail_msg("row %zu: %s", i, s ? "opened" : err_text());
    }
    unlink(name);
}

static void spacing_and_axes(void **state)
{
    (void)state;
    static const struct {
        const char *file, *slowest;
        double spacing;
    } rows[] = {{"mrc/u2.mrc", "z", 2},
                {"nrrd/i2.nrrd", NULL, 2},
                {"nrrd/i2_end.nrrd", NULL, 0.5},
                {"metaimage/i2.mha", "z", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store *s;
        char path[4096];
        snprintf(path, sizeof path, TP_DATA "/store/%s", rows[i].file);
        assert_ok(store_open(path, &s));
        const struct store_array *a = s->arrays[0];
        assert_true(fabs(a->spacing[0] - rows[i].spacing) < 1e-6);
        assert_int_equal(a->axis[0] != NULL, rows[i].slowest != NULL);
        store_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_headers_that_are_wrong),
        cmocka_unit_test(words_of_mrc_that_are_wrong),
        cmocka_unit_test(arrays_stay_in_their_file),
        cmocka_unit_test(spacing_and_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
