/* links: tp_store tp_base */
/* Chunks with faults through every codec of the files in tests/data/store: a sentence or some
 * bytes, nothing beyond the memory that was given (AddressSanitizer sees that). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "host/store/codec/children.h"
#include "host/store/engine/engine.h"
#include "host/store/manifest/manifest.h"
#include "tests/unit/check.h"

#define CHANGES 400

static const char *const files[] = {
    "hdf5/filters.h5",      "hdf5/kinds.h5",        "zarr/zarr2",
    "zarr/zarr3",           "tiff/u1_lzw.tif",      "tiff/u2_lzw_predict.tif",
    "tiff/u1_packbits.tif", "tiff/u2_zstd.tif",     "tiff/f4_predict3.tif",
    "tiff/jpeg_colour.tif", "czi/jpeg_grey.czi",    "czi/tiles.czi",
    "czi/zstd0.czi",        "nifti/i2_bgzf.nii.gz", "tiff/u2_deflate_tiles.tif",
    "zarr/blosc_parts.zarr"};

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
    for (int i = 0; i < p->count; i++)
        if (!codec_available(p->step[i].codec))
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

/* AddressSanitizer sees what libraries do in this process alone. */
static void changed_chunks(int children)
{
    codec_children_used = children;
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

static void changed_here(void **state)
{
    (void)state;
    changed_chunks(0);
}

static void changed_in_children(void **state)
{
    (void)state;
    changed_chunks(1);
}

/* Elements of all sizes that have a way of their own, and of some that have none. */
static void shuffled(void **state)
{
    (void)state;
    static const int items[] = {1, 2, 3, 4, 5, 8, 16, 255, 300};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        for (size_t elements = 0; elements < 70; elements += elements < 34 ? 1 : 11) {
            const size_t n = elements * (size_t)items[i] + (items[i] > 1);
            const struct codec_step step = {.codec = CODEC_SHUFFLE, .item = items[i]};
            const struct codec_pipeline p = {.count = 1, .step = {step}};
            struct codec_worker w = {0};
            unsigned char *truth = malloc(n + 1), *out = malloc(n + 1);
            void *in;
            size_t bytes;
            for (size_t k = 0; k < n; k++)
                truth[k] = (unsigned char)table_mix(k, elements);
            assert_ok(codec_encode(&p, truth, n, &in, &bytes));
            for (size_t k = 0; k < elements; k++) /* what shuffling is */
                for (int b = 0; b < items[i]; b++)
                    assert_int_equal(((unsigned char *)in)[(size_t)b * elements + k],
                                     truth[k * (size_t)items[i] + (size_t)b]);
            assert_ok(codec_decode(&w, &p, in, bytes, out, n));
            assert_memory_equal(out, truth, n);
            free(in);
            free(out);
            free(truth);
            codec_worker_free(&w);
        }
}

#define MADE 6000

static size_t put_length(unsigned char *to, size_t length)
{
    size_t n = 0;
    for (; length >= 255; length -= 255)
        to[n++] = 255;
    to[n++] = (unsigned char)length;
    return n;
}

/* An LZ4 block whose matches begin 1 to 60 bytes before, and are short for the most part. */
static size_t lz4_made(uint64_t seed, unsigned char *to, unsigned char truth[MADE])
{
    size_t n = 0, done = 0, k = 0;
    while (done < MADE) {
        const uint64_t draw = table_mix(seed, k++);
        size_t literals = draw % 8 ? draw >> 8 & 7 : draw >> 8 & 63;
        size_t length = 4 + (draw % 5 ? draw >> 16 & 15 : draw >> 16 & 511);
        literals = done ? literals : literals + 1;
        if (done + literals + length + 12 > MADE) { /* the last sequence has literals alone */
            literals = MADE - done;
            length = 0;
        }
        unsigned char *token = &to[n++];
        *token = (unsigned char)((literals < 15 ? literals : 15) << 4);
        n += literals < 15 ? 0 : put_length(to + n, literals - 15);
        for (size_t i = 0; i < literals; i++)
            to[n++] = truth[done++] = (unsigned char)table_mix(draw, i);
        if (!length)
            break;
        size_t back = 1 + (draw >> 32) % 60;
        back = back < done ? back : done;
        to[n++] = (unsigned char)back;
        to[n++] = 0;
        *token |= (unsigned char)(length - 4 < 15 ? length - 4 : 15);
        n += length - 4 < 15 ? 0 : put_length(to + n, length - 4 - 15);
        for (size_t i = 0; i < length; i++, done++)
            truth[done] = truth[done - back];
    }
    return n;
}

static void put32(unsigned char *to, size_t x)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(x >> 8 * i);
}

static void lz4_parts(void **state)
{
    (void)state;
    if (!codec_available(CODEC_BLOSC))
        skip();
    const struct codec_pipeline p = {.count = 1, .step = {{.codec = CODEC_BLOSC}}};
    for (uint64_t seed = 0; seed < 60; seed++) {
        unsigned char truth[MADE], made[2 * MADE] = {2, 1, 1 << 5, 1}; /* LZ4 of bytes */
        const size_t n = lz4_made(seed, made + 24, truth), bytes = 24 + n;
        unsigned char *in = malloc(bytes), *out = malloc(MADE);
        struct codec_worker w = {0};
        put32(made + 4, MADE);
        put32(made + 8, MADE);
        put32(made + 12, bytes);
        put32(made + 16, 20); /* where its only block begins */
        put32(made + 20, n);
        memcpy(in, made, bytes);
        assert_ok(codec_decode(&w, &p, in, bytes, out, MADE)); /* the library */
        assert_memory_equal(out, truth, MADE);
        for (uint64_t k = 0; k < 60; k++) {
            const size_t begin = (size_t)(table_mix(seed, k) % MADE),
                         left = MADE - begin < MADE / 2 ? MADE - begin : MADE / 2,
                         end = begin + 1 + (size_t)(table_mix(k, seed) % left);
            memset(out, 0xaa, MADE);
            assert_ok(codec_decode_part(&w, &p, in, bytes, out, MADE, begin, end));
            assert_memory_equal(out + begin, truth + begin, end - begin);
        }
        free(in);
        free(out);
        codec_worker_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed_here),
                                       cmocka_unit_test(changed_in_children),
                                       cmocka_unit_test(shuffled), cmocka_unit_test(lz4_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
