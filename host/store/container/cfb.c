/* Reads the tables of compound files: sectors follow each other by the FAT, short streams lie in
 * the root's by a FAT of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "host/store/manifest/manifest.h"
#include "host/store/container/cfb.h"

#define SMALL_SHIFT  6
#define SMALL_BYTES  4096 /* streams below are short */
#define ENTRY        128
#define LAST         0xfffffffau /* marks of the FAT begin here */
#define NONE         0xffffffffu
#define STREAMS_MOST (1 << 20)
#define IN_HEADER    109 /* sectors of the FAT that the header names */

static uint32_t cfb_get32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static int64_t sector_at(const struct cfb *c, uint32_t sector)
{
    return ((int64_t)sector + 1) << c->shift;
}

/* The sectors of the FAT: those of the header, then lists that lead to the next one. */
static enum err read_fat(struct cfb *c, const unsigned char *head, int64_t file_bytes)
{
    const size_t size = (size_t)1 << c->shift, per = size / 4;
    const uint32_t count = cfb_get32(head + 44);
    uint32_t list = cfb_get32(head + 68);
    unsigned char block[4096];
    FAIL_IF(count < 1 || (int64_t)count > file_bytes >> c->shift, ERR_INPUT,
            "%s: names %u sectors of its table", c->store->name, count);
    c->fat = malloc(count * size);
    FAIL_IF(!c->fat, ERR_MEMORY, "%s: no memory left", c->store->name);
    c->fat_count = (uint32_t)(count * per);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t sector;
        if (i < IN_HEADER) {
            sector = cfb_get32(head + 76 + 4 * i);
        } else {
            const size_t in = (i - IN_HEADER) % (per - 1);
            if (in == 0) {
                FAIL_IF(list >= LAST, ERR_INPUT, "%s: its table is cut short", c->store->name);
                TRY(store_object_read(c->store, c->object, sector_at(c, list), block, size));
                list = cfb_get32(block + size - 4);
            }
            sector = cfb_get32(block + 4 * in);
        }
        TRY(store_object_read(c->store, c->object, sector_at(c, sector), c->fat + i * per, size));
    }
    return ERR_OK;
}

/* A chain of sectors from `start` on, `bytes` of it (0: to its end), malloc'ed. */
static enum err read_chain(const struct cfb *c, uint32_t start, int64_t bytes, unsigned char **out,
                           int64_t *got)
{
    const size_t size = (size_t)1 << c->shift;
    int64_t sectors = 0;
    *out = NULL;
    for (uint32_t at = start; at < LAST; at = c->fat[at]) {
        FAIL_IF(at >= c->fat_count || ++sectors > (int64_t)c->fat_count, ERR_INPUT,
                "%s: a chain of its sectors is damaged", c->store->name);
        if (bytes && sectors << c->shift >= bytes)
            break;
    }
    FAIL_IF(bytes > sectors << c->shift, ERR_INPUT, "%s: a stream is cut short", c->store->name);
    *out = malloc((size_t)(sectors << c->shift) + 1);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left", c->store->name);
    enum err e = ERR_OK;
    uint32_t at = start;
    for (int64_t i = 0; i < sectors && !e; i++, at = c->fat[at])
        e = store_object_read(c->store, c->object, sector_at(c, at), *out + ((size_t)i << c->shift),
                              size);
    if (e) {
        free(*out);
        *out = NULL;
    }
    *got = sectors << c->shift;
    return e;
}

/* Names are UTF-16; those of numbers and words are all that is asked for. */
static void entry_name(const unsigned char *e, char out[33])
{
    int n = (e[64] | e[65] << 8) / 2 - 1, k = 0;
    for (int i = 0; i < n && i < 32; i++)
        out[k++] = e[2 * i + 1] || e[2 * i] < ' ' || e[2 * i] > '~' ? '_' : (char)e[2 * i];
    out[k] = 0;
}

struct pending {
    uint32_t entry;
    const char *folder;
};

static enum err add_entry(struct cfb *c, const unsigned char *e, const char *folder,
                          const char **path)
{
    char name[33], text[512];
    entry_name(e, name);
    snprintf(text, sizeof text, "%s%s%s", folder, *folder ? "/" : "", name);
    *path = store_text(c->store, text);
    if (e[66] != 2)
        return ERR_OK;
    int64_t bytes;
    memcpy(&bytes, e + 120, sizeof bytes);
    if (c->shift == 9)
        bytes &= 0xffffffff; /* the rest is undefined in version 3 */
    FAIL_IF(bytes < 0, ERR_INPUT, "%s: stream %s has an impossible size", c->store->name, text);
    c->streams[c->streams_count++] = (struct cfb_stream){*path, cfb_get32(e + 116), bytes};
    return ERR_OK;
}

/* Siblings are a tree of left and right, contents hang below by child. */
static enum err cfb_walk(struct cfb *c, const unsigned char *all, uint32_t count)
{
    unsigned char *seen = calloc(count, 1);
    struct pending *stack = malloc(((size_t)count + 1) * 3 * sizeof *stack);
    size_t n = 0;
    enum err e = seen && stack ? ERR_OK : FAIL(ERR_MEMORY, "%s: no memory left", c->store->name);
    if (!e)
        stack[n++] = (struct pending){cfb_get32(all + 76), ""};
    while (n && !e) {
        const struct pending p = stack[--n];
        const unsigned char *entry = all + (size_t)p.entry * ENTRY;
        const char *path;
        if (p.entry == NONE || p.entry >= count || seen[p.entry] ||
            (entry[66] != 1 && entry[66] != 2))
            continue;
        seen[p.entry] = 1;
        e = add_entry(c, entry, p.folder, &path);
        stack[n++] = (struct pending){cfb_get32(entry + 68), p.folder};
        stack[n++] = (struct pending){cfb_get32(entry + 72), p.folder};
        if (entry[66] == 1)
            stack[n++] = (struct pending){cfb_get32(entry + 76), path};
    }
    free(seen);
    free(stack);
    return e;
}

static enum err cfb_read_directory(struct cfb *c, uint32_t start)
{
    unsigned char *all;
    int64_t bytes;
    TRY(read_chain(c, start, 0, &all, &bytes));
    const int64_t count = bytes / ENTRY;
    enum err e = ERR_OK;
    if (count < 1 || count > STREAMS_MOST)
        e = FAIL(ERR_INPUT, "%s: its directory has %lld entries", c->store->name, (long long)count);
    else if (!(c->streams = calloc((size_t)count, sizeof *c->streams)))
        e = FAIL(ERR_MEMORY, "%s: no memory left", c->store->name);
    if (!e) {
        int64_t size;
        memcpy(&size, all + 120, sizeof size);
        c->root =
            (struct cfb_stream){"", cfb_get32(all + 116), c->shift == 9 ? size & 0xffffffff : size};
        e = cfb_walk(c, all, (uint32_t)count);
    }
    free(all);
    return e;
}

enum err cfb_open(struct store *s, int32_t object, struct cfb *out)
{
    unsigned char head[512], *small;
    int64_t file_bytes, bytes;
    *out = (struct cfb){.store = s, .object = object};
    TRY(store_object_bytes(s, object, &file_bytes));
    TRY(store_object_read(s, object, 0, head, sizeof head));
    out->shift = head[30];
    FAIL_IF((out->shift != 9 && out->shift != 12) || head[32] != SMALL_SHIFT, ERR_INPUT,
            "%s: its sectors have 2^%d bytes; 2^9 and 2^12 are known", s->name, head[30]);
    enum err e = read_fat(out, head, file_bytes);
    if (!e)
        e = cfb_read_directory(out, cfb_get32(head + 48));
    if (!e && cfb_get32(head + 60) < LAST) {
        e = read_chain(out, cfb_get32(head + 60), 0, &small, &bytes);
        if (!e) {
            out->small_fat = (uint32_t *)(void *)small;
            out->small_count = (uint32_t)(bytes / 4);
        }
    }
    if (e)
        cfb_close(out);
    return e;
}

void cfb_close(struct cfb *c)
{
    free(c->fat);
    free(c->small_fat);
    free(c->streams);
    c->fat = c->small_fat = NULL;
    c->streams = NULL;
    c->streams_count = 0;
}

const struct cfb_stream *cfb_find(const struct cfb *c, const char *path)
{
    for (size_t i = 0; i < c->streams_count; i++)
        if (!strcmp(c->streams[i].path, path))
            return &c->streams[i];
    return NULL;
}

static enum err read_small(const struct cfb *c, const struct cfb_stream *t, unsigned char *out,
                           size_t bytes)
{
    unsigned char *all;
    int64_t room;
    uint32_t at = t->start;
    TRY(read_chain(c, c->root.start, 0, &all, &room));
    enum err e = ERR_OK;
    for (size_t done = 0; done < bytes && !e; done += 64) {
        const size_t n = bytes - done < 64 ? bytes - done : 64;
        if (at >= c->small_count || ((int64_t)at + 1) * 64 > room)
            e = FAIL(ERR_INPUT, "%s: stream %s is damaged", c->store->name, t->path);
        else {
            memcpy(out + done, all + (size_t)at * 64, n);
            at = c->small_fat[at];
        }
    }
    free(all);
    return e;
}

enum err cfb_read(const struct cfb *c, const struct cfb_stream *t, void *out, size_t bytes)
{
    unsigned char *all;
    int64_t got;
    FAIL_IF((int64_t)bytes > t->bytes, ERR_INPUT, "%s: stream %s has %lld bytes, %zu are needed",
            c->store->name, t->path, (long long)t->bytes, bytes);
    if (!bytes)
        return ERR_OK;
    if (t->bytes < SMALL_BYTES)
        return read_small(c, t, out, bytes);
    TRY(read_chain(c, t->start, (int64_t)bytes, &all, &got));
    memcpy(out, all, bytes);
    free(all);
    return ERR_OK;
}

int64_t cfb_offset(const struct cfb *c, const struct cfb_stream *t)
{
    if (t->bytes < SMALL_BYTES)
        return -1;
    uint32_t at = t->start;
    for (int64_t done = (int64_t)1 << c->shift; done < t->bytes; done += (int64_t)1 << c->shift) {
        if (at >= c->fat_count || c->fat[at] != at + 1)
            return -1;
        at++;
    }
    return at < c->fat_count ? sector_at(c, t->start) : -1;
}
