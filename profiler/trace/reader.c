/* Reads a trace file chunk by chunk and skips what is damaged, which it counts. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "profiler/trace/reader.h"
#include "profiler/trace/writer.h"

/* Counts chunks that are missing from the sequence of each thread. */

struct sequences { /* all zero: empty */
    struct sequence *slots;
    size_t room, count;
};

struct sequence {
    uint32_t tid, next, known;
};

static struct sequence *sequence_find(struct sequence *slots, size_t room, uint32_t tid)
{
    size_t i = tid * 0x9e3779b9u & (room - 1);
    while (slots[i].known && slots[i].tid != tid)
        i = (i + 1) & (room - 1);
    return &slots[i];
}

static enum err sequences_grow(struct sequences *s)
{
    size_t room = s->room ? 2 * s->room : 64;
    struct sequence *slots = calloc(room, sizeof *slots);
    FAIL_IF(!slots, ERR_MEMORY, "no memory left for %zu threads of a trace", s->count);
    for (size_t i = 0; i < s->room; i++)
        if (s->slots[i].known)
            *sequence_find(slots, room, s->slots[i].tid) = s->slots[i];
    free(s->slots);
    s->slots = slots;
    s->room = room;
    return ERR_OK;
}

/* Notes chunk `sequence` of a thread; *missing = chunks that should have come before it. A chunk 0
 * of a known tid is that of a new thread under a reused tid. */
static enum err sequences_next(struct sequences *s, uint32_t tid, uint32_t sequence,
                               uint64_t *missing)
{
    if (2 * s->count >= s->room)
        TRY(sequences_grow(s));
    struct sequence *slot = sequence_find(s->slots, s->room, tid);
    if (!slot->known) {
        *slot = (struct sequence){.tid = tid, .known = 1};
        s->count++;
    }
    *missing = sequence > slot->next ? sequence - slot->next : 0;
    slot->next = sequence + 1;
    return ERR_OK;
}

static void sequences_free(struct sequences *s)
{
    free(s->slots);
    *s = (struct sequences){0};
}

/* FILE.tpb@OFFSET names a member: the length of FILE.tpb, and its offset. 0: another name. */
static size_t brief_split(const char *path, uint64_t *offset)
{
    static const char end[] = ".tpb";
    const char *at = strrchr(path, '@');
    size_t n = at ? (size_t)(at - path) : 0;
    if (n < sizeof end || memcmp(at + 1 - sizeof end, end, sizeof end - 1))
        return 0;
    *offset = strtoull(at + 1, NULL, 10);
    return n;
}

#define WINDOW_BYTES (256 * 1024) /* read at once */

struct trace_reader {
    int fd;
    char *path;
    struct trace_header header;
    struct trace_damage damage;
    uint64_t file_bytes;
    uint64_t base;     /* of a member of a file of brief traces */
    uint64_t members;  /* its bytes from `base` on; 0: a file of one trace */
    uint64_t position; /* of the next chunk */
    int lost;          /* looking for a chunk after a bad one */
    char *window;      /* bytes of the file from window_at on */
    uint64_t window_at;
    size_t window_bytes;
    char *at, *end; /* what is left of the records of the current chunk, in the window */
    uint32_t tid;
    struct sequences threads;
};

static enum err reader_pread(struct trace_reader *r, uint64_t offset, void *to, size_t n,
                             size_t *got)
{
    for (*got = 0; *got < n;) {
        ssize_t part = pread(r->fd, (char *)to + *got, n - *got, (off_t)(offset + *got));
        if (part < 0 && errno == EINTR)
            continue;
        FAIL_IF(part < 0, ERR_IO, "%s: reading failed: %s", r->path, strerror(errno));
        if (!part)
            break;
        *got += (size_t)part;
    }
    return ERR_OK;
}

/* The same of a trace, which a member is with zeros behind its header and its records. */
static enum err reader_read_at(struct trace_reader *r, uint64_t offset, void *to, size_t n,
                               size_t *got)
{
    if (!r->members)
        return reader_pread(r, offset, to, n, got);
    uint64_t from = offset - TRACE_HEADER_BYTES + sizeof r->header;
    uint64_t left = from < r->members ? r->members - from : 0;
    TRY(reader_pread(r, r->base + from, to, n < left ? n : (size_t)left, got));
    left = offset < r->file_bytes ? r->file_bytes - offset : 0;
    n = n < left ? n : (size_t)left;
    if (*got < n)
        memset((char *)to + *got, 0, n - *got);
    *got = n > *got ? n : *got;
    return ERR_OK;
}

/* The bytes at `offset`: `n` of them, fewer only at the end of the file. */
static enum err reader_view(struct trace_reader *r, uint64_t offset, size_t n, char **bytes,
                            size_t *got)
{
    if (offset < r->window_at || offset + n > r->window_at + r->window_bytes) {
        r->window_at = offset;
        TRY(reader_read_at(r, offset, r->window, WINDOW_BYTES, &r->window_bytes));
    }
    *bytes = r->window + (offset - r->window_at);
    *got = r->window_bytes - (size_t)(offset - r->window_at);
    *got = *got < n ? *got : n;
    return ERR_OK;
}

static enum err check_header(struct trace_reader *r, size_t got)
{
    const struct trace_header *h = &r->header;
    FAIL_IF(got < sizeof h->magic + 4 || memcmp(h->magic, TRACE_MAGIC, sizeof h->magic), ERR_INPUT,
            "%s: is not a trace (it does not begin with \"tptrace\")", r->path);
    FAIL_IF(h->version == __builtin_bswap32(TRACE_VERSION), ERR_INPUT,
            "%s: was recorded on a machine of the other byte order; read it on one of that kind",
            r->path);
    FAIL_IF(h->version != TRACE_VERSION, ERR_INPUT,
            "%s: is a trace of version %u, this program reads version %d; use the program that "
            "recorded it",
            r->path, h->version, TRACE_VERSION);
    FAIL_IF(r->file_bytes < TRACE_HEADER_BYTES || got < sizeof *h, ERR_INPUT,
            "%s: is truncated within the header: %llu of %d bytes", r->path,
            (unsigned long long)r->file_bytes, TRACE_HEADER_BYTES);
    FAIL_IF(h->header_bytes != TRACE_HEADER_BYTES, ERR_INPUT,
            "%s: the header is damaged: it says that it has %u bytes", r->path, h->header_bytes);
    return ERR_OK;
}

static enum err reader_open(struct trace_reader *r)
{
    struct stat st;
    size_t got;
    size_t name = brief_split(r->path, &r->base);
    char *at = name ? r->path + name : r->path + strlen(r->path), was = *at;
    *at = 0;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    *at = was;
    FAIL_IF(r->fd < 0 || fstat(r->fd, &st), ERR_INPUT, "%s: cannot read: %s", r->path,
            strerror(errno));
    FAIL_IF(!S_ISREG(st.st_mode), ERR_INPUT, "%s: is not a file", r->path);
    r->file_bytes = name ? TRACE_HEADER_BYTES + TRACE_CHUNK_FIRST : (uint64_t)st.st_size;
    TRY(reader_pread(r, r->base, &r->header, sizeof r->header, &got));
    TRY(check_header(r, got));
    if (name) {
        struct trace_chunk c;
        TRY(reader_pread(r, r->base + sizeof r->header, &c, sizeof c, &got));
        FAIL_IF(got < sizeof c || c.used > TRACE_CHUNK_FIRST - sizeof c, ERR_INPUT,
                "%s: the member is damaged", r->path);
        r->members = sizeof r->header + sizeof c + c.used;
    }
    r->position = TRACE_HEADER_BYTES;
    if (r->header.file_bytes > r->file_bytes)
        r->damage.truncated_bytes = r->header.file_bytes - r->file_bytes;
    return ERR_OK;
}

enum err trace_open(const char *path, struct trace_reader **out)
{
    struct trace_reader *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r) {
        r->fd = -1;
        r->path = strdup(path);
        r->window = malloc(WINDOW_BYTES);
    }
    enum err e = r && r->path && r->window
                     ? reader_open(r)
                     : FAIL(ERR_MEMORY, "%s: no memory left to read it", path);
    if (e) {
        trace_reader_free(r);
        return e;
    }
    *out = r;
    return ERR_OK;
}

void trace_reader_free(struct trace_reader *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    sequences_free(&r->threads);
    free(r->window);
    free(r->path);
    free(r);
}

int trace_reader_is_own(const struct trace_reader *r)
{
    struct statx st;
    if (statx(r->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st))
        return 0;
    uint64_t born = st.stx_mask & STATX_BTIME
                        ? (uint64_t)st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec
                        : 0;
    return st.stx_uid == geteuid() && st.stx_ino == r->header.inode &&
           (!r->header.born_ns || born == r->header.born_ns);
}

uint64_t trace_reader_bytes(const struct trace_reader *r)
{
    return r->members ? r->members : r->file_bytes;
}

const struct trace_header *trace_reader_header(const struct trace_reader *r)
{
    return &r->header;
}

const struct trace_damage *trace_reader_damage(const struct trace_reader *r)
{
    return &r->damage;
}

uint64_t trace_reader_position(const struct trace_reader *r)
{
    return r->position < r->file_bytes ? r->position : r->file_bytes;
}

static int chunk_is_plausible(const struct trace_chunk *c)
{
    return c->magic == TRACE_CHUNK_MAGIC && c->sealed <= 1 &&
           (c->bytes == TRACE_CHUNK_FIRST || c->bytes == TRACE_CHUNK_BYTES) &&
           c->used <= c->bytes - sizeof *c && c->used % 8 == 0;
}

static int crc_fits(const struct trace_chunk *c)
{
    size_t from = offsetof(struct trace_chunk, bytes);
    return c->crc == trace_crc(0, &c->bytes, sizeof *c - from + c->used);
}

/* Room that was given to the file before its thread published a chunk there, which the magic does
 * last: some of the other fields may stand already. */
static int chunk_is_unpublished(const struct trace_chunk *c)
{
    return !c->magic && !c->crc && !c->sealed && !c->used;
}

/* Makes the chunk at r->position the current one; `bytes` of it are in the file. */
static enum err reader_enter_chunk(struct trace_reader *r, struct trace_chunk *c, size_t bytes)
{
    struct trace_damage *d = &r->damage;
    size_t used = c->used < bytes - sizeof *c ? c->used : bytes - sizeof *c;
    r->lost = 0;
    r->tid = c->tid;
    r->at = (char *)(c + 1);
    r->end = r->at + used;
    d->unsealed += !c->sealed;
    uint64_t missing = 0;
    TRY(sequences_next(&r->threads, c->tid, c->sequence, &missing));
    d->missing_chunks += missing;
    r->position += c->bytes;
    if (r->position > r->file_bytes && d->truncated_bytes < r->position - r->file_bytes)
        d->truncated_bytes = r->position - r->file_bytes;
    return ERR_OK;
}

/* Goes on to the next chunk that can be read, or to the end of the file: then *more is 0. */
static enum err reader_next_chunk(struct trace_reader *r, int *more)
{
    for (*more = 0; r->position < r->file_bytes; r->position += TRACE_PAGE) {
        char *bytes;
        size_t got;
        TRY(reader_view(r, r->position, sizeof(struct trace_chunk), &bytes, &got));
        struct trace_chunk *c = (struct trace_chunk *)bytes;
        if (got < sizeof *c || chunk_is_unpublished(c))
            continue;
        int magic = c->magic == TRACE_CHUNK_MAGIC;
        if (chunk_is_plausible(c)) {
            TRY(reader_view(r, r->position, c->bytes, &bytes, &got));
            c = (struct trace_chunk *)bytes;
            if (!c->sealed || sizeof *c + c->used > got || crc_fits(c)) {
                *more = 1;
                return reader_enter_chunk(r, c, got);
            }
        }
        r->damage.bad_chunks += magic || !r->lost; /* other pages are the rest of a bad one */
        r->lost = 1;
    }
    return ERR_OK;
}

static const uint16_t struct_bytes[] = {
#define X(name, number, type) [number] = sizeof(struct type),
    TRACE_KIND_LIST(X)
#undef X
};

/* Fields that say how long a tail is; two of one kind follow each other. */
static const struct tail_field {
    uint16_t kind, offset, width, unit;
} lengths[] = {
#define LENGTH(kind, type, field, unit)                                                            \
    {                                                                                              \
        kind, offsetof(struct type, field), sizeof(((struct type *)0)->field), unit                \
    }
    LENGTH(TRACE_META, trace_text, bytes, 1),
    LENGTH(TRACE_STRING, trace_text, bytes, 1),
    LENGTH(TRACE_CODE, trace_code, file_bytes, 1),
    LENGTH(TRACE_CODE, trace_code, name_bytes, 1),
    LENGTH(TRACE_STACK, trace_stack, native, 8),
    LENGTH(TRACE_STACK, trace_stack, python, 16),
    LENGTH(TRACE_MODULE, trace_module, path_bytes, 1),
    LENGTH(TRACE_MODULE, trace_module, build_id_bytes, 1),
    LENGTH(TRACE_MODULE_GONE, trace_module, path_bytes, 1),
    LENGTH(TRACE_MODULE_GONE, trace_module, build_id_bytes, 1),
    LENGTH(TRACE_THREAD, trace_thread, name_bytes, 1),
    LENGTH(TRACE_PROCESS, trace_process, path_bytes, 1),
    LENGTH(TRACE_NOTE, trace_note, bytes, 1),
    LENGTH(TRACE_FAILURE, trace_failure, bytes, 1),
    LENGTH(TRACE_IO_FILE, trace_io_file, bytes, 1),
    LENGTH(TRACE_IO_MOUNT, trace_io_mount, bytes, 1),
    LENGTH(TRACE_IO_USE, trace_io_use, cells, 8),
    LENGTH(TRACE_IO_STATE, trace_io_state, n, 32),
    LENGTH(TRACE_DEVICE, trace_device, name_bytes, 1),
    LENGTH(TRACE_GPU_SAMPLES, trace_gpu_samples, stalls, sizeof(struct trace_stall_count)),
#undef LENGTH
};

/* The length of the tail that the record names (`room` where its kind names none). A cut record
 * names what it would have been: its fields are lowered to what is there. 0: they do not fit. */
static int tail_length(struct trace_record *record, size_t room, size_t *tail_bytes)
{
    size_t sum = 0, named = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct tail_field *l = &lengths[i];
        if (l->kind != record->kind)
            continue;
        char *field = (char *)record + l->offset;
        uint32_t count = 0;
        memcpy(&count, field, l->width); /* little-endian */
        size_t fits = (room - sum) / l->unit;
        if (count > fits && !(record->flags & TRACE_CUT))
            return 0;
        if (count > fits) {
            count = (uint32_t)fits;
            memcpy(field, &count, l->width);
        }
        sum += (size_t)count * l->unit;
        named = 1;
    }
    *tail_bytes = named ? sum : room;
    return 1;
}

enum err trace_next(struct trace_reader *r, struct trace_item *item, int *more)
{
    for (;;) {
        *more = 1;
        while (r->at == r->end) {
            TRY(reader_next_chunk(r, more));
            if (!*more)
                return ERR_OK;
        }
        struct trace_record *record = (struct trace_record *)r->at;
        size_t left = (size_t)(r->end - r->at), bytes = 0;
        if (left >= sizeof *record)
            bytes = (size_t)record->words * 8;
        if (bytes < sizeof *record || bytes > left) {
            r->damage.torn_records++;
            r->at = r->end;
            continue;
        }
        r->at += bytes;
        size_t kinds = sizeof struct_bytes / sizeof *struct_bytes;
        size_t fixed = record->kind < kinds ? struct_bytes[record->kind] : 0;
        if (!fixed) {
            r->damage.unknown_records++;
        } else if (bytes < fixed || !tail_length(record, bytes - fixed, &item->tail_bytes)) {
            r->damage.torn_records++;
        } else {
            item->record = record;
            item->tail = (char *)record + fixed;
            item->tid = r->tid;
            return ERR_OK;
        }
    }
}
