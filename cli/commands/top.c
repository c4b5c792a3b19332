/* The command `top`: lines, functions and threads of a running process, live. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/live/live.h"

static struct top_request {
    double interval_s, rate_hz;
    int once, times, top;
} request = {.interval_s = 1, .rate_hz = 100, .times = 1, .top = 10};

static struct opt options[] = {
    OPTION_NUMBER("interval", 'd', request.interval_s, "S",
                  "seconds between two updates (default 1)", 0.1, 3600),
    OPTION_NUMBER("rate", 'r', request.rate_hz, "HZ",
                  "samples per second of CPU time of each thread (default 100)", 1, 1000),
    OPTION_FLAG("once", '1', request.once, "print the tables of one interval, and end"),
    OPTION_INT("times", 'n', request.times, "N",
               "print the tables N times, and end; without a terminal\n(default 1)", 1, 1000000),
    OPTION_INT("top", 0, request.top, "N", "rows of each printed table (default 10)", 1, 1000000),
    {0},
};

struct top_session {
    struct watch watch;
    struct live_sums live;
    struct live_view view;
    int quit, reset; /* that a key asked for */
    int fresh;       /* an interval was added since the last question */
};

static void top_draw(struct top_session *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    terminal_size(&s->view.columns, &s->view.rows);
    screen_draw(out, &s->live, &s->view);
    fclose(out);
    terminal_show(text, bytes);
    free(text);
}

static void top_quit(struct top_session *s, int unused)
{
    (void)unused;
    s->quit = 1;
}

static void top_pause(struct top_session *s, int unused)
{
    (void)unused;
    s->view.paused = !s->view.paused;
}

static void top_help(struct top_session *s, int unused)
{
    (void)unused;
    s->view.help = !s->view.help;
}

static void top_reset(struct top_session *s, int unused)
{
    (void)unused;
    s->reset = 1;
}

static void top_sort(struct top_session *s, int sort)
{
    s->view.sort = sort < 0 ? (s->view.sort + 1) % LIVE_SORTS : (enum live_sort)sort;
}

static void top_show(struct top_session *s, int kind)
{
    s->view.kind = kind < 0 ? (s->view.kind + 1) % LIVE_KINDS : (enum live_kind)kind;
    s->view.first = 0;
    s->view.help = 0;
}

/* Moves by rows; by 100 and more: a page, or to the first row. */
enum { PAGE = 100, ALL = 10000 };
static void top_scroll(struct top_session *s, int rows)
{
    struct live_view *v = &s->view;
    const int page = v->rows > 8 ? v->rows - 6 : 2;
    const long to = (long)v->first + (abs(rows) == PAGE ? rows / PAGE * page : rows);
    v->first = to > 0 ? (size_t)to : 0;
}

/* As htop and top have them. */
static const struct key_row {
    int key;
    void (*act)(struct top_session *s, int value);
    int value;
} key_rows[] = {
    {'q', top_quit, 0},
    {KEY_F10, top_quit, 0},
    {'P', top_sort, SORT_NOW},
    {'T', top_sort, SORT_SELF},
    {'I', top_sort, SORT_INCLUSIVE},
    {'>', top_sort, -1},
    {'.', top_sort, -1},
    {KEY_F6, top_sort, -1},
    {'l', top_show, LIVE_LINES},
    {'f', top_show, LIVE_FUNCTIONS},
    {'H', top_show, LIVE_THREADS},
    {'t', top_show, LIVE_THREADS},
    {'\t', top_show, -1},
    {'Z', top_pause, 0},
    {' ', top_pause, 0},
    {'h', top_help, 0},
    {'?', top_help, 0},
    {KEY_F1, top_help, 0},
    {'r', top_reset, 0},
    {'k', top_scroll, -1},
    {KEY_UP, top_scroll, -1},
    {'j', top_scroll, 1},
    {KEY_DOWN, top_scroll, 1},
    {KEY_PAGE_UP, top_scroll, -PAGE},
    {KEY_PAGE_DOWN, top_scroll, PAGE},
    {KEY_HOME, top_scroll, -ALL},
};

static enum err top_obey(struct top_session *s, int key)
{
    for (size_t i = 0; i < sizeof key_rows / sizeof *key_rows; i++)
        if (key_rows[i].key == key)
            key_rows[i].act(s, key_rows[i].value);
    const int reset = s->reset;
    s->reset = 0;
    return reset ? live_reset(&s->live, &s->watch) : ERR_OK;
}

/* Waits for a key, an interval or a signal, and takes what is there. */
static enum err top_step(struct top_session *s, int keys)
{
    struct pollfd files[WATCH_CHILDREN + 1];
    struct model *m;
    double seconds = 0;
    if (!s->view.paused)
        TRY(watch_start(&s->watch));
    watch_files(&s->watch, files);
    files[WATCH_CHILDREN] = (struct pollfd){keys ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(files, WATCH_CHILDREN + 1, 500) <= 0)
        return ERR_OK;
    s->quit |= keys && files[WATCH_CHILDREN].revents & (POLLHUP | POLLERR);
    for (int key; keys && (key = terminal_key());)
        TRY(top_obey(s, key));
    TRY(watch_read(&s->watch, files, &m, &seconds));
    if (!m)
        return ERR_OK;
    s->fresh = 1;
    const enum err e = live_add(&s->live, m, seconds);
    model_destroy(m);
    return e;
}

static enum err top_screen(struct top_session *s)
{
    TRY(terminal_enter());
    enum err e = ERR_OK;
    while (!e && !s->quit && !cli_stop && (!s->watch.ended || watch_is_busy(&s->watch))) {
        top_draw(s);
        e = top_step(s, 1);
    }
    terminal_leave();
    return e;
}

static enum err top_tables(struct top_session *s)
{
    int printed = 0;
    while (printed < request.times && !cli_stop && (!s->watch.ended || watch_is_busy(&s->watch))) {
        TRY(top_step(s, 0));
        if (s->fresh) {
            if (printed++)
                putchar('\n');
            screen_print(stdout, &s->live, &s->view, request.top);
        }
        s->fresh = 0;
    }
    return ERR_OK;
}

static enum err run_top(int words, char **word)
{
    static struct top_session s;
    char *end;
    const long pid = strtol(word[0], &end, 10);
    (void)words;
    FAIL_IF(end == word[0] || *end || pid < 1 || pid > INT32_MAX, ERR_USAGE,
            "top %s: not a process id. `pgrep -a NAME` lists those of a program.", word[0]);
    const int screen =
        !request.once && request.times == 1 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    s.watch.interval_s = request.interval_s;
    s.watch.rate_hz = request.rate_hz;
    s.view.colour = isatty(STDOUT_FILENO) && log_colour();
    if (s.view.colour && !screen)
        plain_stdout_styles();
    enum err e = watch_begin(&s.watch, (pid_t)pid);
    if (!e)
        e = live_create(&s.live, &s.watch);
    if (!e)
        e = screen ? top_screen(&s) : top_tables(&s);
    watch_end(&s.watch);
    if (!e && s.watch.ended)
        log_info("process %ld has ended", pid);
    live_free(&s.live);
    return e;
}

const struct command cmd_top = {
    .name = "top",
    .summary = "Shows the lines and functions of a running process, live.",
    .words = "PID",
    .text =
        "Looks at Python and native frames from outside, interval after interval, and sums them "
        "up.\n"
        "A thread that runs is stopped for a moment; one that waits is not touched. Nothing is\n"
        "written, and the process goes on when top ends. Without a terminal it prints its tables\n"
        "once. Needs the rights of `record --pid`, which makes a page of the same.\n\n"
        "Keys: q quit; P, T, I sort by CPU now, self time, inclusive time; l, f, H lines,\n"
        "functions, threads; Z or space pause; r begin again; h help.\n\n"
        "Examples:\n"
        "  tomoprof top 4711\n"
        "  tomoprof top $(pgrep -n python3) --interval 5\n"
        "  tomoprof top 4711 --once\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .flags = CMD_STOPS,
    .run = run_top,
};
