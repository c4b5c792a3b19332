/* NXtomo: groups are found by their NX_class, under all names that links give them. */
#include <stdio.h>
#include <string.h>

#include "host/store/exchange/nexus.h"
#include "host/store/exchange/values.h"

const char *nexus_sibling(const char *name, const char *other, char path[1024])
{
    const char *slash = strrchr(name, '/');
    snprintf(path, 1024, "%.*s%s%s", slash ? (int)(slash - name) : 0, name, slash ? "/" : "",
             other);
    return path;
}

static enum err image_key(struct store *s, const struct store_alias *data, struct store_array **out)
{
    char path[1024];
    TRY(values_want(s, nexus_sibling(data->name, "image_key", path), out));
    if (!*out)
        TRY(values_want(s, nexus_sibling(data->name, "image_key_control", path), out));
    if (*out && ((*out)->dims != 1 || (*out)->shape[0] != data->array->shape[0]))
        *out = NULL;
    return ERR_OK;
}

enum err nexus_detector(struct store *s, struct store_alias *out, struct store_array **key)
{
    *key = NULL;
    for (int i = 0; i < values_names(s) && !*key; i++) {
        *out = values_name(s, i);
        if (out->array->dims == 3 && out->group && !strcmp(out->group, "NXdetector"))
            TRY(image_key(s, out, key));
    }
    return ERR_OK;
}

enum err nexus_rotation(struct store *store, const char *data, struct store_array **out)
{
    static const char wanted[] = "/rotation_angle";
    size_t most = 0;
    *out = NULL;
    for (int i = 0; i < values_names(store); i++) {
        const struct store_alias a = values_name(store, i);
        const char *slash = strrchr(a.name, '/');
        size_t same = 0;
        if (!slash || strcmp(slash, wanted) || !a.group || strcmp(a.group, "NXsample"))
            continue;
        while (a.name[same] && a.name[same] == data[same])
            same++;
        if (!*out || same > most)
            *out = a.array;
        most = same > most ? same : most;
    }
    for (int i = 0; i < store->notes_count && !*out; i++) {
        const struct store_note *n = &store->notes[i];
        const char *end = strstr(n->value, ": ");
        const size_t bytes = end ? (size_t)(end - n->value) : 0, k = sizeof wanted - 1;
        FAIL_IF(!strcmp(n->name, "unreadable") &&
                    (n->hides || (bytes >= k && !strncmp(n->value + bytes - k, wanted, k))),
                ERR_INPUT,
                "%s: has no angles that can be read (give them with `angles`); cannot "
                "read %s",
                store->name, n->value);
    }
    return ERR_OK;
}
