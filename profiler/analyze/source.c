#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/base/file.h"
#include "profiler/analyze/build.h"

enum { TEXT_MAX = 400, FILE_MAX_BYTES = 16 << 20 };

static enum err line_texts(struct run *r, struct model_file *f, const char *text)
{
    int64_t number = 1;
    for (int i = 0; i < f->lines_count && text; i++) {
        while (number < f->lines[i].line && text) {
            text = strchr(text, '\n');
            text = text ? text + 1 : NULL;
            number++;
        }
        if (!text || !*text)
            return ERR_OK;
        size_t n = strcspn(text, "\r\n");
        f->lines[i].text = arena_text_n(r->m->arena, text, n < TEXT_MAX ? n : TEXT_MAX);
        FAIL_IF(!f->lines[i].text, ERR_MEMORY, "no memory for the source texts");
        f->lines[i].scalene.line = f->lines[i].text;
    }
    return ERR_OK;
}

/* Only plain files: a name from a trace may be anything. */
static enum err one_file(struct run *r, struct model_file *f, const char *recorded)
{
    struct stat st;
    char path[4200], *text = NULL;
    size_t bytes;
    int n = snprintf(path, sizeof path, "%s%s%s", recorded[0] != '/' && r->cwd ? r->cwd : "",
                     recorded[0] != '/' && r->cwd ? "/" : "", recorded);
    if (n >= (int)sizeof path || stat(path, &st) || !S_ISREG(st.st_mode) ||
        st.st_size > FILE_MAX_BYTES || !st.st_size)
        return ERR_OK;
    if (file_read_all(path, FILE_MAX_BYTES, &text, &bytes) != ERR_OK)
        return ERR_OK; /* unreadable: its texts stay unknown */
    enum err e = line_texts(r, f, text);
    free(text);
    return e;
}

enum err source_texts(struct run *r)
{
    if (r->options->no_source)
        return ERR_OK;
    for (int i = 0; i < r->m->files_count; i++)
        TRY(one_file(r, &r->m->files[i], r->sources[i].recorded));
    return ERR_OK;
}
