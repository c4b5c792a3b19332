/* Writes HTML and Markdown. */
#include <math.h>
#include <string.h>

#include "base/page/markup.h"
#include "base/text.h"

void markup_text(FILE *out, const char *text, unsigned letters)
{
    static const char signs[] = "<>&\"'";
    static const char *const names[] = {"lt", "gt", "amp", "quot", "#39"};
    char form[PLAIN_FORM];
    for (unsigned n = 0; text && *text && n < letters; n++) {
        const unsigned char c = (unsigned char)*text;
        const char *sign = strchr(signs, c);
        plain_take(&text, form);
        if (sign)
            fprintf(out, "&%s;", names[sign - signs]);
        else
            fputs(c < ' ' || c == 0x7F ? " " : form, out);
    }
}

void markdown_text(FILE *out, const char *text)
{
    char form[PLAIN_FORM];
    for (text = text ? text : "-"; *text;) {
        const unsigned char c = (unsigned char)*text;
        if (strchr("\\`*_[]<>|#", c))
            putc('\\', out);
        plain_take(&text, form);
        fputs(c < ' ' ? " " : form, out);
    }
}

void markdown_fenced(FILE *out, const char *lines)
{
    char form[PLAIN_FORM];
    int longest = 2, run = 0;
    for (const char *at = lines; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (int i = 0; i <= longest; i++)
        putc('`', out);
    putc('\n', out);
    while (*lines)
        if (*lines == '\n' || *lines == '\t') {
            putc(*lines++, out);
        } else {
            plain_take(&lines, form);
            fputs(form, out);
        }
    for (int i = 0; i <= longest; i++)
        putc('`', out);
    putc('\n', out);
}

void csv_text(FILE *out, const char *text)
{
    fputs(text && *text && strchr("=+-@\t\r\n", *text) ? "\"'" : "\"", out);
    for (; text && *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void markdown_table(FILE *out, const char *columns)
{
    fprintf(out, "\n| %s |\n|", columns);
    for (const char *at = columns; at; at = at ? at + 3 : NULL) {
        fputs("---|", out);
        at = strstr(at, " | ");
    }
    putc('\n', out);
}

void page_begin(FILE *out, const char *title, const char *style)
{
    fputs("<!doctype html><html lang=en><meta charset=utf-8><meta "
          "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
          "style-src 'unsafe-inline'\"><meta name=viewport "
          "content=\"width=device-width\"><title>",
          out);
    markup_text(out, title, MARKUP_ALL);
    fprintf(out,
            "</title><style>body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em "
            "auto;padding:0 1em;color-scheme:light dark}"
            "h1{font-size:1.4em;overflow-wrap:anywhere}h2{font-size:1.15em}h3{font-size:1em}%s</"
            "style><main><h1>",
            style);
    markup_text(out, title, MARKUP_ALL);
    fputs("</h1>", out);
}

void page_end(FILE *out)
{
    fputs("</main></html>\n", out);
}

/* Writes charts as SVG. */

const char *const svg_colours[8] = {"#999999", "#56b4e9", "#e69f00", "#009e73",
                                    "#0072b2", "#cc79a7", "#d55e00", "#f0e442"};

void svg_begin(FILE *out, int width, int height, const char *title, enum svg_place place)
{
    fprintf(out,
            "<svg%s width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"11\">\n<title>",
            place == SVG_FILE ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height, width,
            height);
    markup_text(out, title, MARKUP_ALL);
    fprintf(out,
            "</title>\n<style>.g{stroke:#ddd}.k{stroke:#222;stroke-width:1.5}"
            ".l{stroke:#444;stroke-dasharray:4 3}path,polyline{fill:none}.r{text-anchor:end}"
            ".m{text-anchor:middle}.t{font-size:13px;font-weight:bold}</style>\n%s",
            place == SVG_FILE ? "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" : "");
}

void svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

double svg_at(const struct svg_axis *a, double value)
{
    const double v = a->logarithmic ? log10(value) : value;
    return a->first + a->length * (v - a->low) / (a->high - a->low);
}

void svg_widen(struct svg_axis *a, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    a->low = fmin(a->low, floor(log10(value)));
    a->high = fmax(a->high, ceil(log10(value)));
}

/* Writes 0.001 to 10000 as they are, other powers of 10 as 1e-8. */
static void put_power(FILE *out, int p)
{
    if (p >= -3 && p < 5)
        fprintf(out, "%g</text>\n", pow(10, p));
    else
        fprintf(out, "1e%d</text>\n", p);
}

void svg_grid_x(FILE *out, const struct svg_axis *x, int step, double from, double to)
{
    for (int p = (int)x->low; p <= (int)x->high; p += step) {
        const double at = svg_at(x, pow(10, p));
        fprintf(out,
                "<path d=\"M%.1f %.1fV%.1f\" class=\"g\"/><text x=\"%.1f\" y=\"%.1f\" class=\"m\">",
                at, from, to, at, to + 14);
        put_power(out, p);
    }
}

void svg_grid_y(FILE *out, const struct svg_axis *y, int step, double from, double to)
{
    for (int p = (int)y->low; p <= (int)y->high; p += step) {
        const double at = svg_at(y, pow(10, p));
        fprintf(out,
                "<path d=\"M%.1f %.1fH%.1f\" class=\"g\"/><text x=\"%.1f\" y=\"%.1f\" class=\"r\">",
                from, at, to, from - 5, at + 4);
        put_power(out, p);
    }
}
