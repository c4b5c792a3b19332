/* Opens by content: the table of readers. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"

#define HEAD_BYTES 65536

#define READER_ROW(name) &reader_##name,
static const struct reader *const readers[] = {READER_LIST(READER_ROW)};
#define READERS (sizeof readers / sizeof *readers)

/* Asks for a name that most stores have. An error: nothing answers, or it wants a login. */
static enum err remote_probe(const char *folder)
{
    char path[8192];
    int64_t bytes;
    snprintf(path, sizeof path, "%s/zarr.json", folder);
    return http_size(path, &bytes);
}

static enum err reader_unknown(const struct reader_file *f)
{
    char bytes[16] = "", known[200] = "";
    for (size_t i = 0; i < 4 && i < f->head_bytes; i++)
        text_append(bytes, sizeof bytes, "%s%02x", i ? " " : "", f->head[i]);
    if (f->is_folder && http_is_url(f->path)) {
        TRY(remote_probe(f->path));
        return FAIL(ERR_INPUT, "%s: is neither a file nor a Zarr store on this server", f->path);
    }
    if (f->is_folder)
        return FAIL(ERR_INPUT,
                    "%s: a folder without .zarray, .zgroup, zarr.json or numbered .tif files",
                    f->path);
    for (size_t i = 0; i < READERS; i++) {
        const char *between = !i ? "" : i + 1 < READERS ? ", " : " and ";
        text_append(known, sizeof known, "%s%s", between, readers[i]->name);
    }
    return FAIL(ERR_INPUT, "%s: of no known format (it begins with the bytes %s); known are %s",
                f->path, f->head_bytes ? bytes : "of an empty file", known);
}

static enum err open_known(const struct reader_file *f, struct store **out)
{
    for (size_t i = 0; i < READERS; i++)
        if (readers[i]->knows(f))
            return readers[i]->open(f, out);
    return reader_unknown(f);
}

/* Names that end in .zarr, or are not there themselves, are folders. A server may refuse names that
 * are not there, so that only one that does not answer is an error here. */
static enum err remote_head(struct reader_file *f, unsigned char *head)
{
    int64_t bytes = -1;
    f->is_folder |= text_has_suffix(f->path, ".zarr");
    if (f->is_folder) {
        const enum err e = remote_probe(f->path);
        return e == ERR_INPUT ? ERR_OK : e;
    }
    TRY(http_size(f->path, &bytes));
    f->is_folder = bytes < 0;
    f->head_bytes = bytes < 0 ? 0 : (size_t)(bytes < HEAD_BYTES ? bytes : HEAD_BYTES);
    return http_read(f->path, 0, head, f->head_bytes);
}

enum err store_open(const char *name, struct store **out)
{
    char folder[4096];
    struct reader_file f = {.path = name};
    struct stat st = {0};
    const int remote = http_is_url(name);
    *out = NULL;
    FAIL_IF(!remote && stat(name, &st), ERR_INPUT, "%s: cannot read: %s", name, strerror(errno));
    f.is_folder = S_ISDIR(st.st_mode);
    unsigned char *head = calloc(1, HEAD_BYTES + 1);
    FAIL_IF(!head, ERR_MEMORY, "%s: no memory left to open it", name);
    f.head = head;
    enum err e = ERR_OK;
    FILE *file = NULL;
    if (remote && strlen(name) < sizeof folder && name[strlen(name) - 1] == '/') {
        snprintf(folder, sizeof folder, "%.*s", (int)strlen(name) - 1, name);
        f.path = folder;
        f.is_folder = 1;
    }
    if (remote) {
        e = remote_head(&f, head);
    } else if (!f.is_folder && !(e = file_open(name, &file))) {
        f.head_bytes = fread(head, 1, HEAD_BYTES, file);
        if (ferror(file))
            e = FAIL(ERR_IO, "%s: reading failed: %s", name, strerror(errno));
        fclose(file);
    }
    if (!e)
        e = open_known(&f, out);
    free(head);
    if (!e && (*out)->arrays_count == 0) {
        const struct store *s = *out;
        e = FAIL(ERR_INPUT, "%s: %s without arrays of numbers%s%s", name, s->format,
                 s->notes_count ? "; " : "", s->notes_count ? s->notes[0].value : "");
        store_close(*out);
        *out = NULL;
    }
    return e;
}

/* The largest array is not known where one that cannot be read may be larger. */
static enum err main_array(const struct store *s, struct store_array **out)
{
    for (int i = 0; i < s->notes_count; i++) {
        const struct store_note *note = &s->notes[i];
        FAIL_IF(!strcmp(note->name, "unreadable") &&
                    (note->elements < 0 || note->elements > store_elements(s->arrays[0])),
                ERR_INPUT,
                "%s: its largest array is not known, for not all can be read (%s); name one, for "
                "example `array=%s`",
                s->name, note->value, s->arrays[0]->name);
    }
    *out = s->arrays[0];
    return ERR_OK;
}

enum err store_find(struct store *s, const char *name, struct store_array **out)
{
    char names[400] = "";
    if (!name)
        return main_array(s, out);
    for (int i = 0; i < s->arrays_count; i++)
        if (!strcmp(s->arrays[i]->name, name)) {
            *out = s->arrays[i];
            return ERR_OK;
        }
    for (int i = 0; i < s->aliases_count; i++)
        if (!strcmp(s->aliases[i].name, name)) {
            *out = s->aliases[i].array;
            return ERR_OK;
        }
    for (int i = 0; i < s->notes_count; i++) { /* it is there */
        const struct store_note *note = &s->notes[i];
        const size_t k = strlen(name);
        FAIL_IF(!strcmp(note->name, "unreadable") && !strncmp(note->value, name, k) &&
                    note->value[k] == ':',
                ERR_INPUT, "%s: cannot read %s", s->name, note->value);
    }
    for (int i = 0; i < s->arrays_count && strlen(names) < sizeof names - 100; i++)
        text_append(names, sizeof names, "%s%.80s", i ? ", " : "", s->arrays[i]->name);
    return FAIL(ERR_INPUT, "%s: has no array %s; it has %s", s->name, name, names);
}
