/* Files that links and virtual datasets of an HDF5 file lead to: of its folder and below it. Text
 * attributes in them. */
#ifdef TP_HDF5
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/array.h"
#include "host/store/reader/hdf5_parts.h"

#define FILES_MOST 16384
#define OPEN_MOST  32 /* files without arrays that stay open */

#define USER_BLOCK      512 /* bytes, or twice as many, and so on */
#define USER_BLOCK_MOST (1 << 26)

struct hdf5_file *hdf5_file(struct store *s, int file)
{
    return &((struct hdf5_reader *)s->reader)->files[file];
}

enum err hdf5_array_make(struct store *s, int file, hid_t id, const char *name, int depth,
                         struct store_array **out)
{
    return ((struct hdf5_reader *)s->reader)->array(s, file, id, name, depth, out);
}

struct file_state { /* of `bytes` */
    struct store *store;
    int32_t object;
    int64_t base;
};

static enum err file_read(void *state, int64_t at, void *to, size_t n)
{
    const struct file_state *f = state;
    FAIL_IF(at < 0 || at > INT64_MAX - f->base, ERR_INPUT, "%s: an address lies outside of it",
            f->store->name);
    return store_object_read(f->store, f->object, at + f->base, to, n);
}

static enum err files_read_state(struct store *s, struct hdf5_file *f)
{
    struct file_state *state = arena_take(s->arena, sizeof *state);
    FAIL_IF(!state, ERR_MEMORY, "%s: no memory left", f->name);
    *state = (struct file_state){s, f->object, f->base};
    f->bytes = (struct h5_bytes){.read = file_read, .state = state};
    enum err e = h5_bytes_sizes(&f->bytes);
    const hid_t root = e ? -1 : H5Oopen(f->id, "/", H5P_DEFAULT);
    struct hdf5_key key;
    uint64_t address = 0;
    if (root >= 0 && hdf5_key_of(0, root, &key)) {
        for (int i = 7; i >= 0; i--)
            address = address << 8 | key.token[i];
        e = h5_object_check(&f->bytes, address);
    }
    if (root >= 0)
        H5Oclose(root);
    return e ? err_prefix(e, "%s: its root group is damaged", f->name) : ERR_OK;
}

enum err hdf5_object_open(struct store *s, int file, hid_t group, const char *name,
                          const H5L_info_t *link, hid_t *id)
{
#if H5_VERSION_GE(1, 12, 0)
    uint64_t address = 0;
    for (int i = 7; i >= 0; i--)
        address = address << 8 | link->u.token.__data[i];
#else
    const uint64_t address = link->u.address;
#endif
    *id = -1;
    const enum err e = h5_object_check(&hdf5_file(s, file)->bytes, address);
    if (e)
        return err_prefix(e, "its header is damaged");
    *id = H5Oopen(group, name, H5P_DEFAULT);
    FAIL_IF(*id < 0, ERR_INPUT, "cannot be opened: damaged, or made for a newer HDF5");
    return ERR_OK;
}

/* MATLAB and others put a block of their own before the file that libhdf5 knows. */
static enum err file_find_base(struct store *s, struct hdf5_file *f)
{
    unsigned char head[8];
    int64_t bytes;
    TRY(store_object_bytes(s, f->object, &bytes)); /* a regular file, found without waiting */
    for (int64_t at = 0; at + 8 <= bytes && at <= USER_BLOCK_MOST; at = at ? 2 * at : USER_BLOCK) {
        TRY(store_object_read(s, f->object, at, head, sizeof head));
        if (!memcmp(head, "\x89HDF\r\n\x1a\n", sizeof head)) {
            f->base = at;
            return ERR_OK;
        }
    }
    return ERR_OK; /* libhdf5 says what is wrong */
}

static enum err file_open_id(struct store *s, struct hdf5_file *f)
{
    TRY(file_find_base(s, f));
    return s->remote || f->base ? h5_open_object(s, f->object, f->base, &f->id)
                                : h5_open(f->name, &f->id);
}

static enum err file_add(struct store *s, int32_t object, int *file)
{
    struct hdf5_reader *r = s->reader;
    char folder[4096];
    const char *name = s->objects[object].name, *slash = strrchr(name, '/');
    struct stat st = {0};
    FAIL_IF(r->count == FILES_MOST, ERR_INPUT, "%s: leads to more than %d files", s->name,
            FILES_MOST);
    TRY(array_room(&r->files, &r->room, (size_t)r->count + 1, sizeof *r->files));
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
    if (slash == name)
        snprintf(folder, sizeof folder, "/");
    struct hdf5_file *f = &r->files[r->count];
    *f = (struct hdf5_file){
        .name = name, .folder = store_text(s, folder), .object = object, .id = -1};
    if (!s->remote && !stat(name, &st)) {
        f->device = st.st_dev;
        f->node = st.st_ino;
    }
    for (int i = 0; i < r->count; i++)
        if (s->remote ? !strcmp(r->files[i].name, name)
                      : r->files[i].device == f->device && r->files[i].node == f->node) {
            *file = i;
            return r->files[i].id < 0 ? file_open_id(s, &r->files[i]) : ERR_OK;
        }
    TRY(file_open_id(s, f));
    const enum err e = files_read_state(s, f);
    if (e) {
        H5Fclose(f->id);
        return e;
    }
    *file = r->count++;
    return ERR_OK;
}

enum err hdf5_file_first(struct store *s, const char *path)
{
    int32_t object;
    int file;
    TRY(store_object_add(s, NULL, path, &object));
    return file_add(s, object, &file);
}

/* Symbolic links of the file system lead below the folder, too. */
static enum err check_place(struct store *s, const char *folder, const char *path)
{
    char below[4096], *root = realpath(folder, NULL), *real = realpath(path, NULL);
    const int there = real != NULL, reason = errno;
    snprintf(below, sizeof below, "%s%s", root ? root : "", root && !strcmp(root, "/") ? "" : "/");
    const int inside = root && real && !strncmp(real, below, strlen(below));
    free(root);
    free(real);
    FAIL_IF(!there, ERR_INPUT, "%s: cannot read: %s", path, strerror(reason));
    FAIL_IF(!inside && !store_follow_links, ERR_INPUT,
            "%s: leads to %s, outside of its folder; add `follow_links` if you trust the file",
            s->name, path);
    return ERR_OK;
}

enum err hdf5_file_named(struct store *s, int from, const char *name, int *file)
{
    const char *folder = hdf5_file(s, from)->folder;
    char path[8192];
    int32_t object;
    *file = from;
    while (!strncmp(name, "./", 2))
        name += 2;
    if (!strcmp(name, "."))
        return ERR_OK;
    if (s->remote || !store_follow_links) {
        FAIL_IF(!*name || *name == '/' || strstr(name, ".."), ERR_INPUT,
                "%s: leads to the file \"%.200s\", which lies outside of its folder: refused%s",
                hdf5_file(s, from)->name, name,
                s->remote ? "" : "; add `follow_links` if you trust the file");
        TRY(store_object_add(s, folder, name, &object));
    } else {
        snprintf(path, sizeof path, "%s%s%.4000s", *name == '/' ? "" : folder,
                 *name == '/' ? "" : "/", name);
        TRY(store_object_add(s, NULL, path, &object));
    }
    if (!s->remote)
        TRY(check_place(s, folder, s->objects[object].name));
    const enum err e = file_add(s, object, file);
    if (!e && hdf5_file(s, *file)->object != object)
        s->objects_count--; /* known by another name */
    return e;
}

void hdf5_files_close(struct store *s)
{
    struct hdf5_reader *r = s->reader;
    for (int i = 0; r && i < r->count; i++)
        if (r->files[i].id >= 0)
            H5Fclose(r->files[i].id);
    if (r)
        free(r->files);
}

void hdf5_files_trim(struct store *s)
{
    struct hdf5_reader *r = s->reader;
    int open = 0;
    for (int i = 1; i < r->count; i++)
        open += r->files[i].id >= 0 && !r->files[i].used;
    for (int i = 1; i < r->count && open > OPEN_MOST; i++)
        if (r->files[i].id >= 0 && !r->files[i].used) {
            H5Fclose(r->files[i].id);
            r->files[i].id = -1;
        }
}

enum err hdf5_hides(struct store *s, const char *name, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    TRY(store_unreadable_add(s, *name ? name : "/", -1, "%s", text));
    s->notes[s->notes_count - 1].hides = 1;
    return ERR_OK;
}

int hdf5_key_of(int file, hid_t object, struct hdf5_key *out)
{
    *out = (struct hdf5_key){.file = file};
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t info;
    const int good = H5Oget_info3(object, &info, H5O_INFO_BASIC) >= 0;
    if (good)
        memcpy(out->token, &info.token, sizeof out->token);
#else
    H5O_info_t info;
    const int good = H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0;
    if (good)
        memcpy(out->token, &info.addr, sizeof info.addr);
#endif
    return good;
}

/* ---- text attributes ---- */

/* Those of variable length lie in a global heap, whose references libhdf5 1.10 follows unchecked: one
 * changed byte crashes it. They are read here. */

#define REFERENCE 16 /* bytes: length (4), address of the collection (8), index (4) */
#define TEXT_MOST 1024

static uint64_t little_number(const unsigned char *b, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

static enum err text_variable(struct store *s, const struct hdf5_file *f, hid_t attribute,
                              char text[TEXT_MOST])
{
    unsigned char reference[REFERENCE] = {0};
    int64_t place = 0;
    const hid_t raw = h5_reference_type();
    text[0] = 0;
    FAIL_IF(raw < 0 || H5Aread(attribute, raw, reference) < 0, ERR_INPUT,
            "its text cannot be read");
    const uint64_t length = little_number(reference, 4), at = little_number(reference + 4, 8);
    uint64_t bytes = 0;
    if (!length || !at || at == UINT64_MAX) /* an empty one lies nowhere */
        return ERR_OK;
    const enum err e =
        h5_heap_find(&f->bytes, at, little_number(reference + 12, 4), 0, &place, &bytes);
    if (e)
        return err_prefix(e, "its text");
    FAIL_IF(length > bytes, ERR_INPUT, "its text claims %" PRIu64 " bytes of an object of %" PRIu64,
            length, bytes);
    const size_t n = length < TEXT_MOST ? (size_t)length : TEXT_MOST - 1;
    TRY(store_object_read(s, f->object, place + f->base, text, n));
    text[n] = 0;
    return ERR_OK;
}

static enum err text_read(struct store *s, int file, hid_t attribute, char text[TEXT_MOST])
{
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const size_t bytes = H5Tget_size(type);
    enum err e = ERR_OK;
    text[0] = 0;
    if (type < 0 || space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Tget_class(type) != H5T_STRING)
        e = FAIL(ERR_INPUT, "it is not one text");
    else if (H5Tis_variable_str(type) > 0)
        e = text_variable(s, hdf5_file(s, file), attribute, text);
    else if (bytes < 1 || bytes >= TEXT_MOST || H5Aread(attribute, type, text) < 0)
        e = FAIL(ERR_INPUT, "its text of %zu bytes cannot be read", bytes);
    else
        text[bytes] = 0;
    H5Sclose(space);
    H5Tclose(type);
    return e;
}

int hdf5_text(struct store *s, int file, hid_t object, const char *name, char *out, size_t room)
{
    char text[TEXT_MOST];
    const htri_t there = H5Aexists(object, name);
    out[0] = 0;
    if (!there)
        return 0;
    const hid_t attribute = there > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    const enum err e = attribute < 0 ? FAIL(ERR_INPUT, "the attribute is damaged")
                                     : text_read(s, file, attribute, text);
    snprintf(out, room, "%s", e ? err_text() : text);
    if (attribute >= 0)
        H5Aclose(attribute);
    return e ? -1 : 1;
}
#endif
