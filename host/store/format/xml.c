/* Finds elements and attributes in XML. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/format/xml.h"

static int is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == ':';
}

const char *xml_element(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = at + 1;
        while (is_name(*end))
            end++;
        const size_t length = (size_t)(end - at - 1);
        if (length >= n && !memcmp(end - n, name, n) && (length == n || end[-(int)n - 1] == ':'))
            return at;
    }
    return NULL;
}

/* Copies a value up to its closing quote. */
static void attribute_copy(const char *from, const char *end, char *out, size_t room)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    size_t k = 0;
    while (from < end && k + 1 < room) {
        size_t used = 1;
        char c = *from;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (!strncmp(from, entities[i].name, strlen(entities[i].name))) {
                used = strlen(entities[i].name);
                c = entities[i].is;
            }
        out[k++] = c;
        from += used;
    }
    out[k] = 0;
}

int xml_attribute(const char *element, const char *name, char *out, size_t room)
{
    const size_t n = strlen(name);
    const char *at = element + 1;
    while (is_name(*at))
        at++;
    while (*at && *at != '>') {
        at += strspn(at, " \t\r\n/");
        const char *begin = at;
        while (is_name(*at))
            at++;
        const size_t length = (size_t)(at - begin);
        at += strspn(at, " \t\r\n");
        if (!length || *at != '=')
            return 0;
        at += 1 + strspn(at + 1, " \t\r\n");
        const char quote = *at, *end = quote == '"' || quote == '\'' ? strchr(at + 1, quote) : NULL;
        if (!end)
            return 0;
        if (length == n && !memcmp(begin, name, n)) {
            attribute_copy(at + 1, end, out, room);
            return 1;
        }
        at = end + 1;
    }
    return 0;
}

double xml_number(const char *element, const char *name)
{
    char text[64], *end;
    if (!xml_attribute(element, name, text, sizeof text))
        return 0;
    const double v = strtod(text, &end);
    return end > text && !*end && isfinite(v) && v > 0 ? v : 0;
}
