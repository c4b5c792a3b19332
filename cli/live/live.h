/* `top` in four parts: children record a running process interval by interval, rows sum the
 * intervals up, a screen draws the rows, and a terminal shows the screen. */
#ifndef TP_CLI_LIVE_LIVE_H
#define TP_CLI_LIVE_LIVE_H

#include <poll.h>
#include <stdio.h>

#include "base/array.h"
#include "base/child.h"
#include "base/table.h"
#include "profiler/analyze/model/model.h"
#include "profiler/outside/outside.h"

/* watch.c: an interval is recorded and analysed in a child of its own, with a process group of its
 * own: no signal of the terminal stops it while a thread of the target is stopped. The next one is
 * recorded while the last one is analysed. */
enum { WATCH_PATH = 64, WATCH_CHILDREN = 2 };

struct watch_take {
    struct child child; /* pid 0: free */
    char folder[WATCH_PATH];
    int recorded; /* analysed now */
    struct outside_end end;
};
struct watch {
    pid_t pid;
    double interval_s, rate_hz;
    char folder[WATCH_PATH], **command;
    struct watch_take take[WATCH_CHILDREN];
    int ended; /* 1: the process is gone */
};

enum err watch_begin(struct watch *w, pid_t pid);
/* Starts an interval where none is being recorded and a child is free. */
enum err watch_start(struct watch *w);
/* Fills what poll() waits for: of a free one, descriptor -1. */
void watch_files(const struct watch *w, struct pollfd files[WATCH_CHILDREN]);
/* Reads what is ready. *m: the model of an interval that is done, recorded for *seconds; else NULL. */
enum err watch_read(struct watch *w, const struct pollfd files[WATCH_CHILDREN], struct model **m,
                    double *seconds);
int watch_is_busy(const struct watch *w);
/* Ends the children, and removes the folder. */
void watch_end(struct watch *w);

/* sums.c */
enum live_kind { LIVE_LINES, LIVE_FUNCTIONS, LIVE_THREADS, LIVE_KINDS };

struct live_row {
    const char *name;      /* place and function; a thread's name */
    const char *text;      /* source of a line, file of a function, state of a thread; "" none */
    double now_s;          /* self time in the last interval */
    double self_s, incl_s; /* since the beginning */
    int64_t tid;           /* of a thread */
    const char *place;     /* of a thread: its own line that was seen longest in the interval */
    int gone;              /* a thread that has ended */
};
struct live_rows {
    VECTOR(struct live_row) list;
    struct table index;
};
struct live_sums {
    pid_t pid;
    const char *command;
    struct arena *texts;
    struct live_rows rows[LIVE_KINDS];
    double interval_s, now_s, wall_s,
        cpu_s; /* last interval and its CPU time; since the beginning */
};

enum err live_create(struct live_sums *l, const struct watch *w);
enum err live_add(struct live_sums *l, const struct model *m, double seconds);
/* Forgets all sums. */
enum err live_reset(struct live_sums *l, const struct watch *w);
void live_free(struct live_sums *l);

/* screen.c */
enum live_sort { SORT_NOW, SORT_SELF, SORT_INCLUSIVE, LIVE_SORTS };

struct live_view {
    int columns, rows; /* of the terminal */
    int colour, paused, help;
    enum live_kind kind;
    enum live_sort sort;
    size_t first; /* row at the top */
};

/* Sorts the rows, and writes lines that fill the terminal. */
void screen_draw(FILE *out, struct live_sums *l, struct live_view *v);
/* Prints all tables, `top` rows each, for a file or a pipe. */
void screen_print(FILE *out, struct live_sums *l, const struct live_view *v, int top);

/* terminal.c */
enum { KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_F1, KEY_F6, KEY_F10 };

/* Takes over the terminal until terminal_leave() or the end of the process; Ctrl-C stays a signal. */
enum err terminal_enter(void);
void terminal_leave(void);
void terminal_size(int *columns, int *rows);
/* The next key that was pressed; 0: none. */
int terminal_key(void);
void terminal_show(const char *text, size_t bytes);

#endif
