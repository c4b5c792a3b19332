/* `record --runs N`: times programs without the recorder. */
#ifndef TP_CLI_RUNS_TIMED_H
#define TP_CLI_RUNS_TIMED_H

#include "base/err.h"
#include "profiler/record/record.h"

#define TIMED_RUNS_MOST 1000

struct timed_program {
    const struct record_target *target;
    char *const *word;       /* its command line, ended by NULL */
    struct record_end *ends; /* [runs]: filled */
};

/* Runs each program `warmup` times, then `runs` times, silent and with standard input empty. Two
 * programs take turns, A B B A A B ..., so that a machine that becomes slower or faster meets both.
 * ERR_FAILED where a run does not exit with 0, ERR_INTERRUPTED after Ctrl-C. */
enum err timed_measure(const struct timed_program *programs, int count, int runs, int warmup);

/* Prints the command behind `side`, then mean, standard deviation and range, as hyperfine does. */
void timed_print(const struct timed_program *p, int runs, const char *side);

/* Reads a time with its unit, as 10s, 5m or 1h; without one it is seconds. */
enum err timed_period(const char *text, double *seconds);

/* Splits a command line at blanks as a shell does, quotes and variables included, without running
 * anything. *words is ended by NULL; free it and its words with timed_words_free. */
enum err timed_words(const char *line, char ***words, size_t *count);
void timed_words_free(char **words);

#endif
