/* Text of others on a terminal: shown, not obeyed. */
#ifndef TP_BASE_PLAIN_H
#define TP_BASE_PLAIN_H

#include <stddef.h>

enum plain_keep {
    PLAIN_LINE = 0,  /* one line: line ends and tabs are escaped too */
    PLAIN_LINES = 1, /* line ends, tabs and the styles of PLAIN_STYLES pass */
};

/* The styles that tomoprof prints itself. */
#define PLAIN_BOLD   "\033[1m"
#define PLAIN_DIM    "\033[2m"
#define PLAIN_RED    "\033[31m"
#define PLAIN_YELLOW "\033[33m"
#define PLAIN_END    "\033[0m"

/* Copies `in` to out[room], NUL-terminated and cut at a whole character: control characters, those
 * that turn the direction of text, and bytes that are not UTF-8 become \n, \x1b, \u202e. Returns
 * the bytes written. */
size_t plain_text(const char *in, enum plain_keep keep, char *out, size_t room);

/* From here on all that is printed to stdout passes plain_text where stdout is a terminal. */
void plain_stdout(void);

#endif
