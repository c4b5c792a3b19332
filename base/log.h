/* Human output: everything here goes to stderr; stdout belongs to machine output that was asked
 * for. */
#ifndef TP_BASE_LOG_H
#define TP_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* TOMOPROF_LOG=error|warn|info|debug; info is the default. */
void log_set_level(enum log_level level);
enum log_level log_level_now(void);

/* Writes one line, newline added; a progress line on the terminal is cleared first. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

/* Prints a line of a table at level info whose styles (PLAIN_BOLD, ...) reach the terminal. */
void log_styled(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line at level info whose words in back quotes stay as they are: programs have names of
 * options (`sort`). */
void log_verbatim(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "tomoprof: PATH" and `note` at level info; on a terminal that knows links (OSC 8), the path
 * leads to the file. */
void log_page(const char *path, const char *note);

/* From now on the lines of this thread go to `sink`, where that is not NULL, whatever their level. */
typedef void log_sink(void *context, enum log_level level, const char *sentence);
void log_redirect(log_sink *sink, void *context);
/* From now on nothing goes to stderr: for a library in somebody else's program. */
void log_never_print(void);

/* In a process that fork made while other threads may have been printing. */
void log_forked(void);

/* True when stderr is a terminal where colour and cursor movement are welcome (NO_COLOR,
 * TERM=dumb). */
int log_is_terminal(void);
int log_colour(void);

/* Progress on a terminal: `done` of `total` steps, redrawn at most 10 times a second with rate and
 * time left; a label "NAME, UNIT" shows the amounts too (42 of 126 MB). Silent elsewhere. `progress_end` clears the line. */
void progress(const char *label, double done, double total);
/* Shows the work at hand at the line's end, as "cone_mbir_recon 64"; until progress_end. */
void progress_about(const char *what);
void progress_end(void);

#endif
