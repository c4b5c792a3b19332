/* try.diff: imports of a source that become imports of tomoprof, as a unified diff for `git apply`. */
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
    char *changed; /* NULL: it stays */
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

/* `import MODULE as NAME`, and without a name where the module has no dot. Modules in a module that is
 * replaced as a whole are taken too. */
static int import_change(const char *at, const struct replacement *r, char *out, size_t room)
{
    const char *name = word_skip(at, "import");
    const size_t n = strlen(r->module);
    if (!name || strncmp(name, r->module, n) || is_word(name[n]))
        return 0;
    const int whole = !strchr(r->module, '.');
    size_t more = 0;
    while (whole && (name[n + more] == '.' || is_word(name[n + more])))
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
    if (!strncmp(name, r->module, n) && !is_word(name[n]) &&
        (name[n] != '.' || !dot)) /* its own modules where it is replaced as a whole */
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

/* Returns 1 where a checked call was of this module. */
static int module_was_called(const struct try_job *t, const char *module)
{
    for (int i = 1; i < t->stages; i++)
        for (int k = 0; k < t->stage[i].calls_count; k++)
            if (!strcmp(t->stage[i].calls[k].module, module) && !t->stage[i].calls[k].refused)
                return 1;
    return 0;
}

static enum err line_change(const struct try_job *t, struct source_line *l)
{
    char line[IMPORT_LINE], out[2 * IMPORT_LINE];
    if (l->length >= sizeof line)
        return ERR_OK;
    snprintf(line, sizeof line, "%.*s", (int)l->length, l->text);
    const size_t indent = strspn(line, " \t");
    for (size_t i = 0; i < replacements_count && !l->changed; i++) {
        const struct replacement *r = &replacements[i];
        snprintf(out, sizeof out, "%.*s", (int)indent, line);
        if (!module_was_called(t, r->module) ||
            (!import_change(line + indent, r, out, sizeof out) &&
             !from_change(line + indent, r, out, sizeof out)))
            continue;
        l->changed = strdup(out);
        FAIL_IF(!l->changed, ERR_MEMORY, "no memory for the patch");
    }
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
        if (changed)
            fputs(l->changed, out);
        else
            fwrite(l->text, 1, l->length, out);
        fputc('\n', out);
        if (i + 1 == s->lines.count && !s->ends)
            fputs("\\ No newline at end of file\n", out);
    }
}

/* Writes a hunk of lines [from, to): changed ones beside each other go out before they come in. */
static void hunk_write(FILE *out, const struct source_text *s, size_t from, size_t to)
{
    fprintf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, to - from, from + 1, to - from);
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
}

static void hunks_write(FILE *out, const struct source_text *s)
{
    const size_t count = s->lines.count;
    for (size_t i = 0; i < count; i++) {
        if (!s->lines.items[i].changed)
            continue;
        size_t last = i;
        for (size_t k = i; k < count && k <= last + 2 * CONTEXT; k++)
            last = s->lines.items[k].changed ? k : last;
        const size_t to = last + CONTEXT + 1 < count ? last + CONTEXT + 1 : count;
        hunk_write(out, s, i > CONTEXT ? i - CONTEXT : 0, to);
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

enum err trial_patch(const struct try_job *t, const char *file, char root[RUN_PATH], int *changes)
{
    struct source_text s = {0};
    struct outfile f = {0};
    char path[RUN_PATH + 16];
    *changes = 0;
    enum err e = source_read(file, &s);
    for (size_t i = 0; i < s.lines.count && !e; i++) {
        e = line_change(t, &s.lines.items[i]);
        *changes += s.lines.items[i].changed != NULL;
    }
    root_find(file, root);
    snprintf(path, sizeof path, "%.*s/try.diff", RUN_PATH, t->folder);
    if (!e && *changes)
        e = outfile_open(&f, path);
    if (!e && *changes) {
        const char *name = file + strlen(root) + 1;
        fprintf(f.stream, "--- a/%s\n+++ b/%s\n", name, name);
        hunks_write(f.stream, &s);
        e = outfile_commit(&f);
    }
    outfile_abort(&f);
    source_free(&s);
    return e;
}
