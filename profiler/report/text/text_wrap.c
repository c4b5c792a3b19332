/* Sentences on a terminal: lines end between words. */
#include <string.h>

#include "profiler/report/text/text.h"

/* Counts code points, without styles ("ESC [ ... m"). */
static int word_columns(const char *word, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++)
        if (word[i] == '\033')
            i += strcspn(word + i, "m");
        else
            columns += ((unsigned char)word[i] & 0xC0) != 0x80;
    return columns;
}

/* A number stays with its unit. */
static int unit_follows(const char *word, size_t n)
{
    static const char *const units[] = {" s", " ms", " us", " ns", " %", " KiB", " MiB", " GiB"};
    if (!n || word[n - 1] < '0' || word[n - 1] > '9')
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t length = strlen(units[i]);
        if (!strncmp(word + n, units[i], length) && strchr(" .,;:)", word[n + length]))
            return 1; /* also at the end of the text */
    }
    return 0;
}

void text_wrapped(FILE *out, const char *text, int width, int indent)
{
    int column = (int)strspn(text, " ");
    fprintf(out, "%*s", column, "");
    text += column;
    for (int first = 1; *text; first = 0) {
        size_t n = strcspn(text, " ");
        while (unit_follows(text, n))
            n += 1 + strcspn(text + n + 1, " ");
        const int columns = word_columns(text, n);
        if (!first && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, n, out);
        column += columns;
        text += n + strspn(text + n, " ");
    }
    fputc('\n', out);
}
