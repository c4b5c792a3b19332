/* Resolves one stack: symbols for native frames, and the recorded Python frames in the place of
 * the interpreter's loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/symbols/demangle.h"

enum { INLINED_MAX = 32 };

/* Native frames from the leaf to the root; a frame of the interpreter's loop is replaced by the
 * Python frames that ran in it: one in 3.9 and 3.10, since 3.11 all up to the one that entered. */
struct stack_resolver {
    struct image *im;
    const struct stack *stack;
    const uint64_t *python; /* pairs */
    int python_at;
    struct resolved *out;
    int count, max;
    /* Loops and entries are matched from the root's end where frames are left out. */
    int gap_ahead, gap_shown, loops_left, entries_left;
    int no_line;      /* a Python frame's could not be read */
    int core;         /* of the innermost code: 0 nothing yet, 1 interpreter, 2 other */
    const char *stub; /* nvcc's host stub that was passed last, its kernel's host side not yet */
};

static enum owner owner_of(struct image *im, const struct resolved *f)
{
    uint64_t key = table_mix((uintptr_t)f->file + (uint64_t)(f->python != 0), (uintptr_t)f->module);
    key = table_mix(key, (uintptr_t)f->function);
    uint32_t owner = table_get(&im->owner_of, key);
    if (owner != TABLE_NONE)
        return (enum owner)owner;
    int listed = im->program.include || im->program.exclude;
    owner = frame_owner(&im->program,
                        &(struct owner_frame){.file = f->file,
                                              .shown = listed ? path_shown(im->run, f->file) : NULL,
                                              .function = f->function,
                                              .module = f->module,
                                              .python = f->python});
    (void)table_put(&im->owner_of, key, owner); /* a cache: it may be full */
    return (enum owner)owner;
}

/* 1: the interpreter's loop. */
static int is_eval(const char *function)
{
    return function && (text_begins(function, "_PyEval_EvalFrameDefault") ||
                        text_begins(function, "_TAIL_CALL_"));
}

/* 1: code that Python makes to be seen in perf (-X perf): its frames are recorded already. */
static int is_trampoline(const char *module, const char *function)
{
    return module && function && !strcmp(module, "[jit]") && text_begins(function, "py::");
}

static void frames_emit(struct stack_resolver *sr, const struct resolved *f)
{
    if (sr->count >= sr->max)
        return;
    sr->out[sr->count++] = *f;
}

static void emit_python(struct stack_resolver *sr)
{
    struct image *im = sr->im;
    const uint64_t *pair = sr->python + 2 * (size_t)sr->python_at++;
    uint32_t index = table_get(&im->code_by_id, pair[1]);
    struct resolved f = {.python = 1, .line = (int)(pair[0] & 0x7fffffff)};
    if (index != TABLE_NONE) {
        const struct code_object *c = &im->codes.items[index];
        f.function = c->name;
        f.file = *c->file ? c->file : NULL;
        f.begins = c->first_line;
        f.line = f.line ? f.line : c->first_line;
    }
    if (pair[0] & TRACE_PYTHON_NO_LINE) {
        f.line = 0;
        f.file = NULL;
        sr->no_line = 1;
    }
    f.owner = owner_of(im, &f);
    frames_emit(sr, &f);
    sr->core = sr->core ? sr->core : 1;
}

static void emit_gap(struct stack_resolver *sr)
{
    static const char text[] = "[frames left out]";
    if (!sr->count || sr->out[sr->count - 1].function != text)
        frames_emit(sr, &(struct resolved){.function = text, .owner = OWNER_RUNTIME});
}

static int at_gap(const struct stack_resolver *sr)
{
    return sr->python_at < sr->stack->python &&
           sr->python[2 * (size_t)sr->python_at] & TRACE_LEFT_OUT;
}

static int one_each(const struct stack_resolver *sr)
{
    return sr->im->python_minor && sr->im->python_minor < 11;
}

/* The Python frames of one call into the interpreter's loop. */
static void emit_entry(struct stack_resolver *sr)
{
    if (at_gap(sr)) {
        int hidden = sr->gap_ahead || sr->loops_left >= sr->entries_left;
        if (hidden || !sr->gap_shown)
            emit_gap(sr);
        sr->gap_shown = 1;
        if (hidden)
            return;
        sr->python_at++;
    }
    while (sr->python_at < sr->stack->python) {
        uint64_t flags = sr->python[2 * (size_t)sr->python_at];
        if (at_gap(sr)) {
            emit_gap(sr);
            sr->gap_shown = 1;
            return;
        }
        emit_python(sr);
        if (one_each(sr) || (flags & TRACE_PYTHON_ENTRY))
            return;
    }
}

static int entries_from(const struct stack_resolver *sr, int at)
{
    int n = 0, last = sr->stack->python - 1;
    for (; at <= last; at++) {
        uint64_t flags = sr->python[2 * (size_t)at];
        n +=
            !(flags & TRACE_LEFT_OUT) && (one_each(sr) || flags & TRACE_PYTHON_ENTRY || at == last);
    }
    return n;
}

/* Native frames are left out here, and with them the loops of these Python frames. */
static void native_gap(struct stack_resolver *sr)
{
    sr->gap_ahead = 0;
    emit_gap(sr);
    while (sr->python_at < sr->stack->python && entries_from(sr, sr->python_at) > sr->loops_left) {
        if (at_gap(sr))
            sr->python_at++;
        emit_entry(sr);
    }
}

/* Is this the host side of the kernel whose stub is named `stub`, "_Z4spinPfi(float*, int)"? Debug
 * information without a linkage name has no parameters: then the stub holds "4spin". */
static int of_stub(const char *function, const char *stub)
{
    char part[256];
    int n = (int)strcspn(function, "<");
    if (!strchr(function, '(')) {
        snprintf(part, sizeof part, "%d%.*s", n, n, function);
        return n && strstr(stub, part) != NULL;
    }
    char *mangled = strndup(stub, strcspn(stub, "(")), *name = mangled ? demangle(mangled) : NULL;
    int same = name && !strcmp(function, name);
    free(name);
    free(mangled);
    return same;
}

/* Between kernel<<<>>>() and the runtime nvcc puts __device_stub__Z4spinPfi, with what it inlines,
 * and above it functions at the line where the kernel is defined: how many of these frames are
 * such. */
static int stub_frames(struct stack_resolver *sr, const struct symbol_frame *at, int n)
{
    static const char mark[] = "__device_stub_";
    int count = 0;
    for (int i = 0; i < n; i++) {
        const char *found = at[i].function ? strstr(at[i].function, mark) : NULL;
        int wrapper = found && strstr(at[i].function, "__wrapper__");
        if (found && !wrapper)
            sr->stub = found + strlen(mark);
        if (found || (sr->stub && at[i].function && of_stub(at[i].function, sr->stub)))
            count = i + 1;
        if (count == i + 1 && !found)
            sr->stub = NULL;
    }
    return count;
}

static void frames_native(struct stack_resolver *sr, uint64_t address, int exact)
{
    struct image *im = sr->im;
    struct symbol_frame at[INLINED_MAX];
    int n =
        symbols_at(im->run->symbols, im->index, sr->stack->time, address, exact, at, INLINED_MAX);
    if (n < 1)
        return;
    const char *module = at[n - 1].module;
    if (module && !strcmp(module, "[unknown]")) /* its MODULE record came after the stack */
        n = symbols_at(im->run->symbols, im->index, UINT64_MAX, address, exact, at, INLINED_MAX);
    module = at[n - 1].module;
    im->run->q.frames_all++;
    im->run->q.frames_unknown += !at[n - 1].function;
    if (is_trampoline(module, at[n - 1].function))
        return;
    if (is_eval(at[n - 1].function) && sr->stack->python) {
        sr->loops_left--;
        emit_entry(sr);
        return;
    }
    int interpreter = module && owner_is_interpreter(module, NULL);
    if (interpreter && sr->count && sr->stack->python)
        return; /* its C code between Python frames is of no interest */
    int stubs = stub_frames(sr, at, n);
    for (int i = 0; i < n; i++) {
        const char *begins_in = at[i].file; /* without memory they stay lines of C */
        (void)cython_source(im->run, &begins_in, &at[i].function_line);
        (void)cython_source(im->run, &at[i].file, &at[i].line);
        struct resolved f = {.function = at[i].function,
                             .file = at[i].file,
                             .module = module,
                             .line = at[i].line > 0 ? at[i].line : 0,
                             .begins = at[i].function_line > 0 ? at[i].function_line : 0,
                             .inlined = at[i].inlined};
        if (!f.line)
            f.file = NULL;
        f.owner = i < stubs ? OWNER_RUNTIME : owner_of(im, &f);
        if (f.owner != OWNER_RUNTIME && !sr->core)
            sr->core = 2;
        frames_emit(sr, &f);
    }
    if (interpreter && !sr->core)
        sr->core = 1;
}

/* Counts, in a stack that has a gap, the loops in it, and entries behind Python's gap. */
static void count_ends(struct stack_resolver *sr, const uint64_t *words)
{
    for (int i = 0; i < sr->stack->native; i++) {
        struct symbol_frame at[INLINED_MAX];
        if (words[i] & TRACE_LEFT_OUT) {
            sr->gap_ahead = 1;
            continue;
        }
        int n = symbols_at(sr->im->run->symbols, sr->im->index, sr->stack->time, words[i], 0, at,
                           INLINED_MAX);
        sr->loops_left += n > 0 && is_eval(at[n - 1].function);
    }
    while (sr->python_at < sr->stack->python && !at_gap(sr))
        sr->python_at++;
    sr->entries_left = entries_from(sr, sr->python_at);
    sr->python_at = 0;
}

int frames_of(struct image *im, uint32_t stack, struct resolved *out, int max, int *interpreter)
{
    const struct stack *s = &im->stacks.items[stack];
    *interpreter = 0;
    if (!s->known)
        return 0;
    const uint64_t *words = im->words.items + s->at;
    struct stack_resolver sr = {
        .im = im, .stack = s, .python = words + s->native, .out = out, .max = max};
    if (s->flags & TRACE_STACK_DEEP)
        count_ends(&sr, words);
    for (int i = 0; i < s->native; i++)
        if (words[i] & TRACE_LEFT_OUT)
            native_gap(&sr);
        else
            frames_native(&sr, words[i], i == 0 && (s->flags & TRACE_STACK_EXACT));
    while (sr.python_at < s->python) { /* the native part did not reach them */
        if (at_gap(&sr)) {
            emit_gap(&sr);
            sr.python_at++;
        } else {
            emit_python(&sr);
        }
    }
    *interpreter = sr.core == 1;
    im->stacks.items[stack].no_line = sr.no_line;
    return sr.count;
}

int frames_inner(struct image *im, uint32_t stack, struct resolved *out, int max)
{
    const struct stack *s = &im->stacks.items[stack];
    const uint64_t *words = im->words.items + s->at;
    int count = 0;
    for (int i = 0; s->known && s->python && i < s->native && !(words[i] & TRACE_LEFT_OUT); i++) {
        struct symbol_frame at[INLINED_MAX];
        int n = symbols_at(im->run->symbols, im->index, s->time, words[i],
                           i == 0 && (s->flags & TRACE_STACK_EXACT), at, INLINED_MAX);
        if (n > 0 && is_eval(at[n - 1].function))
            break;
        for (int k = 0; k < n && count < max; k++) {
            struct resolved f = {.function = at[k].function,
                                 .file = at[k].line > 0 ? at[k].file : NULL,
                                 .module = at[n - 1].module,
                                 .line = at[k].line,
                                 .inlined = at[k].inlined};
            f.owner = owner_of(im, &f);
            out[count++] = f;
        }
    }
    return count;
}

const struct resolved *frames_line(const struct resolved *f, int n, enum owner first)
{
    for (enum owner most = first; most < OWNER_RUNTIME; most++)
        for (int i = 0; i < n; i++)
            if (f[i].file && f[i].line > 0 && f[i].owner <= most)
                return &f[i];
    return NULL;
}

const char *frames_module(const struct resolved *f, int n)
{
    const char *runtime = NULL;
    for (int i = 0; i < n; i++) {
        if (f[i].module && f[i].owner != OWNER_RUNTIME)
            return f[i].module;
        runtime = runtime ? runtime : f[i].module;
    }
    return runtime;
}

/* Before each statement Cython writes a comment that begins with its place: "work.pyx":4. */

enum { BYTES_MAX = 128 << 20, PATH_ROOM = 4096 };

struct cython_line { /* the lines of C from `from` on; file NULL: of no source */
    int from, line;
    const char *file;
};
struct cython_file {
    VECTOR(struct cython_line) lines;
};

/* As it was written for a compiler in another folder: beside the C file where it is there. */
static const char *source_path(struct run *r, const char *c_file, const char *name, size_t n)
{
    char path[PATH_ROOM];
    const int folder = (int)(base_name(c_file) - c_file);
    for (const char *at = name; at; at = memchr(at, '/', (size_t)(name + n - at))) {
        at += *at == '/';
        int absolute = *name == '/' && at == name + 1;
        snprintf(path, sizeof path, "%.*s%.*s", absolute ? 0 : folder, c_file,
                 (int)(name + n - at) + absolute, at - absolute);
        if (!access(path, R_OK))
            return run_text(r, path);
    }
    return arena_text_n(r->m->arena, name, n);
}

static enum err cython_place(struct run *r, const char *c_file, struct cython_file *f,
                             const char *at, const char *end, int number)
{
    char *stop;
    const char *quote = memchr(at, '"', (size_t)(end - at));
    if (!quote || quote + 2 >= end || quote[1] != ':')
        return ERR_OK;
    long line = strtol(quote + 2, &stop, 10);
    if (stop != end || line <= 0 || line > 1 << 26 || quote == at)
        return ERR_OK;
    const char *file = source_path(r, c_file, at, (size_t)(quote - at));
    FAIL_IF(!file, ERR_MEMORY, "no memory for the lines of Cython");
    return vector_add(&f->lines, (struct cython_line){number, (int)line, file});
}

static enum err cython_read_file(struct run *r, const char *c_file, struct cython_file *f)
{
    static const char generated[] = "/* Generated by Cython";
    char *text;
    size_t bytes;
    if (file_read_all(c_file, BYTES_MAX, &text, &bytes) != ERR_OK)
        return ERR_OK; /* gone since: its lines stay as they are */
    enum err e = ERR_OK;
    int number = 1, is = !strncmp(text, generated, strlen(generated));
    for (char *at = text; is && *at && !e; number++) {
        char *end = at + strcspn(at, "\n"), *first = at + strspn(at, " \t");
        if (!strncmp(first, "/* \"", 4))
            e = cython_place(r, c_file, f, first + 4, end, number);
        else if (!strncmp(first, "/* ####", 7) || !strncmp(first, "/* ---", 6)) /* a section */
            e = vector_add(&f->lines, (struct cython_line){number, 0, NULL});
        at = end + (*end == '\n');
    }
    free(text);
    return e;
}

static int may_be(const char *file)
{
    const char *dot = strrchr(file, '.');
    return dot && (!strcmp(dot, ".c") || !strcmp(dot, ".cpp")) && *file == '/';
}

enum err cython_source(struct run *r, const char **file, int *line)
{
    if (!*file || *line <= 0 || !may_be(*file))
        return ERR_OK;
    uint64_t key = (uintptr_t)run_text(r, *file);
    uint32_t at = table_get(&r->cython_by_file, key);
    if (at == TABLE_NONE) {
        at = (uint32_t)r->cython.count;
        TRY(vector_add(&r->cython, (struct cython_file){0}));
        TRY(table_put(&r->cython_by_file, key, at));
        TRY(cython_read_file(r, *file, &r->cython.items[at]));
    }
    const struct cython_file *f = &r->cython.items[at];
    size_t low = ARRAY_BOUND(0, f->lines.count, i, f->lines.items[i].from <= *line);
    if (low && f->lines.items[low - 1].file) {
        *file = f->lines.items[low - 1].file;
        *line = f->lines.items[low - 1].line;
    }
    return ERR_OK;
}

void cython_free(struct run *r)
{
    for (size_t i = 0; i < r->cython.count; i++)
        vector_free(&r->cython.items[i].lines);
    vector_free(&r->cython);
    table_free(&r->cython_by_file);
}
