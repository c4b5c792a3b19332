/* The table of ELF images, kept up to date with the loader, and their MODULE records. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture/core/unwind/later.h"
#include "profiler/capture/core/unwind/modules.h"
#include "profiler/capture/raw/one_thread.h"
#include "profiler/capture/raw/safe_read.h"
#include "profiler/capture/raw/system.h"

enum { MODULES = 4096, FIRST_MODULES = 1024, PATH_BYTES = 4096, NOTE_BYTES = 4096 };

struct module_entry {
    struct module m;
    uint64_t name; /* hash */
};
/* Sorted by start. Two of them: `current` is what readers use, the other is filled. A reader checks
 * `generation` again after it has read. */
struct module_table {
    size_t n;
    struct module_entry entry[MODULES];
};
static struct module_table *tables[2];
static _Atomic(struct module_table *) current;
static atomic_uint generation, unloads;
static atomic_flag held = ATOMIC_FLAG_INIT;
static unsigned long long seen_adds, seen_subs;
struct module modules_own;

/* The images of the start, which stay. While the library's own thread keeps its hands off the
 * loader's lock (one_thread.h), it follows from the last one those that come later (later.h). */
static struct dl_phdr_info first[FIRST_MODULES];
static size_t first_count;
static const struct link_map *last_of_first;
volatile int modules_outside;

uint32_t modules_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

uint32_t modules_unloads(void)
{
    return atomic_load_explicit(&unloads, memory_order_relaxed);
}

static const struct module_entry *modules_search(const struct module_table *t, uintptr_t address)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->entry[middle].m.start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || address >= t->entry[low - 1].m.end)
        return NULL;
    return &t->entry[low - 1];
}

const char *modules_name_at(uintptr_t address)
{
    static void *next;
    int (*find)(void *, struct found_object *) =
        (int (*)(void *, struct found_object *))raw_next(&next, "_dl_find_object");
    struct found_object o;
    return find && !find((void *)address, &o) && o.map ? o.map->l_name : NULL;
}

int modules_find(uintptr_t address, struct module *m)
{
    if (later_find_object) {
        struct found_object o;
        if (later_find_object((void *)address, &o) != 0)
            return 0;
        m->start = (uintptr_t)o.start;
        m->end = (uintptr_t)o.end;
        m->bias = o.map ? o.map->l_addr : 0;
        m->eh_frame_hdr = (uintptr_t)o.eh_frame_hdr;
        return 1;
    }
    for (int attempt = 0; attempt < 3; attempt++) {
        uint32_t before = atomic_load(&generation);
        const struct module_table *t = atomic_load(&current);
        const struct module_entry *e = t ? modules_search(t, address) : NULL;
        if (e)
            *m = e->m;
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load(&generation) == before)
            return e != NULL;
    }
    return 0;
}

static int modules_read_spans(const struct dl_phdr_info *info, struct module *m)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    m->eh_frame_hdr = 0;
    m->bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            m->eh_frame_hdr = start;
        if (p->p_type != PT_LOAD)
            continue;
        if (start < low)
            low = start;
        if (start + p->p_memsz > high)
            high = start + p->p_memsz;
    }
    m->start = low;
    m->end = high;
    return low < high;
}

/* The GNU build id lies in a note segment that is mapped with the rest. */
static const uint8_t *build_id(const struct dl_phdr_info *info, size_t *bytes)
{
    static uint8_t notes[NOTE_BYTES]; /* under `held` */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_NOTE)
            continue;
        const size_t most = p->p_memsz < sizeof notes ? p->p_memsz : sizeof notes;
        if (!image_read(info->dlpi_addr + p->p_vaddr, notes, most))
            continue;
        const uint8_t *at = notes, *end = notes + most;
        size_t align = p->p_align == 8 ? 8 : 4;
        while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) n;
            memcpy(&n, at, sizeof n);
            size_t name = (n.n_namesz + align - 1) / align * align;
            size_t text = (n.n_descsz + align - 1) / align * align;
            if (name > (size_t)(end - at) - sizeof n || text > (size_t)(end - at) - sizeof n - name)
                break;
            if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
                !memcmp(at + sizeof n, ELF_NOTE_GNU, 4) && n.n_descsz <= 64) {
                *bytes = n.n_descsz;
                return at + sizeof n + name;
            }
            at += sizeof n + name + text;
        }
    }
    *bytes = 0;
    return NULL;
}

/* Absolute where it can be made so: analysis runs in another folder. */
static size_t full_path(const char *name, char path[PATH_BYTES])
{
    size_t n = 0;
    if (!*name) { /* read once: the child of a fork has the same */
        static char program[PATH_BYTES];
        static size_t program_bytes;
        ssize_t length =
            program_bytes ? 0 : readlink("/proc/self/exe", program, sizeof program - 1);
        program_bytes += length > 0 ? (size_t)length : 0;
        memcpy(path, program, program_bytes);
        return program_bytes;
    }
    if (!strncmp(name, "linux-vdso.", 11) || !strncmp(name, "linux-gate.", 11))
        name = "[vdso]";
    else if (*name != '/' && getcwd(path, PATH_BYTES / 2)) {
        n = strlen(path);
        path[n++] = '/';
    }
    size_t more = strnlen(name, PATH_BYTES - n);
    memcpy(path + n, name, more);
    return n + more;
}

static void write_module(struct trace_stream *stream, const struct dl_phdr_info *info,
                         const struct module *m)
{
    static char path[PATH_BYTES]; /* under `held` */
    size_t path_bytes = full_path(info->dlpi_name, path), id_bytes;
    const uint8_t *id = build_id(info, &id_bytes);
    struct trace_module record = {.r.kind = TRACE_MODULE,
                                  .start = m->start,
                                  .end = m->end,
                                  .bias = m->bias,
                                  .path_bytes = (uint16_t)path_bytes,
                                  .build_id_bytes = (uint16_t)id_bytes};
    trace_put2(stream, &record.r, sizeof record, path, path_bytes, id, id_bytes);
}

static int modules_equal(const struct module_entry *a, const struct module_entry *b)
{
    return a->m.start == b->m.start && a->m.end == b->m.end && a->name == b->name;
}

struct module_refresh {
    struct trace_stream *stream;
    const struct module_table *old;
    struct module_table *new;
    int unchanged, is_later; /* is_later: without the loader's lock, which has counters */
    size_t images, of_first;
};

static int modules_visit(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct module_refresh *r = context;
    (void)bytes;
    if (!r->images && !r->is_later) {
        if (r->old && info->dlpi_adds == seen_adds && info->dlpi_subs == seen_subs) {
            r->unchanged = 1;
            return 1;
        }
        seen_adds = info->dlpi_adds;
        seen_subs = info->dlpi_subs;
    }
    struct module_entry e = {.name = trace_hash(info->dlpi_name, strlen(info->dlpi_name), 1)};
    if (!last_of_first && first_count < FIRST_MODULES)
        first[first_count++] = *info;
    r->of_first += r->images < first_count && first[r->images].dlpi_phdr == info->dlpi_phdr;
    r->images++;
    if (!modules_read_spans(info, &e.m) || r->new->n == MODULES)
        return 0;
    size_t at = r->new->n++;
    for (; at && r->new->entry[at - 1].m.start > e.m.start; at--)
        r->new->entry[at] = r->new->entry[at - 1];
    r->new->entry[at] = e;
    uintptr_t here = (uintptr_t)modules_visit;
    if (e.m.start <= here && here < e.m.end)
        modules_own = e.m;
    const struct module_entry *known = r->old ? modules_search(r->old, e.m.start) : NULL;
    if (r->stream && !(known && modules_equal(known, &e)))
        write_module(r->stream, info, &e.m);
    return 0;
}

/* With the time before those that came were found: one of them may be at the same place. */
static int write_gone(struct trace_stream *stream, const struct module_table *old,
                      const struct module_table *new, uint64_t time_ns)
{
    int gone = 0;
    for (size_t i = 0; i < old->n; i++) {
        const struct module_entry *e = &old->entry[i], *now = modules_search(new, e->m.start);
        if (now && modules_equal(now, e))
            continue;
        gone = 1;
        if (!stream)
            continue;
        struct trace_module record = {.r = {.kind = TRACE_MODULE_GONE, .time_ns = time_ns},
                                      .start = e->m.start,
                                      .end = e->m.end,
                                      .bias = e->m.bias};
        trace_put(stream, &record.r, sizeof record, NULL, 0);
    }
    return gone;
}

static void note_last(void)
{
    struct found_object o;
    if (last_of_first || !later_find_object ||
        later_find_object((void *)(uintptr_t)note_last, &o) || !o.map)
        return;
    for (last_of_first = o.map; last_of_first->l_next;)
        last_of_first = last_of_first->l_next;
}

int modules_may_lock(void)
{
    return !one_thread_hands_off();
}

int modules_are_whole(void)
{
    const struct link_map *next;
    if (!one_thread_hands_off() ||
        (last_of_first && !later_count() &&
         safe_read((uintptr_t)&last_of_first->l_next, &next, sizeof next) && !next))
        return 1;
    one_thread_end();
    return 0;
}

int modules_each(int (*visit_one)(struct dl_phdr_info *, size_t, void *), void *context)
{
    int r = 0;
    if (!one_thread_hands_off())
        return dl_iterate_phdr(visit_one, context);
    for (size_t i = 0; i < first_count && !r; i++)
        r = visit_one(&first[i], sizeof first[i], context);
    for (size_t i = 0; i < later_count() && !r; i++)
        r = visit_one(later_info(i), sizeof *later_info(i), context);
    return r;
}

/* 1: images came or went since, as far as the caller can tell; the loader's counters tell it under
 * its lock. */
static int modules_may_differ(int is_later)
{
    if (!is_later)
        return 1;
    const int changed =
        last_of_first && first_count < FIRST_MODULES ? later_follow(last_of_first) : -1;
    if (changed < 0)
        one_thread_end();
    return changed > 0;
}

static int modules_rebuild(struct trace_stream *stream, const struct module_table *old)
{
    const int is_later = one_thread_hands_off();
    if (!modules_may_differ(is_later))
        return 0;
    struct module_table *now = atomic_load(&current);
    struct module_refresh r = {.stream = stream,
                               .old = old,
                               .new = now == tables[0] ? tables[1] : tables[0],
                               .is_later = is_later};
    uint64_t begin = trace_now();
    r.new->n = 0;
    modules_each(modules_visit, &r);
    note_last();
    if (!r.unchanged && r.of_first < first_count)
        one_thread_end(); /* one went, and is not to be read any longer */
    if (r.unchanged)
        return 0;
    if (!is_later) /* what went and came again since would not be told anew */
        later_forget();
    int gone = old && write_gone(stream, old, r.new, begin);
    atomic_store(&current, r.new);
    atomic_fetch_add(&generation, 1);
    if (gone)
        atomic_fetch_add(&unloads, 1);
    return 1;
}

static int modules_make_tables(void)
{
    struct module_table *both = raw_map(2 * sizeof *both, 0);
    if (!both)
        return 0;
    tables[0] = &both[0];
    tables[1] = &both[1];
    return 1;
}

int modules_set(const struct module *list, size_t n, int unloaded)
{
    if (!tables[0] && !modules_make_tables())
        return 0;
    struct module_table *now = atomic_load(&current),
                        *next = now == tables[0] ? tables[1] : tables[0];
    next->n = n < MODULES ? n : MODULES;
    for (size_t i = 0; i < next->n; i++)
        next->entry[i].m = list[i];
    atomic_store(&current, next);
    atomic_fetch_add(&generation, 1);
    if (unloaded)
        atomic_fetch_add(&unloads, 1);
    return 1;
}

int modules_start(size_t *bytes)
{
    if (!modules_make_tables())
        return ENOMEM;
    *bytes += 2 * sizeof *tables[0];
    *(void **)&later_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    return 0;
}

int modules_refresh(struct trace_stream *stream)
{
    if (!tables[0] || atomic_flag_test_and_set(&held))
        return 0;
    int changed = modules_rebuild(stream, atomic_load(&current));
    atomic_flag_clear(&held);
    return changed;
}

/* The library's own thread may be at it, and wait for the loader until the caller goes on. */
void modules_refresh_now(struct trace_stream *stream)
{
    for (int i = 0; tables[0] && i < 20; i++, raw_sleep(100000))
        if (!atomic_flag_test_and_set(&held)) {
            (void)modules_rebuild(stream, atomic_load(&current));
            atomic_flag_clear(&held);
            return;
        }
}

void modules_forked(struct trace_stream *stream)
{
    if (tables[0])
        (void)modules_rebuild(stream, NULL);
}

void modules_hold(void)
{
    /* At most 0.1 s: a program that forks from inside dl_iterate_phdr would wait for ever. */
    for (int i = 0; i < 1000 && atomic_flag_test_and_set(&held); i++)
        raw_sleep(100000);
}

void modules_release(void)
{
    atomic_flag_clear(&held);
}
