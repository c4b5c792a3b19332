/* Text that comes from files and programs, for HTML, SVG and Markdown, and the shell of a page that
 * needs neither scripts nor a network. */
#ifndef TP_BASE_PAGE_MARKUP_H
#define TP_BASE_PAGE_MARKUP_H

#include <stdio.h>

/* Writes text for HTML and SVG: no sign of it is markup, control characters become blanks, marks of
 * direction and bytes that are not UTF-8 are escaped (plain_take). At most `letters` code points; NULL
 * is "". */
#define MARKUP_ALL (~0u >> 1)
void markup_text(FILE *out, const char *text, unsigned letters);

/* Writes text for Markdown in the same way, signs that mean something there quoted; NULL is "-". */
void markdown_text(FILE *out, const char *text);
/* Writes lines between fences that none of them can close, all else escaped as for a terminal. */
void markdown_fenced(FILE *out, const char *lines);
/* Begins a table: "| a | b |" and the line below it. `columns` are joined by " | ". */
void markdown_table(FILE *out, const char *columns);

/* Writes a cell of CSV (RFC 4180), quoted; NULL is "". A spreadsheet takes what begins with = + - @
 * for a formula: an apostrophe before it makes it a text (OWASP, CSV injection). */
void csv_text(FILE *out, const char *text);

/* Writes the head of a page up to its heading, and its end. `style`: CSS beside that of every
 * page. */
void page_begin(FILE *out, const char *title, const char *style);
void page_end(FILE *out);

/* Charts as SVG: the frame of a picture, and axes that are linear or logarithmic. */

/* Begins a picture. Classes of its style: g (grid), k (bold line), l (dashed line), r and m (text
 * that ends or is centred at its place), t (heading). */
enum svg_place {
    SVG_IN_PAGE, /* on the page's paper, without an address */
    SVG_FILE     /* a file by itself: names its format by an address, on white paper */
};
void svg_begin(FILE *out, int width, int height, const char *title, enum svg_place place);
void svg_end(FILE *out);

/* Values from low to high lie at first to first + length pixels; of a logarithmic axis low and high
 * are powers of 10. */
struct svg_axis {
    double low, high, first, length;
    int logarithmic;
};
double svg_at(const struct svg_axis *a, double value);
/* Makes a logarithmic axis hold a value, by whole decades. */
void svg_widen(struct svg_axis *a, double value);
/* Draws a grid line at every `step` decades of a logarithmic axis, each with its value: of x lines
 * from y `from` to `to`, the values below; of y from x `from` to `to`, the values on the left. */
void svg_grid_x(FILE *out, const struct svg_axis *x, int step, double from, double to);
void svg_grid_y(FILE *out, const struct svg_axis *y, int step, double from, double to);

/* Okabe and Ito 2008: eight colours that are told apart without red and green; 0 is grey. */
extern const char *const svg_colours[8];

#endif
