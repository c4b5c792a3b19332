/* Finds a stack's work by the table of work_kinds.c; what no row matches is named by its callee. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/work.h"
#include "profiler/analyze/model/codecs.h"

enum { NAME_LONGEST = 200, NO_ROW = 0xffff, CODEC = 0xfffe };

/* * is any text. */
static int glob_matches(const char *text, const char *end, const char *pattern, const char *stop)
{
    const char *star = NULL, *retry = NULL;
    while (text < end) {
        if (pattern < stop && *pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (pattern < stop && *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return 0;
        }
    }
    while (pattern < stop && *pattern == '*')
        pattern++;
    return pattern == stop;
}

static int any_matches(const char *patterns, const char *text)
{
    if (!patterns)
        return 1;
    size_t n = text ? strnlen(text, NAME_LONGEST) : 0;
    for (const char *at = patterns; text && *at;) {
        size_t k = strcspn(at, "|");
        if (glob_matches(text, text + n, at, at + k))
            return 1;
        at += k + (at[k] != 0);
    }
    return 0;
}

static int row_matches(const struct work_row *row, const struct resolved *f)
{
    return any_matches(row->module, base_name(f->module)) &&
           any_matches(row->function, f->function) && any_matches(row->file, f->file);
}

static const char *frame_codec(const struct resolved *f)
{
    const char *codec = f->function ? codec_of(f->function) : NULL;
    return codec ? codec : codec_of(base_name(f->module));
}

/* Returns the row of a frame, NO_ROW, or CODEC for a codec's library or function. */
static uint32_t frame_row(struct image *im, const struct resolved *f)
{
    uint64_t key = table_mix((uintptr_t)f->function, (uintptr_t)f->module);
    key = table_mix(key, (uintptr_t)f->file + (uint64_t)(f->python != 0));
    uint32_t row = table_get(&im->work_of, key);
    if (row != TABLE_NONE)
        return row;
    row = !f->python && frame_codec(f) ? CODEC : NO_ROW;
    for (uint32_t i = 0; i < work_rows_count && row == NO_ROW; i++)
        if (work_rows[i].python == (f->python != 0) && row_matches(&work_rows[i], f))
            row = i;
    (void)table_put(&im->work_of, key, row); /* a cache: it may be full */
    return row;
}

/* "_aligned_contig_cast_ushort_to_double": float64. */
static const char *cast_words(struct run *r, const char *function)
{
    static const char *const types[][2] = {
        {"double", "float64"}, {"float", "float32"},    {"half", "float16"},
        {"byte", "int8"},      {"ubyte", "uint8"},      {"short", "int16"},
        {"ushort", "uint16"},  {"int", "int32"},        {"uint", "uint32"},
        {"long", "int64"},     {"ulong", "uint64"},     {"longlong", "int64"},
        {"bool", "bool"},      {"cfloat", "complex64"}, {"cdouble", "complex128"}};
    const char *to = function ? strstr(function, "_to_") : NULL;
    for (size_t i = 0; to && i < sizeof types / sizeof *types; i++)
        if (!strcasecmp(to + 4, types[i][0])) {
            char text[60];
            snprintf(text, sizeof text, "converting to %s", types[i][1]);
            return run_text(r, text);
        }
    return "converting to another type";
}

static struct stack_work codec_work(struct run *r, const struct resolved *f)
{
    char text[60];
    const char *codec = frame_codec(f);
    int packs = codec_encodes(f->function),
        zlib = !strcmp(codec, "zlib") || !strcmp(codec, "deflate");
    if (!f->function) {
        snprintf(text, sizeof text, "%s (a codec)", codec);
        return (struct stack_work){"decode", run_text(r, text)};
    }
    snprintf(text, sizeof text, "%s (%s)", packs ? "compressing" : "decompressing", codec);
    return (struct stack_work){packs ? "encode" : "decode",
                               zlib && !packs ? "inflating" : run_text(r, text)};
}

static struct stack_work row_work(struct run *r, const struct resolved *f, uint32_t row)
{
    if (row == CODEC)
        return codec_work(r, f);
    const struct work_row *w = &work_rows[row];
    return (struct stack_work){w->kind, w->words ? w->words : cast_words(r, f->function)};
}

struct work_search {
    struct stack_work work; /* kind NULL: none yet */
    int strong, own;        /* own: own code begins here */
};

/* Tells whether the next frame may say more: a stripped codec exports inflate() and deflate(). */
static int is_unnamed_part(const struct resolved *f, int left)
{
    return !f->function && f->module && left > 1 && f[1].module && !strcmp(f->module, f[1].module);
}

/* 1: the first code further out that is not the interpreter's is compiled code of a package. NumPy ends
 * the unpacking of an array with an exception that no Python code sees. */
static int serves_compiled(const struct resolved *f, int n)
{
    int i = 1;
    while (i < n && !f[i].python && f[i].owner == OWNER_RUNTIME)
        i++;
    return i < n && !f[i].python && f[i].owner != OWNER_OWN;
}

/* Finds the innermost strong row, else the innermost weak one. */
static void search_frames(struct image *im, const struct resolved *f, int n, struct work_search *to)
{
    for (int i = 0; i < n && !to->own && !to->strong; i++) {
        to->own = f[i].owner == OWNER_OWN;
        uint32_t row = to->own ? NO_ROW : frame_row(im, &f[i]);
        const int kind = row < work_rows_count ? work_rows[row].weak : 0;
        const int serves = kind == WORK_INTERPRETER && serves_compiled(&f[i], n - i);
        if (serves) /* what it did inside is a part of the caller too */
            to->work.kind = NULL;
        row = kind == WORK_CALLEE || serves ? NO_ROW : row;
        if (row == CODEC && is_unnamed_part(&f[i], n - i))
            continue;
        to->strong = row != NO_ROW && (row == CODEC || kind != WORK_WEAK);
        if (to->strong || (row != NO_ROW && !to->work.kind))
            to->work = row_work(im->run, &f[i], row);
    }
}

/* scipy/ndimage/_filters.py: "scipy.ndimage"; what is not public goes, and what only repeats the
 * package: SimpleITK/SimpleITK.py. */
static void module_of_file(const char *file, char *out, size_t room)
{
    const char *at = strstr(file, "-packages/"), *slash = strstr(file, "/lib/python3");
    at = at ? at + strlen("-packages/") : slash ? strchr(slash + strlen("/lib/"), '/') : NULL;
    at = at ? at + (*at == '/') : base_name(file);
    size_t n = 0, before = 0;
    *out = 0;
    while (*at) {
        size_t k = strcspn(at, "/");
        int last = !at[k];
        k -= last && k > 3 && !strncmp(at + k - 3, ".py", 3) ? 3 : 0;
        const int again = last && k && k == before && !strncmp(out + n - k, at, k);
        before = k;
        if (*at != '_' && !again && n + k + 2 < room)
            n += (size_t)snprintf(out + n, room - n, "%s%.*s", n ? "." : "", (int)k, at);
        at += strcspn(at, "/");
        at += *at == '/';
    }
}

/* Returns the length of "operator()", "operator<" or "operator bool", which stands at `at`. */
static int operator_length(const char *at)
{
    size_t k = strlen("operator");
    k += at[k] == '('   ? 2
         : at[k] == ' ' ? strcspn(at + k, "(")
                        : strspn(at + k, "<>=!+-*/%^&|~[],");
    return (int)k;
}

static int is_operator(const char *name, const char *at)
{
    const char next = text_begins(at, "operator") ? at[strlen("operator")] : 'a';
    return next && strchr("(<>=!+-*/%^&|~[, ", next) &&
           (at == name || at[-1] == ':' || at[-1] == ' ');
}

/* "void ns::f<int>(double*)": "ns::f"; "main::{lambda(int)#1}::operator()(int) const": "main::lambda". */
static void function_plain(const char *name, char *out, size_t room)
{
    static const char anonymous[] = "(anonymous namespace)::", lambda[] = "{lambda(";
    size_t n = 0;
    int depth = 0;
    for (const char *at = name; *at && n + 1 < room; at++) {
        if (text_begins(at, anonymous)) {
            at += strlen(anonymous) - 1;
            continue;
        }
        if (!depth && text_begins(at, lambda) && strchr(at, '}')) {
            n += (size_t)snprintf(out + n, room - n, "lambda");
            break;
        }
        if (!depth && is_operator(name, at)) {
            n += (size_t)snprintf(out + n, room - n, "%.*s", operator_length(at), at);
            break;
        }
        depth += *at == '<';
        if (!depth && *at == '(')
            break;
        if (!depth && *at == ' ')
            n = 0;
        else if (!depth)
            out[n++] = *at;
        depth -= *at == '>' && depth > 0;
    }
    out[n < room ? n : room - 1] = 0;
    if (!n)
        snprintf(out, room, "%.*s", (int)room - 1, name);
}

/* 1: code of headers that was compiled into the program: its name says nothing. */
static int is_built_in(const struct image *im, const struct resolved *f)
{
    return f->module && f->function && im->program.exe && !strcmp(f->module, im->program.exe);
}

static const char *callee_text(struct image *im, const struct resolved *f)
{
    struct run *r = im->run;
    char place[100] = "", name[120] = "", text[240];
    if (f->python) {
        const char *file = f->file ? f->file : "", *function = f->function ? f->function : "";
        const char *local = strstr(function, ".<locals>.");
        module_of_file(file, place, sizeof place);
        function = local ? local + strlen(".<locals>.") : function;
        function += text_ends(file, "/_methods.py") && *function == '_'; /* NumPy's a.mean() */
        snprintf(name, sizeof name, "%.110s", function);
        snprintf(text, sizeof text, "%s%s%s", place, *place ? "." : "", name);
        return run_text(r, text);
    }
    const char *module = f->module ? base_name(f->module) : "";
    if (text_begins(module, "_multiarray_umath"))
        module = "NumPy";
    int n = is_built_in(im, f) ? 0 : (int)strcspn(module, ".");
    if (f->function)
        function_plain(f->function, name, sizeof name);
    if (*module == '[' && *name != '[')
        snprintf(text, sizeof text, "%s (compiled at run time)", *name ? name : "code");
    else if (!n || *name == '[')
        snprintf(text, sizeof text, "%s", *name ? name : "compiled code");
    else
        snprintf(text, sizeof text, *name ? "%s (%.*s)" : "%scompiled code of %.*s", name, n,
                 module);
    return run_text(r, text);
}

/* Names the callee: a library's Python function says more than the machine code that it called. */
static struct stack_work callee_work(struct image *im, const struct resolved *f, int n)
{
    const struct resolved *best = NULL, *any = NULL;
    int end = 0;
    while (end < n && f[end].owner != OWNER_OWN)
        end++;
    int interpreter = 1;
    for (int i = 0; i < end; i++) {
        int serves = f[i].owner == OWNER_RUNTIME;
        interpreter &= owner_is_interpreter(f[i].module, f[i].file);
        int named = f[i].python && f[i].function && *f[i].function != '<';
        if (named && (!best || *best->function == '_'))
            best = &f[i]; /* a name without _ is what the user calls */
        if (named && *f[i].function != '_')
            break;
        any = any || serves || !f[i].module ? any : &f[i];
    }
    best = best ? best : any ? any : end && !interpreter ? &f[0] : NULL;
    uint32_t row = best ? frame_row(im, best) : NO_ROW;
    if (row < work_rows_count && work_rows[row].weak == WORK_CALLEE)
        return row_work(im->run, best, row);
    if (best)
        return (struct stack_work){"call", callee_text(im, best)};
    int python = end < n ? f[end].python : 0;
    return python ? (struct stack_work){"python", "Python's interpreter"}
                  : (struct stack_work){"self", "the line itself"};
}

/* Tells whether what the kernel did belongs to the work itself: compilers and imports have files of their own,
 * and what is unpickled lies in new memory. */
static int keeps_kernel_time(const struct stack_work of[WORK_MODES])
{
    const char *kind = of[WORK_USER].kind;
    return text_begins(kind, "compile.") || text_begins(kind, "import") ||
           (!strcmp(kind, "pickle") && !strcmp(of[WORK_SYSTEM].kind, "fault"));
}

enum err work_find(struct image *im, const struct resolved *inner, int inner_count,
                   const struct resolved *frames, int count, struct stack_work out[WORK_MODES])
{
    struct work_search search = {{0}, 0, 0};
    const struct resolved *leaf = inner_count ? inner : count ? frames : NULL;
    search_frames(im, inner, inner_count, &search);
    search_frames(im, frames, count, &search);
    out[WORK_USER] = search.work.kind ? search.work : callee_work(im, frames, count);
    out[WORK_SYSTEM] = (struct stack_work){"kernel", "system calls"};
    for (size_t i = 0; leaf && i < kernel_rows_count; i++)
        if (row_matches(&kernel_rows[i], leaf)) {
            out[WORK_SYSTEM] = (struct stack_work){kernel_rows[i].kind, kernel_rows[i].words};
            break;
        }
    if (keeps_kernel_time(out))
        out[WORK_SYSTEM] = out[WORK_USER];
    FAIL_IF(!out[WORK_USER].what, ERR_MEMORY, "no memory for the profile");
    return ERR_OK;
}

enum err work_add(struct run *r, uint32_t own, const struct stack_work of[WORK_MODES],
                  const struct costs *s)
{
    const double ns[WORK_MODES] = {[WORK_USER] = s->user, [WORK_SYSTEM] = s->sys};
    for (int i = 0; i < WORK_MODES; i++) {
        if (!(ns[i] > 0))
            continue;
        const char *what = run_text(r, of[i].what);
        FAIL_IF(!what, ERR_MEMORY, "no memory for the profile");
        uint64_t key = table_mix((uintptr_t)what, own);
        uint32_t at = table_get(&r->work_by_key, key);
        if (at == TABLE_NONE) {
            at = (uint32_t)r->works.count;
            TRY(vector_add(&r->works, (struct own_work){own, of[i].kind, what, 0}));
            TRY(table_put(&r->work_by_key, key, at));
        }
        r->works.items[at].ns += ns[i];
    }
    return ERR_OK;
}
