/* Reads directories of ZIP archives, also those above 4 GiB (ZIP64). */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/store/container/zip.h"
#include "host/store/manifest/manifest.h"

#define END_BYTES     22
#define COMMENT_MOST  65535
#define LOCATOR_BYTES 20
#define END64_BYTES   56
#define ENTRY_BYTES   46
#define LOCAL_BYTES   30
#define MEMBERS_MOST  (1 << 24)
#define NARROW        UINT32_MAX /* the field of 64 bits has it */

static uint64_t zip_get(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static int zip_is(const unsigned char *p, const char *signature)
{
    return !memcmp(p, signature, 4);
}

struct zip_directory {
    int64_t at, bytes, members;
};

/* The end is followed by a comment: the last signature whose comment ends with the file. */
static enum err find_end(struct store *s, int32_t object, struct zip_directory *out)
{
    int64_t bytes;
    TRY(store_object_bytes(s, object, &bytes));
    const int64_t most = END_BYTES + COMMENT_MOST + LOCATOR_BYTES, n = bytes < most ? bytes : most;
    unsigned char *tail = malloc((size_t)n + 1);
    FAIL_IF(!tail, ERR_MEMORY, "%s: no memory left to open it", s->name);
    enum err e = store_object_read(s, object, bytes - n, tail, (size_t)n);
    int64_t at = n - END_BYTES;
    while (
        !e && at >= 0 &&
        !(zip_is(tail + at, "PK\5\6") && (int64_t)zip_get(tail + at + 20, 2) == n - at - END_BYTES))
        at--;
    if (!e && at < 0)
        e = FAIL(ERR_INPUT, "%s: its directory is missing: it is cut short or damaged", s->name);
    if (!e) {
        const unsigned char *p = tail + at;
        *out = (struct zip_directory){(int64_t)zip_get(p + 16, 4), (int64_t)zip_get(p + 12, 4),
                                      (int64_t)zip_get(p + 10, 2)};
        if (zip_get(p + 4, 2) != 0 && zip_get(p + 4, 2) != 0xffff)
            e = FAIL(ERR_UNSUPPORTED, "%s: is a part of an archive in several files", s->name);
    }
    unsigned char wide[END64_BYTES];
    if (!e && at >= LOCATOR_BYTES && zip_is(tail + at - LOCATOR_BYTES, "PK\6\7")) {
        const uint64_t place = zip_get(tail + at - LOCATOR_BYTES + 8, 8);
        e = place > INT64_MAX ? FAIL(ERR_INPUT, "%s: its directory is damaged", s->name)
                              : store_object_read(s, object, (int64_t)place, wide, sizeof wide);
        if (!e && !zip_is(wide, "PK\6\6"))
            e = FAIL(ERR_INPUT, "%s: its directory is damaged", s->name);
        if (!e)
            *out = (struct zip_directory){(int64_t)zip_get(wide + 48, 8),
                                          (int64_t)zip_get(wide + 40, 8),
                                          (int64_t)zip_get(wide + 32, 8)};
    }
    free(tail);
    return e;
}

/* Fields that need 64 bits lie in an extra one, in the order of those that are full. */
static void member_widen(struct zip_member *m, const unsigned char *extra, size_t n)
{
    int64_t *const wide[] = {&m->bytes, &m->stored, &m->header};
    for (size_t at = 0; n - at >= 4;) {
        const size_t length = (size_t)zip_get(extra + at + 2, 2);
        if (length > n - at - 4)
            return;
        size_t used = 0;
        for (int i = 0; i < 3 && zip_get(extra + at, 2) == 1; i++)
            if (*wide[i] == NARROW && used + 8 <= length) {
                *wide[i] = (int64_t)zip_get(extra + at + 4 + used, 8);
                used += 8;
            }
        at += 4 + length;
    }
}

static enum err parse_member(struct store *s, const unsigned char *p, size_t left,
                             struct zip_member *m, size_t *used)
{
    FAIL_IF(left < ENTRY_BYTES || !zip_is(p, "PK\1\2"), ERR_INPUT, "%s: its directory is damaged",
            s->name);
    const size_t name = (size_t)zip_get(p + 28, 2), extra = (size_t)zip_get(p + 30, 2),
                 comment = (size_t)zip_get(p + 32, 2);
    *used = ENTRY_BYTES + name + extra + comment;
    FAIL_IF(*used > left, ERR_INPUT, "%s: its directory is damaged", s->name);
    char *text = arena_take(s->arena, name + 1);
    FAIL_IF(!text, ERR_MEMORY, "%s: no memory left", s->name);
    memcpy(text, p + ENTRY_BYTES, name);
    text[name] = 0;
    *m = (struct zip_member){.name = text,
                             .header = (int64_t)zip_get(p + 42, 4),
                             .stored = (int64_t)zip_get(p + 20, 4),
                             .bytes = (int64_t)zip_get(p + 24, 4),
                             .method = (int)zip_get(p + 10, 2)};
    member_widen(m, p + ENTRY_BYTES + name, extra);
    FAIL_IF(zip_get(p + 8, 2) & 1, ERR_UNSUPPORTED, "%s: %s is encrypted", s->name, text);
    FAIL_IF(m->header < 0 || m->stored < 0 || m->bytes < 0 || strlen(text) != name, ERR_INPUT,
            "%s: its directory is damaged", s->name);
    return ERR_OK;
}

static int by_member(const void *x, const void *y)
{
    const struct zip_member *a = x, *b = y;
    const int order = strcmp(a->name, b->name);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

enum err zip_read(struct store *s, int32_t object, struct zip *out)
{
    struct zip_directory d = {0, 0, 0};
    int64_t bytes;
    *out = (struct zip){.object = object};
    TRY(store_object_bytes(s, object, &bytes));
    TRY(find_end(s, object, &d));
    FAIL_IF(d.at < 0 || d.bytes < 0 || d.at > bytes || d.bytes > bytes - d.at || d.members < 0 ||
                d.members > d.bytes / ENTRY_BYTES || d.members > MEMBERS_MOST,
            ERR_INPUT, "%s: its directory is damaged: it names %lld members in %lld bytes", s->name,
            (long long)d.members, (long long)d.bytes);
    unsigned char *all = malloc((size_t)d.bytes + 1);
    out->members = calloc((size_t)d.members + 1, sizeof *out->members);
    enum err e = all && out->members ? store_object_read(s, object, d.at, all, (size_t)d.bytes)
                                     : FAIL(ERR_MEMORY, "%s: no memory left", s->name);
    size_t at = 0, used = 0;
    for (int64_t i = 0; i < d.members && !e; i++, at += used) {
        e = parse_member(s, all + at, (size_t)d.bytes - at, &out->members[i], &used);
        out->members[i].number = (uint32_t)i;
    }
    free(all);
    if (e) {
        zip_free(out);
        return e;
    }
    out->count = (size_t)d.members;
    array_sort(out->members, out->count, sizeof *out->members, by_member);
    return ERR_OK;
}

void zip_free(struct zip *z)
{
    free(z->members);
    z->members = NULL;
    z->count = 0;
}

const struct zip_member *zip_find(const struct zip *z, const char *name)
{
    const size_t after = ARRAY_BOUND(0, z->count, i, strcmp(z->members[i].name, name) <= 0);
    return after && !strcmp(z->members[after - 1].name, name) ? &z->members[after - 1] : NULL;
}

enum err zip_place(struct store *s, const struct zip *z, const struct zip_member *m, int64_t *at)
{
    unsigned char head[LOCAL_BYTES];
    TRY(store_object_read(s, z->object, m->header, head, sizeof head));
    FAIL_IF(!zip_is(head, "PK\3\4"), ERR_INPUT, "%s: %s is not where its directory says: damaged",
            s->name, m->name);
    FAIL_IF(m->method == ZIP_STORED && m->stored != m->bytes, ERR_INPUT,
            "%s: %s has %lld bytes stored of %lld: damaged", s->name, m->name, (long long)m->stored,
            (long long)m->bytes);
    *at = m->header + LOCAL_BYTES + (int64_t)zip_get(head + 26, 2) + (int64_t)zip_get(head + 28, 2);
    return ERR_OK;
}

enum err zip_head(struct store *s, const struct zip *z, const struct zip_member *m, void *out,
                  size_t room, size_t *got)
{
    int64_t at;
    TRY(zip_place(s, z, m, &at));
    const size_t wanted = m->bytes < (int64_t)room ? (size_t)m->bytes : room;
    *got = wanted;
    if (m->method == ZIP_STORED)
        return store_object_read(s, z->object, at, out, wanted);
    FAIL_IF(m->method != ZIP_DEFLATED, ERR_UNSUPPORTED,
            "%s: %s is compressed by method %d of ZIP; deflate and none are read", s->name, m->name,
            m->method);
    /* a byte of deflate gives 1,032 at most, and needs less than 2 in return */
    const int64_t most = 2 * (int64_t)wanted + 1024, n = m->stored < most ? m->stored : most;
    unsigned char *in = malloc((size_t)n + 1);
    FAIL_IF(!in, ERR_MEMORY, "%s: no memory left", s->name);
    enum err e = store_object_read(s, z->object, at, in, (size_t)n);
    z_stream stream = {
        .next_in = in, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)wanted};
    if (!e && inflateInit2(&stream, -15) != Z_OK)
        e = FAIL(ERR_MEMORY, "%s: no memory left", s->name);
    if (!e) {
        inflate(&stream, Z_SYNC_FLUSH);
        *got = wanted - stream.avail_out;
        inflateEnd(&stream);
    }
    free(in);
    return e;
}
