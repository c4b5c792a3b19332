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
static const char *const numbers[] = {"null", "-1", "9007199254740991", "1e300"};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void run_with_number(const char *data, size_t size, size_t at, size_t end,
                            const char *number)
{
    const size_t n = strlen(number), whole = size - (end - at) + n;
    char *copy = malloc(whole);
    if (!copy)
        abort();
    memcpy(copy, data, at);
    memcpy(copy + at, number, n);
    memcpy(copy + at + n, data + end, size - end);
    run_copy(copy, whole, NULL);
    free(copy);
}

/* Each number of a JSON file becomes unknown and, in turn, one of the others: sums of unknown ones
 * overflowed, and were printed. */
static void replay_numbers(const char *data, size_t size)
{
    int text = 0, turn = 0;
    for (size_t at = 0; at < size; at++) {
        size_t end = at;
        if (data[at] == '\\') {
            at++;
            continue;
        }
        if (data[at] == '"')
            text = !text;
        else if (!text)
            while (end < size && strchr("+-.0123456789eE", data[end]) && data[end] &&
                   data[at] != 'e')
                end++;
        if (end == at || end > size)
            continue;
        run_with_number(data, size, at, end, numbers[0]);
        run_with_number(data, size, at, end, numbers[1 + turn++ % (NUMBERS - 1)]);
        at = end - 1;
    }
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
