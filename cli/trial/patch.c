/* try.diff: imports of sources that become imports of tomoprof, as a unified diff for `git apply`. Where
 * a program names functions in full (scipy.ndimage.median_filter), these names change too. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/trial/trial.h"
#include "profiler/findings/advice/replacements.h"

#define SOURCE_LIMIT ((size_t)16 << 20)
enum { CONTEXT = 3, IMPORT_LINE = 1000 };

struct source_line {
    const char *text;
    size_t length; /* without its end */
    char *changed; /* what becomes of it, one line or two; NULL: it stays */
};

struct source_text {
    char *data;
    int ends; /* the last line has an end */
    VECTOR(struct source_line) lines;
};

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns what follows `word` and blanks at `at`; NULL: something else is there. */
static const char *word_skip(const char *at, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(at, word, n) || is_word(at[n]))
        return NULL;
    return at + n + strspn(at + n, " \t");
}

/* 1: all of a package is replaced, with the modules in it. */
static int is_package(const struct replacement *r)
{
    return !strchr(r->module, '.') && !strcmp(r->hook, r->module);
}

/* `import MODULE as NAME`, and without a name where the module has no dot. Modules in a package that is
 * replaced as a whole are taken too. */
static int import_change(const char *at, const struct replacement *r, char *out, size_t room)
{
    const char *name = word_skip(at, "import");
    const size_t n = strlen(r->module);
    if (!name || strncmp(name, r->module, n) || is_word(name[n]))
        return 0;
    const int whole = !strchr(r->module, '.');
    size_t more = 0;
    while (is_package(r) && (name[n + more] == '.' || is_word(name[n + more])))
        more++;
    const char *rest = name + n + more, *as = rest + strspn(rest, " \t");
    if (*rest == '.' || strchr(as, ','))
        return 0;
    if (word_skip(as, "as"))
        return text_append(out, room, "import %s%.*s%s", r->ours, (int)more, name + n, rest);
    if (!whole || more || (*as && *as != '#' && *as != '\r'))
        return 0;
    return text_append(out, room, "import %s as %s%s", r->ours, r->module, rest);
}

/* `from MODULE import ...`, and `from PARENT import LAST` alone. */
static int from_change(const char *at, const struct replacement *r, char *out, size_t room)
{
    const char *name = word_skip(at, "from"), *dot = strrchr(r->module, '.');
    const char *ours = strrchr(r->ours, '.');
    const size_t n = strlen(r->module);
    if (!name)
        return 0;
    if (!strncmp(name, r->module, n) && !is_word(name[n]) && (name[n] != '.' || is_package(r)))
        return text_append(out, room, "from %s%s", r->ours, name + n);
    char parent[100];
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - r->module) : 0, r->module);
    const char *import = *parent ? word_skip(name, parent) : NULL;
    const char *last = import ? word_skip(import, "import") : NULL;
    const char *rest = last ? word_skip(last, dot + 1) : NULL;
    if (!rest || !ours || strchr(rest, ','))
        return 0;
    const int named = word_skip(rest, "as") != NULL, same = !strcmp(ours + 1, dot + 1);
    if (!named && *rest && *rest != '#' && *rest != '\r')
        return 0;
    return text_append(out, room, "from %.*s import %s%s%s%s%s", (int)(ours - r->ours), r->ours,
                       ours + 1, named || same ? "" : " as ", named || same ? "" : dot + 1,
                       *rest && *rest != '\r' ? " " : "", rest);
}

/* `from PARENT import A, LAST, B`: LAST gets a line of its own. */
static int list_change(const char *at, const struct replacement *r, int indent, char *out,
                       size_t room)
{
    const char *name = word_skip(at, "from"), *dot = strrchr(r->module, '.');
    char parent[100], rest[IMPORT_LINE] = "", own[200] = "";
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - r->module) : 0, r->module);
    const char *list = name && *parent ? word_skip(name, parent) : NULL;
    list = list ? word_skip(list, "import") : NULL;
    if (!list || !strchr(list, ',') || strpbrk(list, "(\\#;\r"))
        return 0;
    while (*list) {
        const size_t n = strcspn(list, ",");
        size_t end = n;
        while (end && (list[end - 1] == ' ' || list[end - 1] == '\t'))
            end--;
        const char *as = word_skip(list, dot + 1);
        if (as && (as == list + n || word_skip(as, "as")))
            snprintf(own, sizeof own, "%.*s", (int)end, list);
        else
            text_append(rest, sizeof rest, "%s%.*s", *rest ? ", " : "", (int)end, list);
        list += n + (list[n] == ',');
        list += strspn(list, " \t");
    }
    const char *ours = strrchr(r->ours, '.');
    if (!*own || !*rest || !ours || strcmp(ours, dot))
        return 0;
    return text_append(out, room, "from %s import %s\n%.*sfrom %.*s import %s", parent, rest,
                       indent, at - indent, (int)(ours - r->ours), r->ours, own);
}

/* `import MODULE` or `import PARENT`, beside which ours is imported for names in full. */
static int full_import_change(const char *at, const struct replacement *r, int indent, char *out,
                              size_t room)
{
    const char *name = word_skip(at, "import"), *dot = strrchr(r->module, '.');
    char parent[100];
    if (!name || !dot)
        return 0;
    snprintf(parent, sizeof parent, "%.*s", (int)(dot - r->module), r->module);
    const char *rest = word_skip(name, r->module);
    rest = rest ? rest : word_skip(name, parent);
    if (!rest || *rest == '.' || word_skip(rest, "as") || strchr(rest, ','))
        return 0;
    return text_append(out, room, "%s\n%.*simport %s", at, indent, at - indent, r->ours);
}

/* Returns a copy of the line with the function's name in full changed to ours; NULL: it is not there,
 * or in a comment or a text. */
static char *full_name_change(const char *line, const struct replacement *r)
{
    char name[200], out[2 * IMPORT_LINE] = "";
    snprintf(name, sizeof name, "%s.%s", r->module, r->name);
    const size_t n = strlen(name);
    int found = 0;
    char quote = 0;
    for (const char *at = line; *at; at++) {
        if (!quote && *at == '#') {
            text_append(out, sizeof out, "%s", at);
            break;
        }
        if (*at == '"' || *at == '\'')
            quote = !quote ? *at : quote == *at ? 0 : quote;
        const int begins = at == line || (!is_word(at[-1]) && at[-1] != '.');
        if (!quote && begins && !strncmp(at, name, n) && !is_word(at[n])) {
            text_append(out, sizeof out, "%s.%s", r->ours, r->name);
            at += n - 1;
            found = 1;
        } else {
            text_append(out, sizeof out, "%c", *at);
        }
    }
    return found ? strdup(out) : NULL;
}

/* Returns 1 where a call was of this module, and of this function where a name is given. 0 where one
 * failed: the changed program would raise the exception. */
static int module_was_called(const struct try_job *t, const char *module, const char *name)
{
    int called = 0;
    for (int i = 1; i < t->stages; i++)
        for (int k = 0; k < t->stage[i].calls_count; k++) {
            const struct trial_call *c = &t->stage[i].calls[k];
            if (strcmp(c->module, module))
                continue;
            if (c->failed)
                return 0;
            called |= (!name || !strcmp(c->name, name)) && !c->refused;
        }
    return called;
}

/* 1: the program used names of a package that ours lacks. */
static int names_are_missing(const struct try_job *t, const char *module)
{
    const size_t n = strlen(module);
    for (int i = 1; i < t->stages; i++)
        for (int k = 0; k < t->stage[i].notes_count; k++) {
            const char *note = t->stage[i].notes[k];
            if (!strncmp(note, module, n) && note[n] == '.' && strstr(note, "has no equal"))
                return 1;
        }
    return 0;
}

/* Copies a line; 0: it is too long to be an import. */
static int line_copy(const struct source_line *l, char line[IMPORT_LINE])
{
    if (l->length >= IMPORT_LINE)
        return 0;
    snprintf(line, IMPORT_LINE, "%.*s", (int)l->length, l->text);
    return 1;
}

static enum err line_change(const struct try_job *t, struct source_line *l)
{
    char line[IMPORT_LINE], out[3 * IMPORT_LINE];
    if (!line_copy(l, line))
        return ERR_OK;
    const size_t indent = strspn(line, " \t");
    for (size_t i = 0; i < replacements_count && !l->changed; i++) {
        struct replacement row = replacements[i];
        const struct replacement *const r = &row;
        if (is_package(r) && names_are_missing(t, r->module))
            row.ours = arena_print(t->arena, "tomoprof.instead.%s", r->module);
        FAIL_IF(!row.ours, ERR_MEMORY, "no memory for the patch");
        snprintf(out, sizeof out, "%.*s", (int)indent, line);
        if (!module_was_called(t, r->module, NULL) ||
            (!import_change(line + indent, r, out, sizeof out) &&
             !from_change(line + indent, r, out, sizeof out) &&
             !list_change(line + indent, r, (int)indent, out, sizeof out)))
            continue;
        l->changed = strdup(out);
        FAIL_IF(!l->changed, ERR_MEMORY, "no memory for the patch");
    }
    return ERR_OK;
}

/* 1: a line but this one has the package's name, in a text or a comment too. */
static int package_is_used(const struct source_text *s, const struct source_line *import,
                           const char *module)
{
    char line[3 * IMPORT_LINE], top[100];
    snprintf(top, sizeof top, "%.*s", (int)strcspn(module, "."), module);
    for (size_t i = 0; i < s->lines.count; i++) {
        const struct source_line *l = &s->lines.items[i];
        snprintf(line, sizeof line, "%.*s", (int)l->length, l->text);
        const char *text = l->changed ? l->changed : line;
        for (const char *at = text; l != import && (at = strstr(at, top)); at++)
            if ((at == text || (!is_word(at[-1]) && at[-1] != '.')) && !is_word(at[strlen(top)]))
                return 1;
    }
    return 0;
}

/* Changes the names in full of one function, and imports ours beside the first import of its
 * module. */
static enum err names_change(struct source_text *s, const struct replacement *r)
{
    char line[IMPORT_LINE], out[3 * IMPORT_LINE], beside[200];
    struct source_line *import = NULL;
    int names = 0;
    snprintf(beside, sizeof beside, "\nimport %s", r->ours);
    for (size_t i = 0; i < s->lines.count; i++) {
        struct source_line *l = &s->lines.items[i];
        if (!line_copy(l, line))
            continue;
        const size_t indent = strspn(line, " \t");
        snprintf(out, sizeof out, "%.*s", (int)indent, line);
        if (!import && (!l->changed || strstr(l->changed, beside)) &&
            full_import_change(line + indent, r, (int)indent, out, sizeof out)) {
            import = l;
            continue;
        }
        char *changed = import ? full_name_change(l->changed ? l->changed : line, r) : NULL;
        if (!changed)
            continue;
        free(l->changed);
        l->changed = changed;
        names++;
    }
    if (!names || import->changed)
        return ERR_OK;
    (void)line_copy(import, line);
    const size_t indent = strspn(line, " \t");
    snprintf(out, sizeof out, "%.*s", (int)indent, line);
    full_import_change(line + indent, r, (int)indent, out, sizeof out);
    if (!package_is_used(s, import, r->module)) /* ours alone */
        snprintf(out, sizeof out, "%.*simport %s", (int)indent, line, r->ours);
    import->changed = strdup(out);
    FAIL_IF(!import->changed, ERR_MEMORY, "no memory for the patch");
    return ERR_OK;
}

static enum err source_change(const struct try_job *t, struct source_text *s, int *changes)
{
    for (size_t i = 0; i < s->lines.count; i++)
        TRY(line_change(t, &s->lines.items[i]));
    for (size_t i = 0; i < replacements_count; i++)
        if (module_was_called(t, replacements[i].module, replacements[i].name))
            TRY(names_change(s, &replacements[i]));
    *changes = 0;
    for (size_t i = 0; i < s->lines.count; i++)
        *changes += s->lines.items[i].changed != NULL;
    return ERR_OK;
}

static enum err source_read(const char *file, struct source_text *s)
{
    size_t bytes;
    TRY(file_read_all(file, SOURCE_LIMIT, &s->data, &bytes));
    s->ends = bytes && s->data[bytes - 1] == '\n';
    for (const char *at = s->data, *end = at + bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((newline ? newline : end) - at);
        TRY(vector_add(&s->lines, ((struct source_line){at, n, NULL})));
        at += n + 1;
    }
    return ERR_OK;
}

static void source_free(struct source_text *s)
{
    for (size_t i = 0; i < s->lines.count; i++)
        free(s->lines.items[i].changed);
    vector_free(&s->lines);
    free(s->data);
}

/* Writes lines [from, to) of a hunk with the sign; `changed`: as they become. */
static void lines_write(FILE *out, const struct source_text *s, size_t from, size_t to, char sign,
                        int changed)
{
    for (size_t i = from; i < to; i++) {
        const struct source_line *l = &s->lines.items[i];
        fputc(sign, out);
        for (const char *at = changed ? l->changed : ""; strchr(at, '\n');) {
            const char *end = strchr(at, '\n') + 1;
            fprintf(out, "%.*s%c", (int)(end - at), at, sign);
            at = strchr(end, '\n') ? end : "";
        }
        if (changed)
            fputs(strrchr(l->changed, '\n') ? strrchr(l->changed, '\n') + 1 : l->changed, out);
        else
            fwrite(l->text, 1, l->length, out);
        fputc('\n', out);
        if (i + 1 == s->lines.count && !s->ends)
            fputs("\\ No newline at end of file\n", out);
    }
}

/* Writes a hunk of lines [from, to): changed ones beside each other go out before they come in. `more`:
 * lines that hunks before it added. Returns those that it adds. */
static size_t hunk_write(FILE *out, const struct source_text *s, size_t from, size_t to,
                         size_t more)
{
    size_t added = 0; /* lines that become two */
    for (size_t i = from; i < to; i++)
        added += s->lines.items[i].changed && strchr(s->lines.items[i].changed, '\n');
    fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, to - from, from + 1 + more,
            to - from + added);
    for (size_t i = from; i < to;) {
        size_t end = i;
        while (end < to && s->lines.items[end].changed)
            end++;
        if (end == i) {
            lines_write(out, s, i, i + 1, ' ', 0);
            i++;
            continue;
        }
        lines_write(out, s, i, end, '-', 0);
        lines_write(out, s, i, end, '+', 1);
        i = end;
    }
    return added;
}

static void hunks_write(FILE *out, const struct source_text *s)
{
    const size_t count = s->lines.count;
    size_t more = 0;
    for (size_t i = 0; i < count; i++) {
        if (!s->lines.items[i].changed)
            continue;
        size_t last = i;
        for (size_t k = i; k < count && k <= last + 2 * CONTEXT; k++)
            last = s->lines.items[k].changed ? k : last;
        const size_t to = last + CONTEXT + 1 < count ? last + CONTEXT + 1 : count;
        more += hunk_write(out, s, i > CONTEXT ? i - CONTEXT : 0, to, more);
        i = last;
    }
}

/* Finds the folder to which names in a patch are relative: the repository of the file, else its own. */
static void root_find(const char *file, char root[RUN_PATH])
{
    char path[RUN_PATH + 16];
    path_folder(file, root, RUN_PATH);
    for (char *slash; (slash = strrchr(root, '/')) != root && slash; *slash = 0) {
        snprintf(path, sizeof path, "%s/.git", root);
        if (!access(path, F_OK))
            return;
    }
    path_folder(file, root, RUN_PATH);
}

/* Adds the changes of one source below `root`; another one is left. */
static enum err source_patch(const struct try_job *t, const char *file, const char *root, FILE *out,
                             int *changes)
{
    struct source_text s = {0};
    const size_t n = strlen(root);
    *changes = 0;
    if (strncmp(file, root, n) || file[n] != '/')
        return ERR_OK;
    enum err e = source_read(file, &s);
    if (!e)
        e = source_change(t, &s, changes);
    if (!e && *changes) {
        fprintf(out, "--- a/%s\n+++ b/%s\n", file + n + 1, file + n + 1);
        hunks_write(out, &s);
    }
    source_free(&s);
    return e;
}

enum err trial_patch(const struct try_job *t, const char *const *files, int count,
                     char root[RUN_PATH], int *changes)
{
    char path[RUN_PATH + 16];
    struct outfile f = {0};
    *changes = 0;
    root_find(files[0], root);
    snprintf(path, sizeof path, "%.*s/try.diff", RUN_PATH, t->folder);
    TRY(outfile_open(&f, path));
    enum err e = ERR_OK;
    for (int i = 0; i < count && !e; i++) {
        int n;
        e = source_patch(t, files[i], root, f.stream, &n);
        *changes += n;
    }
    if (!e && *changes)
        e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}
