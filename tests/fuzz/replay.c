/* Runs a harness over the files of a folder, over their beginnings, and over copies with flipped
 * bits, the same ones every time. For compilers without libFuzzer, and for every run of the tests.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#ifndef TP_FUZZ_SHARE
#define TP_FUZZ_SHARE 1 /* of slow harnesses: a part of the runs */
#endif
#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
#define FLIPS (500 / TP_FUZZ_SHARE)
#define CUTS  (1024 / TP_FUZZ_SHARE)
#else
#define FLIPS (2000 / TP_FUZZ_SHARE) /* copies with 1 to 8 bits flipped, per file */
#define CUTS  (4096 / TP_FUZZ_SHARE) /* beginnings, per file: all of small ones */
#endif
#define SMALL_BYTES 65536

static long runs;

/* On a block of exactly `size` bytes, so that a sanitizer sees every read past it. */
static void run_copy(const char *data, size_t size, uint64_t *random)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (random && size) {
        int bits = 1 + (int)(*random >> 60 & 7);
        for (int i = 0; i < bits; i++) {
            *random = *random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
            copy[(*random >> 33) % size] ^= (uint8_t)(1u << (*random >> 29 & 7));
        }
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static void replay(const char *data, size_t size)
{
    uint64_t random = 42;
    run_copy(data, size, NULL);
    size_t step = size / CUTS + 1;
    for (size_t cut = 0; cut < size; cut += step)
        run_copy(data, cut, NULL);
    for (int i = 0; size <= SMALL_BYTES && i < FLIPS; i++)
        run_copy(data, size, &random);
}

/* A number becomes unknown, below 0, the largest that is read, or one that is larger. */
static const char *const values[] = {"null", "-1", "9007199254740991", "1e300"};
enum { VALUES = sizeof values / sizeof *values };

struct number {
    size_t at, end, key; /* key: where the text of its key begins */
};

/* Finds the numbers of a JSON text, into room for one a byte. */
static size_t numbers_find(const char *data, size_t size, struct number *out)
{
    size_t count = 0, text = 0, key = 0;
    for (size_t at = 0; at < size; at++) {
        size_t end = at;
        if (data[at] == '\\') {
            at++;
        } else if (data[at] == '"') {
            text = text ? 0 : at + 1;
            key = text ? text : at + 1 < size && data[at + 1] == ':' ? key : 0;
        } else if (!text && strchr("-0123456789", data[at]) && data[at]) {
            while (end < size && data[end] && strchr("+-.0123456789eE", data[end]))
                end++;
            out[count++] = (struct number){at, end, key};
            at = end - 1;
        }
    }
    return count;
}

static int key_is_same(const char *data, const struct number *x, const struct number *y)
{
    const size_t n = strcspn(data + x->key, "\"");
    return x->key && y->key && !strncmp(data + x->key, data + y->key, n + 1);
}

/* Changes number `i`, and with `all` those of its key. */
static void run_with_value(const char *data, size_t size, const struct number *n, size_t count,
                           size_t i, const char *value, int all)
{
    const size_t length = strlen(value);
    char *copy = malloc(size + count * length), *to = copy;
    size_t from = 0;
    if (!copy)
        abort();
    for (size_t k = 0; k < count; k++) {
        if (k != i && !(all && key_is_same(data, &n[i], &n[k])))
            continue;
        memcpy(to, data + from, n[k].at - from);
        to += n[k].at - from;
        memcpy(to, value, length);
        to += length;
        from = n[k].end;
    }
    memcpy(to, data + from, size - from);
    run_copy(copy, (size_t)(to - copy) + size - from, NULL);
    free(copy);
}

/* Each number of a JSON file becomes unknown and, in turn, one of the others, then all of its key:
 * sums of unknown ones overflowed, and were printed. */
static void replay_numbers(const char *data, size_t size)
{
    struct number *n = calloc(size, sizeof *n);
    const size_t count = n ? numbers_find(data, size, n) : 0;
    for (size_t i = 0; i < count; i++) {
        int first = 1;
        for (size_t k = 0; k < i && first; k++)
            first = !key_is_same(data, &n[i], &n[k]);
        run_with_value(data, size, n, count, i, values[0], 0);
        run_with_value(data, size, n, count, i, values[1 + i % (VALUES - 1)], 0);
        for (int v = 0; first && v < VALUES; v++)
            run_with_value(data, size, n, count, i, values[v], 1);
    }
    free(n);
}

int main(int argc, char **argv)
{
    int files = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    LLVMFuzzerInitialize(&argc, &argv);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096], *data;
        size_t size;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (file_read_all(path, 1 << 20, &data, &size)) {
            fprintf(stderr, "%s\n", err_text());
            return 1;
        }
        replay(data, size);
        if (size && data[0] == '{')
            replay_numbers(data, size);
        free(data);
        files++;
    }
    closedir(folder);
    printf("%d files, %ld runs\n", files, runs);
    return files ? 0 : 1;
}
