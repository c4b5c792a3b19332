/* Texts of a capture, and what a source says about its file: data quality, checks, environment. */
#include <math.h>
#include <string.h>

#include "profiler/import/source/source.h"

/* Returns the bytes of a well-formed character of UTF-8 at `s`, 0: not one. */
static size_t utf8_character(const unsigned char *s, size_t n)
{
    size_t length = *s < 0x80                 ? 1
                    : *s >= 0xC2 && *s < 0xE0 ? 2
                    : *s >= 0xE0 && *s < 0xF0 ? 3
                    : *s >= 0xF0 && *s < 0xF5 ? 4
                                              : 0;
    if (!length || length > n)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    int low = (*s == 0xE0 && s[1] < 0xA0) || (*s == 0xF0 && s[1] < 0x90);
    int high = (*s == 0xED && s[1] > 0x9F) || (*s == 0xF4 && s[1] > 0x8F);
    return low || high ? 0 : length;
}

#define TEXT_LIMIT 4096 /* longer names are truncated */

const char *import_text(struct builder *b, const char *s, size_t n)
{
    char kept[TEXT_LIMIT];
    size_t used = 0;
    for (size_t i = 0; i < n && used + 4 < sizeof kept;) {
        size_t length = utf8_character((const unsigned char *)s + i, n - i);
        if (length == 1 && (unsigned char)s[i] < ' ')
            kept[used++] = ' ';
        else if (length)
            memcpy(kept + used, s + i, length), used += length;
        else
            kept[used++] = '?';
        i += length ? length : 1;
    }
    return used ? arena_text_n(b->run->m->arena, kept, used) : NULL;
}

/* Windows' paths keep their last three names: path_shown knows no home folders there. */
const char *import_path(struct builder *b, const char *s, size_t n)
{
    size_t at = n;
    for (int names = 0; n > 2 && s[1] == ':' && at > 0; at--)
        if ((s[at - 1] == '/' || s[at - 1] == '\\') && ++names == 3)
            break;
    return at < n ? import_text(b, s + at, n - at) : import_text(b, s, n);
}

enum err import_note(struct builder *b, int64_t count, const char *id, const char *severity,
                     const char *text, const char *effect)
{
    struct model_item item;
    json_blank(&record_model_item, &item);
    item.id = id;
    item.severity = severity;
    item.count = count;
    item.text = text;
    item.effect = effect;
    return count ? vector_add(&b->run->q.notes, item) : ERR_OK;
}

enum err import_check(struct builder *b, const char *id, double expected, double found,
                      double slack, const char *text)
{
    struct model_check row = {.id = id, .expected = expected, .found = found, .text = text};
    row.ok = fabs(found - expected) <= slack * fmax(fabs(expected), fabs(found)) + 1e-12;
    return vector_add(&b->checks, row);
}

enum err import_fact(struct builder *b, const char *key, const char *value)
{
    struct run *r = b->run;
    for (size_t i = 0; i < r->facts.count; i++)
        if (!strcmp(r->facts.items[i].key, key))
            return ERR_OK;
    return value ? vector_add(&r->facts, (struct model_fact){key, value}) : ERR_OK;
}

enum err source_is(struct builder *b, const char *tool, const char *version)
{
    TRY(import_fact(b, "import.tool", tool));
    return import_fact(b, "import.version", version);
}
