/* links: tp_store tp_base */
/* Chunks with faults through every codec of the files in tests/data/store: a sentence or some
 * bytes, nothing beyond the memory that was given (AddressSanitizer sees that). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/table.h"
#include "host/store/engine/engine.h"
#include "host/store/manifest/manifest.h"
#include "tests/unit/check.h"

#define CHANGES 400

static const char *const files[] = {"filters.h5",      "kinds.h5",       "zarr2",
                                    "zarr3",           "u1_lzw.tif",     "u2_lzw_predict.tif",
                                    "u1_packbits.tif", "u2_zstd.tif",    "f4_predict3.tif",
                                    "jpeg_colour.tif", "jpeg_grey.czi",  "tiles.czi",
                                    "zstd0.czi",       "i2_bgzf.nii.gz", "u2_deflate_tiles.tif",
                                    "blosc_parts.zarr"};

/* A few bytes exchanged, or the end cut off. */
static size_t change(unsigned char *x, size_t n, uint64_t seed)
{
    const uint64_t r = table_mix(seed, n);
    if (r % 5 == 0)
        return n - 1 - (size_t)(r >> 8) % n;
    for (uint64_t i = 0; i < 1 + r % 4; i++) {
        const uint64_t draw = table_mix(r, i);
        x[(draw >> 8) % (draw & 64 ? n : n < 24 ? n : 24)] = (unsigned char)draw;
    }
    return n;
}

/* -1: not decoded in this process. */
static int try_chunk(struct store *s, struct store_array *a, int64_t chunk, int *refused)
{
    const struct store_chunk *c = &a->chunks[chunk];
    const struct codec_pipeline *p = &a->pipelines[c->pipeline];
    const size_t n = (size_t)c->stored, wanted = (size_t)(c->skip + store_chunk_bytes(a, chunk));
    struct codec_worker w = {0};
    const char *unused;
    for (int i = 0; i < p->count; i++)
        if (!codec_available(p->step[i].codec, &unused))
            return -1;
    if (c->object < 0 || !p->count || !n || wanted > (size_t)1 << 20)
        return -1;
    unsigned char *good = malloc(n), *out = malloc(wanted), *truth = malloc(wanted);
    assert_ok(store_object_read(s, c->object, c->offset, good, n));
    assert_ok(codec_decode(&w, p, good, n, truth, wanted));
    for (uint64_t k = 0; k < 40; k++) { /* parts of it */
        const size_t begin = (size_t)(table_mix(k, 1) % wanted),
                     end = begin + 1 + (size_t)(table_mix(k, 2) % (wanted - begin));
        memset(out, 0xaa, wanted);
        assert_ok(codec_decode_part(&w, p, good, n, out, wanted, begin, end));
        assert_memory_equal(out + begin, truth + begin, end - begin);
    }
    for (int k = 0; k < CHANGES; k++) {
        unsigned char *bad = malloc(n);
        memcpy(bad, good, n);
        const size_t left = change(bad, n, (uint64_t)k);
        unsigned char *exact = malloc(left ? left : 1); /* so that the sanitizer sees its end */
        memcpy(exact, bad, left);
        const enum err e = k % 2 ? codec_decode(&w, p, exact, left, out, wanted)
                                 : codec_decode_part(&w, p, exact, left, out, wanted, wanted / 3,
                                                     wanted / 3 + wanted / 8 + 1);
        assert_true(e == ERR_OK || e == ERR_INPUT || e == ERR_UNSUPPORTED);
        assert_true(e == ERR_OK || *err_text());
        *refused += e != ERR_OK;
        free(exact);
        free(bad);
    }
    assert_ok(codec_decode(&w, p, good, n, out, wanted)); /* the worker is as good as before */
    assert_memory_equal(out, truth, wanted);
    free(good);
    free(out);
    free(truth);
    codec_worker_free(&w);
    return 0;
}

static void changed_chunks(void **state)
{
    (void)state;
    int arrays = 0;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[512];
        struct store *s;
        snprintf(path, sizeof path, "%s/store/%s", TP_DATA, files[f]);
#ifndef TP_HDF5
        if (strstr(files[f], ".h5"))
            continue;
#endif
        const enum err e = store_open(path, &s);
        if (e == ERR_UNSUPPORTED) /* all of it needs a library that this build lacks */
            continue;
        assert_ok(e);
        for (int i = 0; i < s->arrays_count; i++) {
            struct store_array *a = s->arrays[i];
            int refused = 0;
            const enum err indexed = store_index(s, a);
            if (indexed == ERR_UNSUPPORTED)
                continue;
            assert_ok(indexed);
            if (try_chunk(s, a, 0, &refused))
                continue;
            arrays++;
            const enum codec first = a->pipelines[a->chunks[0].pipeline].step[0].codec;
            if (!refused)
                fail_msg("%s: %s: no fault of %d was noticed (%s)", files[f], a->name, CHANGES,
                         codec_name(first));
        }
        store_close(s);
    }
    assert_true(arrays >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed_chunks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
