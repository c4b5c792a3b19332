/* Times programs without the recorder: warm-up runs first, then runs in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/timed.h"

extern char **environ;

static enum err timed_once(const struct timed_program *p, const char *what, int number, int of,
                           struct record_end *end)
{
    const struct record_until until = {.stop = &cli_stop};
    TRY(record_launch(p->target->path, p->word, environ, 1, &until, end));
    FAIL_IF(cli_stop, ERR_INTERRUPTED, "interrupted in %s %d of %d", what, number, of);
    FAIL_IF(
        end->signal, ERR_FAILED,
        "%s %d of %d of %s: signal %d ended it. --runs needs a program that succeeds each time.",
        what, number, of, p->word[0], end->signal);
    FAIL_IF(end->exit_code, ERR_FAILED,
            "%s %d of %d of %s: exit status %d. --runs needs a program that succeeds each time, "
            "without standard input.",
            what, number, of, p->word[0], end->exit_code);
    return ERR_OK;
}

enum err timed_measure(const struct timed_program *programs, int count, int runs, int warmup)
{
    struct record_end ignored;
    enum err e = ERR_OK;
    for (int i = 0; i < warmup && !e; i++)
        for (int k = 0; k < count && !e; k++)
            e = timed_once(&programs[k], "warm-up run", i + 1, warmup, &ignored);
    for (int i = 0; i < runs && !e; i++)
        for (int k = 0; k < count && !e; k++) {
            const struct timed_program *p = &programs[i % 2 ? count - 1 - k : k];
            progress("runs", i * count + k, runs * count);
            e = timed_once(p, "run", i + 1, runs, &p->ends[i]);
        }
    progress_end();
    return e;
}

/* Prints a time in s or ms, three digits behind the point. */
static void timed_text(double s, char out[32])
{
    const int small = s < 1;
    snprintf(out, 32, small ? "%7.1f ms" : "%7.3f s", small ? 1e3 * s : s);
}

void timed_print(const struct timed_program *p, int runs, const char *side)
{
    double mean = 0, squares = 0, user = 0, sys = 0, least = INFINITY, most = 0;
    char text[6][32], command[256] = "";
    for (char *const *word = p->word; *word; word++)
        text_append(command, sizeof command, "%s%s", *command ? " " : "", *word);
    log_info("%s%s", side, command);
    for (int i = 0; i < runs; i++) {
        mean += p->ends[i].wall_s / runs;
        user += p->ends[i].user_s / runs;
        sys += p->ends[i].system_s / runs;
        least = fmin(least, p->ends[i].wall_s);
        most = fmax(most, p->ends[i].wall_s);
    }
    for (int i = 0; i < runs; i++)
        squares += (p->ends[i].wall_s - mean) * (p->ends[i].wall_s - mean);
    timed_text(mean, text[0]);
    timed_text(runs > 1 ? sqrt(squares / (runs - 1)) : 0, text[1]);
    timed_text(user, text[2]);
    timed_text(sys, text[3]);
    timed_text(least, text[4]);
    timed_text(most, text[5]);
    log_info("  Time (mean ± sd):   %s ± %s   [User: %s, System: %s]", text[0],
             runs > 1 ? text[1] : "unknown", text[2] + strspn(text[2], " "),
             text[3] + strspn(text[3], " "));
    log_info("  Range (min … max):  %s … %s   %d run%s without the recorder", text[4], text[5],
             runs, runs == 1 ? "" : "s");
}

enum err timed_words(const char *line, char ***words, size_t *count)
{
    wordexp_t w = {0};
    const int failed = wordexp(line, &w, WRDE_NOCMD);
    FAIL_IF(failed == WRDE_NOSPACE, ERR_MEMORY, "no memory for the words of --against");
    FAIL_IF(
        failed, ERR_USAGE,
        "--against: \"%.200s\" is not one command: it has an open quote, or one of | & ; < > ( ) "
        "{ } outside of quotes. Give a shell's line as \"sh -c '...'\".",
        line);
    *count = w.we_wordc;
    *words = calloc(w.we_wordc + 1, sizeof **words);
    for (size_t i = 0; *words && i < w.we_wordc; i++)
        (*words)[i] = strdup(w.we_wordv[i]);
    wordfree(&w);
    FAIL_IF(!*words, ERR_MEMORY, "no memory for the words of --against");
    FAIL_IF(!*count, ERR_USAGE, "--against: the command is empty");
    return ERR_OK;
}

void timed_words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

enum err timed_period(const char *text, double *seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
    const double number = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
        *seconds = number * units[i].seconds;
        if (!strcmp(end, units[i].unit) && *seconds >= 0.1 && *seconds <= 1e7)
            return ERR_OK;
    }
    return FAIL(ERR_USAGE, "--for %.40s: not a time of at least 0.1 s. Give it as 10s, 5m or 1h.",
                text);
}
