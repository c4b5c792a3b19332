/* Writes HTML and Markdown. */
#include <string.h>

#include "base/page/markup.h"

void markup_text(FILE *out, const char *text, unsigned letters)
{
    for (unsigned n = 0; text && *text && n < letters; text++) {
        const unsigned char c = (unsigned char)*text;
        n += (c & 0xC0) != 0x80;
        static const char signs[] = "<>&\"'";
        static const char *const names[] = {"lt", "gt", "amp", "quot", "#39"};
        const char *sign = strchr(signs, c);
        if (sign)
            fprintf(out, "&%s;", names[sign - signs]);
        else
            fputc(c < ' ' || c == 0x7F ? ' ' : c, out);
    }
}

void markdown_text(FILE *out, const char *text)
{
    for (text = text ? text : "-"; *text; text++) {
        if (strchr("\\`*_[]<>|#", *text))
            putc('\\', out);
        putc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
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
