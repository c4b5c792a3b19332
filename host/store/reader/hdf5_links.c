/* Links of HDF5: hard, soft and external ones are followed here, step by step, with their loops
 * and their files checked; libhdf5 follows none. All arrays are found with all their names. */
#ifdef TP_HDF5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "host/store/reader/hdf5_parts.h"

#define ARRAYS_MOST 4096
#define LINKS_MOST  65536
#define HOPS_MOST   16 /* links to links */
#define PATH_BYTES  2048

struct hdf5_target { /* of a link; file NULL: of the same file */
    char text[PATH_BYTES];
    const char *file, *path;
};

static enum err target_read(struct store *s, hid_t group, const char *name, const H5L_info_t *link,
                            struct hdf5_target *t)
{
    unsigned flags;
    const size_t bytes = link->u.val_size;
    FAIL_IF(link->type != H5L_TYPE_SOFT && link->type != H5L_TYPE_EXTERNAL, ERR_INPUT,
            "%s: %s is a link of the unknown kind %d", s->name, name, (int)link->type);
    FAIL_IF(bytes < 1 || bytes >= sizeof t->text ||
                H5Lget_val(group, name, t->text, sizeof t->text, H5P_DEFAULT) < 0,
            ERR_INPUT, "%s: the link %s is damaged", s->name, name);
    t->text[bytes] = 0;
    t->file = NULL;
    t->path = t->text;
    FAIL_IF(link->type == H5L_TYPE_EXTERNAL &&
                H5Lunpack_elink_val(t->text, bytes, &flags, &t->file, &t->path) < 0,
            ERR_INPUT, "%s: the link %s is damaged", s->name, name);
    return ERR_OK;
}

static enum err link_resolve(struct store *s, int file, const char *path, int hops,
                             struct hdf5_place *out);

/* Goes on at the target of a link, with what is left of the path. */
static enum err resolve_link(struct store *s, int file, hid_t group, const char *at,
                             const char *name, const char *rest, const H5L_info_t *link, int hops,
                             struct hdf5_place *out)
{
    struct hdf5_target t;
    char path[2 * PATH_BYTES];
    FAIL_IF(hops == HOPS_MOST, ERR_INPUT, "%s: %s/%s: more than %d links lead to each other",
            hdf5_file(s, file)->name, at, name, HOPS_MOST);
    TRY(target_read(s, group, name, link, &t));
    const int relative = !t.file && *t.path != '/';
    const int n = snprintf(path, sizeof path, "%s/%s%s", relative ? at : "", t.path, rest);
    FAIL_IF(n >= (int)sizeof path, ERR_INPUT, "%s: the path of the link %s is too long", s->name,
            name);
    if (t.file)
        TRY(hdf5_file_named(s, file, t.file, &file));
    return link_resolve(s, file, path, hops + 1, out);
}

static enum err link_resolve(struct store *s, int file, const char *path, int hops,
                             struct hdf5_place *out)
{
    char *at = out->path, name[512];
    const char *of = hdf5_file(s, file)->name;
    hid_t here = H5Oopen(hdf5_file(s, file)->id, "/", H5P_DEFAULT);
    *at = 0;
    out->file = file;
    FAIL_IF(here < 0, ERR_INPUT, "%s: its root group is damaged", of);
    for (const char *rest = path;;) {
        H5L_info_t link = {.type = H5L_TYPE_HARD};
        rest += strspn(rest, "/");
        const size_t n = strcspn(rest, "/");
        enum err e = ERR_OK;
        if (!n) {
            out->id = here;
            return ERR_OK;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, rest);
        rest += n;
        if (n >= sizeof name || H5Iget_type(here) != H5I_GROUP ||
            H5Lget_info(here, name, &link, H5P_DEFAULT) < 0)
            e = FAIL(ERR_INPUT, "%s has no %s%s%s", of, at, *at ? "/" : "", name);
        if (!e && link.type != H5L_TYPE_HARD)
            e = resolve_link(s, file, here, at, name, rest, &link, hops, out);
        if (e || link.type != H5L_TYPE_HARD) {
            H5Oclose(here);
            return e;
        }
        hid_t next;
        e = hdf5_object_open(s, file, here, name, &link, &next);
        H5Oclose(here);
        here = next;
        const size_t used = strlen(at);
        snprintf(at + used, sizeof out->path - used, "%s%s", *at ? "/" : "", name);
        if (e)
            return err_prefix(e, "%s: %s", of, at);
    }
}

enum err hdf5_resolve(struct store *s, int file, const char *path, struct hdf5_place *out)
{
    return link_resolve(s, file, path, 0, out);
}

struct hdf5_pending { /* a link that is followed once all hard ones were */
    const char *path, *group, *how;
    int file;
};

struct hdf5_walk {
    struct store *s;
    enum err e;
    int links, is_late; /* late: names of what was found already */
    struct hdf5_key *groups;
    size_t groups_count, groups_room, pending_count, pending_room;
    struct hdf5_pending *pending;
};

struct hdf5_level { /* a group that is being read */
    struct hdf5_walk *w;
    int file, depth;
    /* real: in its file; how: the link above that leads here, or NULL */
    const char *path, *real, *class, *how;
    struct hdf5_key key;
    const struct hdf5_level *above;
};

static int same_key(const struct hdf5_key *a, const struct hdf5_key *b)
{
    return a->file == b->file && !memcmp(a->token, b->token, sizeof a->token);
}

static enum err group_read(struct hdf5_walk *w, const struct hdf5_place *at, const char *path,
                           const char *how, const struct hdf5_key *key,
                           const struct hdf5_level *above);

static enum err dataset_found(struct hdf5_walk *w, int file, hid_t id, const char *path,
                              const char *class, const char *how, const struct hdf5_key *key)
{
    struct store *s = w->s;
    struct store_array *a;
    for (int i = 0; i < s->arrays_count; i++)
        if (same_key(&((struct dataset *)s->arrays[i]->reader)->key, key)) {
            H5Dclose(id);
            return store_alias_add(
                s, (struct store_alias){store_text(s, path), class, how, s->arrays[i]});
        }
    if (s->arrays_count == ARRAYS_MOST) {
        H5Dclose(id);
        return hdf5_hides(s, path, "only the first %d arrays are read", ARRAYS_MOST);
    }
    TRY(hdf5_array_make(s, file, id, path, 0, &a));
    if (a) {
        a->group = class;
        a->from = how ? how : a->from;
    }
    return ERR_OK;
}

/* Takes over an object: a dataset, or a group that was not yet read. */
static enum err object_found(struct hdf5_walk *w, const struct hdf5_place *at, const char *path,
                             const char *class, const char *how, const struct hdf5_level *above)
{
    const int file = at->file;
    const hid_t id = at->id;
    struct hdf5_key key;
    const H5I_type_t type = H5Iget_type(id);
    enum err e = ERR_OK;
    int seen = 0;
    if ((type != H5I_DATASET && type != H5I_GROUP) || !hdf5_key_of(file, id, &key)) {
        H5Oclose(id);
        return type == H5I_DATATYPE ? ERR_OK : hdf5_hides(w->s, path, "is of an unknown kind");
    }
    if (type == H5I_DATASET)
        return dataset_found(w, file, id, path, class, how, &key);
    for (const struct hdf5_level *l = above; l; l = l->above)
        if (same_key(&l->key, &key)) { /* a group inside of itself */
            H5Oclose(id);
            return ERR_OK;
        }
    for (size_t i = 0; i < w->groups_count && !w->is_late; i++)
        seen |= same_key(&w->groups[i], &key);
    if (seen) {
        e = array_room(&w->pending, &w->pending_room, w->pending_count + 1, sizeof *w->pending);
        if (!e)
            w->pending[w->pending_count++] =
                (struct hdf5_pending){store_text(w->s, path), class, how, file};
    } else if (above && above->depth >= HDF5_DEPTH) {
        e = hdf5_hides(w->s, path, "more than %d groups lie in each other", HDF5_DEPTH);
    } else {
        e = group_read(w, at, path, how, &key, above);
    }
    H5Oclose(id);
    return e;
}

/* Writes where a link leads, for messages. */
static const char *link_text(struct store *s, hid_t group, const char *name, const H5L_info_t *link)
{
    struct hdf5_target t;
    char text[2 * PATH_BYTES];
    if (target_read(s, group, name, link, &t))
        return NULL;
    snprintf(text, sizeof text, "%s%s%s", t.file ? t.file : "", t.file ? ":" : "", t.path);
    return store_text(s, text);
}

static enum err found_or_not(struct hdf5_walk *w, enum err e, const struct hdf5_place *place,
                             const char *path, const char *class, const char *how,
                             const struct hdf5_level *above)
{
    if (e && e != ERR_INPUT && e != ERR_UNSUPPORTED)
        return e;
    return e ? hdf5_hides(w->s, path, "the link to %s leads nowhere: %s", how ? how : "?",
                          err_text())
             : object_found(w, place, path, class, how, above);
}

static enum err link_found(const struct hdf5_level *l, hid_t group, const char *name,
                           const H5L_info_t *link)
{
    struct hdf5_walk *w = l->w;
    struct hdf5_place place = {.file = l->file};
    char path[PATH_BYTES];
    if (!text_print(path, sizeof path, "%s%s%s", l->path, *l->path ? "/" : "", name) ||
        !text_print(place.path, sizeof place.path, "%s%s%s", l->real, *l->real ? "/" : "", name))
        return hdf5_hides(w->s, l->path, "holds names of more than %d bytes", PATH_BYTES);
    if (link->type == H5L_TYPE_HARD) {
        const enum err e = hdf5_object_open(w->s, l->file, group, name, link, &place.id);
        if (e && e != ERR_INPUT)
            return e;
        return e ? hdf5_hides(w->s, path, "%s", err_text())
                 : object_found(w, &place, path, l->class, l->how, l);
    }
    const char *how = link_text(w->s, group, name, link);
    if (!w->is_late) {
        TRY(array_room(&w->pending, &w->pending_room, w->pending_count + 1, sizeof *w->pending));
        w->pending[w->pending_count++] =
            (struct hdf5_pending){store_text(w->s, path), l->class, how, l->file};
        return ERR_OK;
    }
    const enum err e = resolve_link(w->s, l->file, group, l->real, name, "", link, 0, &place);
    return found_or_not(w, e, &place, path, l->class, how, l);
}

static herr_t link_visit(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct hdf5_level *l = data;
    if (++l->w->links > LINKS_MOST)
        l->w->e = l->w->links == LINKS_MOST + 1
                      ? hdf5_hides(l->w->s, "/", "only the first %d links are read", LINKS_MOST)
                      : ERR_OK;
    else
        l->w->e = link_found(l, group, name, link);
    return l->w->e || l->w->links > LINKS_MOST ? 1 : 0;
}

static enum err group_read(struct hdf5_walk *w, const struct hdf5_place *at, const char *path,
                           const char *how, const struct hdf5_key *key,
                           const struct hdf5_level *above)
{
    char class[256];
    hsize_t next = 0;
    struct hdf5_level l = {.w = w,
                           .file = at->file,
                           .depth = above ? above->depth + 1 : 0,
                           .path = path,
                           .real = at->path,
                           .how = how,
                           .key = *key,
                           .above = above};
    const int has = hdf5_text(w->s, at->file, at->id, "NX_class", class, sizeof class);
    if (has < 0)
        TRY(hdf5_hides(w->s, path, "attribute NX_class: %s", class));
    l.class = has > 0 ? store_text(w->s, class) : NULL;
    if (!w->is_late) {
        TRY(array_room(&w->groups, &w->groups_room, w->groups_count + 1, sizeof *w->groups));
        w->groups[w->groups_count++] = *key;
    }
    const herr_t done = H5Literate(at->id, H5_INDEX_NAME, H5_ITER_NATIVE, &next, link_visit, &l);
    TRY(w->e);
    return done < 0 ? hdf5_hides(w->s, path, "its members cannot be listed: the file is damaged")
                    : ERR_OK;
}

/* The groups that hold a link, so that one that leads to them is seen. */
static enum err link_follow(struct hdf5_walk *w, const struct hdf5_pending *p)
{
    struct hdf5_level levels[HDF5_DEPTH + 2];
    const struct hdf5_level *above = NULL;
    struct hdf5_place place;
    int n = 0;
    char prefix[PATH_BYTES] = "";
    for (const char *end = p->path; end && n <= HDF5_DEPTH; end = strchr(end + 1, '/')) {
        snprintf(prefix, sizeof prefix, "%.*s", (int)(end - p->path), p->path);
        if (hdf5_resolve(w->s, p->file, prefix, &place))
            break;
        levels[n] = (struct hdf5_level){.w = w, .depth = n, .above = above};
        hdf5_key_of(place.file, place.id, &levels[n].key);
        H5Oclose(place.id);
        above = &levels[n++];
    }
    const enum err e = hdf5_resolve(w->s, p->file, p->path, &place);
    return found_or_not(w, e, &place, p->path, p->group, p->how, above);
}

enum err hdf5_walk(struct store *s)
{
    struct hdf5_walk w = {.s = s};
    struct hdf5_key key = {0};
    struct hdf5_place root;
    TRY(hdf5_resolve(s, 0, "/", &root));
    enum err e = hdf5_key_of(0, root.id, &key)
                     ? group_read(&w, &root, "", NULL, &key, NULL)
                     : FAIL(ERR_INPUT, "%s: its root group is damaged", s->name);
    H5Oclose(root.id);
    w.is_late = 1;
    for (size_t i = 0; i < w.pending_count && !e; i++)
        e = link_follow(&w, &w.pending[i]);
    free(w.groups);
    free(w.pending);
    return e;
}
#endif
