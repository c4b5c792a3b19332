/* Text that comes from files and programs, for HTML, SVG and Markdown, and the shell of a page that
 * needs neither scripts nor a network. */
#ifndef TP_BASE_PAGE_MARKUP_H
#define TP_BASE_PAGE_MARKUP_H

#include <stdio.h>

/* Writes text for HTML and SVG: no sign of it is markup, control characters become blanks. At most
 * `letters` code points; NULL is "". */
#define MARKUP_ALL (~0u >> 1)
void markup_text(FILE *out, const char *text, unsigned letters);

/* Writes text for Markdown, signs that mean something there quoted; NULL is "-". */
void markdown_text(FILE *out, const char *text);
/* Begins a table: "| a | b |" and the line below it. `columns` are joined by " | ". */
void markdown_table(FILE *out, const char *columns);

/* Writes the head of a page up to its heading, and its end. `style`: CSS beside that of every
 * page. */
void page_begin(FILE *out, const char *title, const char *style);
void page_end(FILE *out);

#endif
