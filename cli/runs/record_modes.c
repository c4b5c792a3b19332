/* Checks the list of `record --modes`. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/options.h"
#include "cli/runs/record_modes.h"

/* The mode that a word of everyday language means; NULL: none. */
static const char *mode_meant(const char *word)
{
    static const char *const words[][2] = {
        {"gpu", "cuda"},    {"kernels", "cuda"},  {"cupti", "cuda"}, {"nvidia", "cuda"},
        {"heap", "memory"}, {"malloc", "memory"}, {"ram", "memory"}, {"memcpy", "copies"},
        {"sleep", "wait"},  {"offcpu", "wait"},   {"time", "cpu"},   {"samples", "cpu"},
        {"ranges", "nvtx"}, {"marks", "nvtx"},    {"py", "python"},  {"gil", "locks"},
        {"mutex", "locks"}, {"futex", "locks"},   {"lock", "locks"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(word, words[i][0]))
            return words[i][1];
    return NULL;
}

enum err record_modes_check(const char *list)
{
    static const char *const known[] = {"cpu",  "wait", "memory",  "copies", "python",
                                        "nvtx", "cuda", "objects", "io",     "locks"};
    const int n = sizeof known / sizeof *known;
    FAIL_IF(list && !*list, ERR_USAGE, "--modes: the list is empty");
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char word[24];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        int i = 0;
        while (i < n && strcmp(word, known[i]))
            i++;
        const char *near = mode_meant(word);
        near = near ? near : opt_nearest(word, known, n);
        FAIL_IF(i == n && near, ERR_USAGE, "--modes: unknown mode \"%s\": did you mean %s?", word,
                near);
        FAIL_IF(i == n, ERR_USAGE,
                "--modes: unknown mode \"%s\": use some of "
                "cpu,wait,memory,copies,python,nvtx,cuda,objects,io,locks",
                word);
    }
    return ERR_OK;
}
