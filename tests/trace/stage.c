#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analyze/symbols/symbols.h"
#include "profiler/findings/findings.h"
#include "tests/trace/stage.h"

char stage_folder[64];

/* ---- symbols ---- */

struct symbols {
    char text[4096][16];
    int used;
};

enum err symbols_create(struct symbols **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? ERR_OK : ERR_MEMORY;
}

void symbols_free(struct symbols *s)
{
    free(s);
}

enum err symbols_module(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                        uint64_t end, uint64_t bias, const char *path, const void *build_id,
                        int build_id_bytes)
{
    (void)s, (void)pid, (void)time_ns, (void)start, (void)end, (void)bias;
    (void)path, (void)build_id, (void)build_id_bytes;
    return ERR_OK;
}

enum err symbols_module_gone(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t start,
                             uint64_t end)
{
    (void)s, (void)pid, (void)time_ns, (void)start, (void)end;
    return ERR_OK;
}

enum err symbols_jit_map(struct symbols *s, int32_t pid, const char *text, size_t bytes,
                         const struct jit_mark *marks, size_t count)
{
    (void)s, (void)pid, (void)text, (void)bytes, (void)marks, (void)count;
    return ERR_OK;
}

enum err symbols_jit_dump(struct symbols *s, int32_t pid, const void *bytes, size_t n,
                          uint32_t real_pid)
{
    (void)s, (void)pid, (void)bytes, (void)n, (void)real_pid;
    return ERR_OK;
}

enum err symbols_jit_code(struct symbols *s, int32_t pid, uint64_t from_ns, uint64_t until_ns,
                          const char *file, uint64_t offset, uint64_t n)
{
    (void)s, (void)pid, (void)from_ns, (void)until_ns, (void)file, (void)offset, (void)n;
    return ERR_OK;
}

struct symbols_quality symbols_quality(const struct symbols *s)
{
    (void)s;
    return (struct symbols_quality){0};
}

static const char *function_at(struct symbols *s, int line)
{
    char text[16];
    snprintf(text, sizeof text, "f%d", line / 100);
    for (int i = 0; i < s->used; i++)
        if (!strcmp(s->text[i], text))
            return s->text[i];
    return s->used < 4096 ? strcpy(s->text[s->used++], text) : NULL;
}

int symbols_at(struct symbols *s, int32_t pid, uint64_t time_ns, uint64_t address, int exact,
               struct symbol_frame *out, int max)
{
    (void)pid, (void)time_ns, (void)exact;
    int line = (int)(address & 0x7fffffff);
    if (max < 2)
        return 0;
    switch (address >> 32) {
    case APP:
        out[0] = (struct symbol_frame){
            function_at(s, line), "/src/app.c", "/bin/app", line, line / 100 * 100, 0};
        return 1;
    case LIBC:
        out[0] = (struct symbol_frame){"memcpy", NULL, "/lib/libc.so.6", 0, 0, 0};
        return 1;
    case EVAL:
        out[0] =
            (struct symbol_frame){"_PyEval_EvalFrameDefault", NULL, "/usr/bin/python3.11", 0, 0, 0};
        return 1;
    case PYTHON_C:
        out[0] = (struct symbol_frame){"PyObject_Call", NULL, "/usr/bin/python3.11", 0, 0, 0};
        return 1;
    case NATIVE_LIB:
        out[0] = (struct symbol_frame){"dot", NULL, "/x/site-packages/numpy/_core.so", 0, 0, 0};
        return 1;
    case INLINED:
        out[0] = (struct symbol_frame){"inner", "/src/app.c", "/bin/app", line, 1, 1};
        out[1] = (struct symbol_frame){"outer", "/src/app.c", "/bin/app", 7, 5, 0};
        return 2;
    case HEADER:
        out[0] = (struct symbol_frame){
            "push_back", "/usr/include/c++/12/vector", "/bin/app", line, 1, 0};
        return 1;
    default:
        out[0] = (struct symbol_frame){NULL, NULL, "[unknown]", 0, 0, 0};
        return 1;
    }
}

/* ---- folders ---- */

void stage_start(void)
{
    char path[80];
    strcpy(stage_folder, "/tmp/stage.XXXXXX");
    if (!mkdtemp(stage_folder))
        abort();
    snprintf(path, sizeof path, "%s/trace", stage_folder);
    if (mkdir(path, 0700))
        abort();
}

void stage_end(void)
{
    char path[400];
    snprintf(path, sizeof path, "%s/trace", stage_folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/trace/%.255s", stage_folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    snprintf(path, sizeof path, "%s/trace", stage_folder);
    rmdir(path);
    rmdir(stage_folder);
}

struct model *stage_model(const struct analyze_options *options)
{
    static int number;
    struct model *m = NULL;
    if (findings_of_run(stage_folder, options, NULL, NULL, &m) != ERR_OK) {
        fprintf(stderr, "analysis: %s (%s)\n", err_text(), err_where());
        abort();
    }
    const char *folder = getenv("TP_PROFILES");
    if (folder) {
        char path[400];
        snprintf(path, sizeof path, "%.300s/%d-%d.json", folder, (int)getpid(), number++);
        if (profile_write(m, path) != ERR_OK)
            abort();
    }
    return m;
}

/* ---- writing ---- */

void stage_open(struct stage *st, int pid, uint64_t start)
{
    static const uint8_t run[16] = {1};
    char path[80];
    memset(st, 0, sizeof *st);
    snprintf(path, sizeof path, "%s/trace", stage_folder);
    if (trace_create(&st->w, path, run, 0))
        abort();
    st->w.header->pid = pid;
    st->w.header->parent = 1;
    st->w.header->start_ns = start;
    stage_thread(st, (uint32_t)pid, "main", 1);
}

int stage_thread(struct stage *st, uint32_t tid, const char *name, uint32_t flags)
{
    int i = st->threads++;
    trace_stream_open(&st->s[i], &st->w, tid);
    struct trace_thread t = {.r = {.kind = TRACE_THREAD, .time_ns = st->w.header->start_ns},
                             .tid = tid,
                             .name_bytes = (uint32_t)strlen(name),
                             .flags = flags};
    trace_put(&st->s[i], &t.r, sizeof t, name, strlen(name));
    return i;
}

void stage_close(struct stage *st, enum trace_end end, int detail)
{
    for (int i = 0; i < st->threads; i++)
        trace_stream_close(&st->s[i]);
    trace_finish(&st->w, end, detail);
    if (st->w.header->end_ns)
        st->w.header->end_ns = st->end ? st->end : T0 + 10000 * MS;
    trace_abandon(&st->w);
}

void stage_meta(struct stage *st, const char *key, const char *value)
{
    struct trace_text t = {.r = {.kind = TRACE_META, .time_ns = T0}};
    char text[400];
    t.bytes = (uint32_t)snprintf(text, sizeof text, "%s%c%s", key, 0, value);
    trace_put(&st->s[0], &t.r, sizeof t, text, t.bytes);
}

uint64_t stage_text(struct stage *st, const char *text)
{
    struct trace_text t = {.r = {.kind = TRACE_STRING, .time_ns = T0},
                           .id = trace_hash(text, strlen(text), 1),
                           .bytes = (uint32_t)strlen(text)};
    trace_put(&st->s[0], &t.r, sizeof t, text, strlen(text));
    return t.id;
}

uint64_t stage_code(struct stage *st, const char *file, const char *name, int line)
{
    struct trace_code c = {.r = {.kind = TRACE_CODE, .time_ns = T0},
                           .id = trace_hash(name, strlen(name), trace_hash(file, strlen(file), 2)),
                           .first_line = line,
                           .file_bytes = (uint16_t)strlen(file),
                           .name_bytes = (uint16_t)strlen(name)};
    trace_put2(&st->s[0], &c.r, sizeof c, file, strlen(file), name, strlen(name));
    return c.id;
}

uint64_t stage_stack(struct stage *st, const uint64_t *words, int native, int python)
{
    size_t bytes = ((size_t)native + 2 * (size_t)python) * 8;
    struct trace_stack s = {.r = {.kind = TRACE_STACK, .time_ns = T0},
                            .id = trace_hash(words, bytes, 3),
                            .native = (uint16_t)native,
                            .python = (uint16_t)python,
                            .flags = TRACE_STACK_EXACT};
    for (int i = 0; i < native + 2 * python; i++)
        s.flags |= words[i] & TRACE_LEFT_OUT ? TRACE_STACK_DEEP : 0;
    trace_put(&st->s[0], &s.r, sizeof s, words, bytes);
    return s.id;
}

uint64_t stage_at(struct stage *st, uint64_t address)
{
    return stage_stack(st, &address, 1, 0);
}

void stage_sample(struct stage *st, int thread, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                  int mode)
{
    struct trace_sample s = {.r = {.kind = TRACE_SAMPLE, .time_ns = T0 + ms * MS},
                             .stack = stack,
                             .weight_ns = weight_ms * MS,
                             .tid = st->s[thread].tid,
                             .mode = (uint32_t)mode};
    stage_put(st, thread, &s);
}

void stage_wait_in(struct stage *st, uint32_t tid, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                   int state, int syscall)
{
    struct trace_wait w = {.r = {.kind = TRACE_WAIT, .time_ns = T0 + ms * MS},
                           .stack = stack,
                           .weight_ns = weight_ms * MS,
                           .tid = tid,
                           .state = (int16_t)state,
                           .syscall = (int16_t)syscall};
    stage_put(st, 0, &w);
}

void stage_wait(struct stage *st, uint32_t tid, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                int state)
{
    stage_wait_in(st, tid, ms, stack, weight_ms, state, -1);
}

void stage_alloc(struct stage *st, int thread, uint64_t ms, uint64_t stack, uint64_t address,
                 uint64_t bytes, double weight)
{
    struct trace_alloc a = {.r = {.kind = TRACE_ALLOC, .time_ns = T0 + ms * MS},
                            .address = address,
                            .bytes = bytes,
                            .stack = stack,
                            .weight = weight,
                            .tid = st->s[thread].tid};
    stage_put(st, thread, &a);
}

void stage_free(struct stage *st, int thread, uint64_t ms, uint64_t address)
{
    struct trace_free f = {.r = {.kind = TRACE_FREE, .time_ns = T0 + ms * MS},
                           .address = address,
                           .tid = st->s[thread].tid};
    stage_put(st, thread, &f);
}

void stage_api(struct stage *st, int thread, uint64_t from_ms, uint64_t to_ms, uint64_t stack,
               const char *name, enum trace_api_class api_class, uint32_t correlation)
{
    struct trace_api a = {.r = {.kind = TRACE_API, .time_ns = T0 + to_ms * MS},
                          .start_ns = T0 + from_ms * MS,
                          .end_ns = T0 + to_ms * MS,
                          .stack = stack,
                          .name = stage_text(st, name),
                          .tid = st->s[thread].tid,
                          .api_class = api_class,
                          .correlations = correlation != 0,
                          .correlation = {correlation}};
    stage_put(st, thread, &a);
}

struct trace_kernel stage_kernel(struct stage *st, uint64_t from_ms, uint64_t to_ms,
                                 const char *name, uint32_t correlation)
{
    return (struct trace_kernel){.r = {.kind = TRACE_KERNEL, .time_ns = T0 + to_ms * MS},
                                 .start = T0 + from_ms * MS,
                                 .end = T0 + to_ms * MS,
                                 .name = stage_text(st, name),
                                 .correlation = correlation,
                                 .grid = {1024, 1, 1},
                                 .block = {256, 1, 1},
                                 .cluster = {1, 1, 1},
                                 .registers = 32,
                                 .stream = 7,
                                 .context = 1};
}

struct trace_gpu_copy stage_copy(uint64_t from_ms, uint64_t to_ms, enum trace_copy_kind kind,
                                 uint64_t bytes, uint32_t correlation)
{
    return (struct trace_gpu_copy){.r = {.kind = TRACE_GPU_COPY, .time_ns = T0 + to_ms * MS},
                                   .start = T0 + from_ms * MS,
                                   .end = T0 + to_ms * MS,
                                   .bytes = bytes,
                                   .correlation = correlation,
                                   .stream = 7,
                                   .context = 1,
                                   .kind = kind,
                                   .from = TRACE_MEMORY_PAGEABLE,
                                   .to = TRACE_MEMORY_DEVICE};
}

void stage_device(struct stage *st, uint32_t id, uint8_t uuid)
{
    struct trace_device d = {.r = {.kind = TRACE_DEVICE, .time_ns = T0},
                             .memory_bytes = 8ull << 30,
                             .id = id,
                             .major = 8,
                             .minor = 9,
                             .multiprocessors = 128,
                             .threads_per_sm = 1536,
                             .blocks_per_sm = 24,
                             .registers_per_sm = 65536,
                             .shared_per_sm = 102400,
                             .warp = 32,
                             .name_bytes = 8,
                             .uuid = {uuid}};
    trace_put(&st->s[0], &d.r, sizeof d, "Made GPU", 8);
}

void stage_range(struct stage *st, int thread, uint64_t ms, enum trace_range_op op,
                 const char *name, uint64_t handle)
{
    struct trace_range r = {.r = {.kind = TRACE_RANGE, .time_ns = T0 + ms * MS},
                            .message = name ? stage_text(st, name) : 0,
                            .handle = handle,
                            .op = op,
                            .tid = st->s[thread].tid};
    stage_put(st, thread, &r);
}

/* ---- reading ---- */

static const struct model_file *file_of(const struct model *m, const char *path)
{
    for (int i = 0; i < m->files_count; i++)
        if (!strcmp(m->files[i].path, path))
            return &m->files[i];
    return NULL;
}

const struct model_line *stage_line(const struct model *m, const char *path, int line)
{
    const struct model_file *f = file_of(m, path);
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line == line)
            return &f->lines[i];
    return NULL;
}

const struct model_function *stage_function(const struct model *m, const char *path,
                                            const char *name)
{
    const struct model_file *f = file_of(m, path);
    for (int i = 0; f && i < f->functions_count; i++)
        if (!strcmp(f->functions[i].name, name))
            return &f->functions[i];
    return NULL;
}

const struct model_item *stage_item(const struct model *m, const char *id)
{
    for (int i = 0; i < m->quality.items_count; i++)
        if (!strcmp(m->quality.items[i].id, id))
            return &m->quality.items[i];
    return NULL;
}

/* The threads' times of a line add up to the line. */
static int threads_add_up(const struct model_line *l)
{
    double cpu = 0, incl = 0, wait = 0, gpu = 0;
    for (int i = 0; i < l->threads_count; i++) {
        cpu += l->threads[i].cpu_s;
        incl += l->threads[i].cpu_incl_s;
        wait += l->threads[i].wait_s;
        gpu += l->threads[i].gpu_s;
    }
    return !(fabs(cpu - l->cpu.user - l->cpu.sys) > 1e-9 ||
             fabs(incl - l->cpu_incl.user - l->cpu_incl.sys) > 1e-9 ||
             fabs(wait - l->cpu.wait) > 1e-9 || fabs(gpu - l->gpu_self_s) > 1e-9);
}

int stage_lawful(const struct model *m)
{
    int ok = 1;
    for (int i = 0; i < m->files_count; i++)
        for (int k = 0; k < m->files[i].lines_count; k++)
            if (!threads_add_up(&m->files[i].lines[k])) {
                fprintf(stderr, "%s:%" PRId64 ": its threads do not add up to it\n",
                        m->files[i].path, m->files[i].lines[k].line);
                ok = 0;
            }
    for (int i = 0; i < m->stacks_count; i++)
        if (m->stacks[i].parent < 0 && m->frames[m->stacks[i].frame].thread < 0) {
            fprintf(stderr, "stack %d: its root is not a thread\n", i);
            ok = 0;
        }
    for (int i = 0; i < m->quality.checks_count; i++) {
        const struct model_check *c = &m->quality.checks[i];
        if (!c->ok)
            fprintf(stderr, "%s: %.17g, found %.17g\n", c->id, c->expected, c->found);
        ok &= c->ok;
    }
    return ok;
}
