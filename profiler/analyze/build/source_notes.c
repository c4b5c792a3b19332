/* sources.txt of a run: for each source file whose text was read right after it, the text's hash
 * and size, and the path. By content, for inode and times say less: chmod, hard links of backups
 * and a branch that is checked out again change them, clocks that are set back hide a change. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "profiler/analyze/build/source_notes.h"

#define NAME       "sources.txt"
#define BYTES_MOST ((size_t)64 << 20)

static uint64_t note_key(const char *path)
{
    return table_hash(path, strlen(path));
}

static enum err note_add(struct run *r, struct source_note note)
{
    note.path = arena_text(r->m->arena, note.path);
    FAIL_IF(!note.path, ERR_MEMORY, "no memory for the source texts");
    TRY(vector_add(&r->notes, note));
    return table_put(&r->note_by_path, note_key(note.path), (uint32_t)r->notes.count - 1);
}

enum err source_note(struct run *r, const char *path, const char *text, size_t bytes)
{
    return strchr(path, '\n')
               ? ERR_OK
               : note_add(r, (struct source_note){path, table_hash(text, bytes), bytes});
}

int source_is_as_noted(const struct run *r, const char *path, const char *text, size_t bytes)
{
    uint32_t i = table_get(&r->note_by_path, note_key(path));
    const struct source_note *note = i == TABLE_NONE ? NULL : &r->notes.items[i];
    if (!note || strcmp(note->path, path))
        return -1;
    return note->bytes == bytes && note->hash == table_hash(text, bytes);
}

static void notes_path(const struct run *r, char path[4200])
{
    snprintf(path, 4200, "%.4096s/" NAME, r->folder);
}

enum err source_notes_read(struct run *r)
{
    char path[4200], *text = NULL, *rest = NULL;
    size_t bytes;
    enum err e = ERR_OK;
    notes_path(r, path);
    if (r->options->just_ended || access(path, F_OK))
        return ERR_OK;
    TRY(file_read_all(path, BYTES_MOST, &text, &bytes));
    for (char *line = strtok_r(text, "\n", &rest); line && !e; line = strtok_r(NULL, "\n", &rest)) {
        struct source_note note = {0};
        int at = 0;
        if (sscanf(line, "%" SCNx64 " %" SCNu64 " %n", &note.hash, &note.bytes, &at) == 2 && at) {
            note.path = line + at;
            e = note_add(r, note);
        }
    }
    free(text);
    return e;
}

enum err source_notes_write(const struct run *r)
{
    struct outfile file = {0};
    char path[4200];
    if (!r->options->just_ended || !r->notes.count)
        return ERR_OK;
    notes_path(r, path);
    TRY(outfile_open(&file, path));
    for (size_t i = 0; i < r->notes.count; i++) {
        const struct source_note *note = &r->notes.items[i];
        fprintf(file.stream, "%016" PRIx64 " %" PRIu64 " %s\n", note->hash, note->bytes,
                note->path);
    }
    return outfile_commit(&file);
}
