/* Log lines and the progress bar on stderr; the bar gives way to lines. */
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"

#define LINE_MAX_BYTES 4096
#define REDRAW_NS      100000000 /* 10 times a second */

static const struct {
    const char *name, *prefix, *colour;
} levels[] = {
    {"error", "error: ", PLAIN_RED},
    {"warn", "warning: ", PLAIN_YELLOW},
    {"info", "", ""},
    {"debug", "debug: ", PLAIN_DIM},
};
#define LEVEL_COUNT (int)(sizeof levels / sizeof *levels)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int level_now = -1; /* -1: the environment has not been read */
static int never_prints;
static _Thread_local struct {
    log_sink *sink;
    void *context;
} redirected;
static struct {
    char label[40], about[60];
    int64_t start, drawn;
    int visible;
} bar;

void log_set_level(enum log_level level)
{
    __atomic_store_n(&level_now, (int)level, __ATOMIC_RELAXED);
}

enum log_level log_level_now(void)
{
    int level = __atomic_load_n(&level_now, __ATOMIC_RELAXED);
    if (level >= 0)
        return (enum log_level)level;
    const char *wanted = getenv("TOMOPROF_LOG");
    level = LOG_INFO;
    for (int i = 0; wanted && i < LEVEL_COUNT; i++)
        if (!strcmp(wanted, levels[i].name))
            level = i;
    log_set_level((enum log_level)level);
    return (enum log_level)level;
}

void log_redirect(log_sink *sink, void *context)
{
    redirected.sink = sink;
    redirected.context = context;
}

void log_never_print(void)
{
    __atomic_store_n(&never_prints, 1, __ATOMIC_RELAXED);
}

static int log_prints(enum log_level level)
{
    return !__atomic_load_n(&never_prints, __ATOMIC_RELAXED) && level <= log_level_now();
}

void log_forked(void)
{
    pthread_mutex_init(&lock, NULL);
}

int log_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

int log_colour(void)
{
    const char *no = getenv("NO_COLOR"); /* no-color.org: any value but the empty one */
    return log_is_terminal() && !(no && *no);
}

/* Call with the lock held. */
static void bar_clear(void)
{
    if (bar.visible)
        fputs("\r\033[K", stderr);
    bar.visible = 0;
}

static void log_text(enum log_level level, enum plain_keep keep, void (*spell)(char *),
                     const char *format, va_list args)
{
    if (!redirected.sink && !log_prints(level))
        return;
    char raw[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
    if (keep == PLAIN_STYLED)
        vsnprintf(raw, sizeof raw, format, args); /* styles are among the arguments */
    else
        plain_vformat(raw, sizeof raw, format, args);
    plain_text(raw, keep, text, sizeof text);
    if (spell)
        spell(text);
    if (redirected.sink) {
        redirected.sink(redirected.context, level, text);
        return;
    }
    int colour = *levels[level].colour && log_colour();

    pthread_mutex_lock(&lock);
    fflush(stdout); /* both may be one file: lines stay in order; main reports a failure */
    bar_clear();
    fprintf(stderr, "%s%s%s%s\n", colour ? levels[level].colour : "", levels[level].prefix,
            colour ? PLAIN_END : "", text);
    pthread_mutex_unlock(&lock);
}

void log_line(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_text(level, PLAIN_LINES, err_spell, format, args);
    va_end(args);
}

void log_styled(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_text(LOG_INFO, PLAIN_STYLED, err_spell, format, args);
    va_end(args);
}

void log_verbatim(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_text(LOG_INFO, PLAIN_LINES, NULL, format, args);
    va_end(args);
}

/* Writes file://HOST/PATH with every byte that is not plain as %XX. */
static void page_address(const char *path, char *out, size_t room)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    text_print(out, room, "file://%s", host);
    for (const char *c = path; *c; c++)
        text_append(out, room, strchr("/-._~", *c) || isalnum((unsigned char)*c) ? "%c" : "%%%02X",
                    (unsigned char)*c);
}

void log_page(const char *path, const char *note)
{
    char plain[LINE_MAX_BYTES], address[3 * LINE_MAX_BYTES];
    char *real = realpath(path, NULL);
    if (redirected.sink || !log_prints(LOG_INFO) || !log_is_terminal() || !real) {
        log_info("tomoprof: %s%s", path, note);
        free(real);
        return;
    }
    page_address(real, address, sizeof address);
    free(real);
    plain_text(path, PLAIN_LINE, plain, sizeof plain);
    pthread_mutex_lock(&lock);
    fflush(stdout);
    bar_clear();
    fprintf(stderr, "tomoprof: \033]8;;%s\033\\%s\033]8;;\033\\%s\n", address, plain, note);
    pthread_mutex_unlock(&lock);
}

/* "1 h 05 min", "2 min 07 s", "12 s" */
static void human_seconds(double seconds, char *out, size_t size)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, size, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, size, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out, size, "%ld s", s);
}

static int log_columns(void)
{
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : 80;
}

void progress(const char *label, double done, double total)
{
    if (!log_prints(LOG_INFO) || !log_is_terminal() || !(total > 0))
        return;
    int64_t now = clock_ns();
    pthread_mutex_lock(&lock);
    if (strncmp(bar.label, label, sizeof bar.label - 1)) {
        snprintf(bar.label, sizeof bar.label, "%s", label);
        bar.start = now;
        bar.drawn = 0;
    }
    if (now - bar.drawn >= REDRAW_NS) {
        double share = done < total ? done / total : 1;
        double seconds = (double)(now - bar.start) * 1e-9;
        double rate = seconds > 0 ? done / seconds : 0;
        char left[40] = "";
        if (rate > 0)
            human_seconds((total - done > 0 ? total - done : 0) / rate, left, sizeof left);
        char cells[21] = "....................";
        memset(cells, '#', (size_t)(share * 20));
        char line[200];
        const char *unit = strstr(bar.label, ", ");
        const int name = (int)(unit ? unit - bar.label : (long)strlen(bar.label));
        unit = unit ? unit + 1 : "";
        char amount[60] = "";
        if (*unit)
            snprintf(amount, sizeof amount, "  %.0f of %.0f%s", done, total, unit);
        snprintf(line, sizeof line, "%.*s [%s] %3.0f%%%s  %.3g%s/s%s%s%s%s", name, bar.label, cells,
                 share * 100, amount, rate, unit, *left ? "  left " : "", left,
                 *bar.about ? "  " : "", bar.about);
        fprintf(stderr, "\r\033[K%.*s", log_columns() - 1,
                line); /* a wrapped line is not cleared */
        fflush(stderr);
        bar.drawn = now;
        bar.visible = 1;
    }
    pthread_mutex_unlock(&lock);
}

void progress_about(const char *what)
{
    pthread_mutex_lock(&lock);
    snprintf(bar.about, sizeof bar.about, "%s", what);
    pthread_mutex_unlock(&lock);
}

void progress_end(void)
{
    pthread_mutex_lock(&lock);
    bar_clear();
    *bar.label = *bar.about = 0;
    pthread_mutex_unlock(&lock);
}
