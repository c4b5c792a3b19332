/* Opens libcurl: by the names that distributions give it, then in the conda environment. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/table.h"
#include "host/store/fetch/curl.h"

#ifdef TP_CURL
#include "base/text.h"
#include "host/store/fetch/curl.h"

static void *curl_open_first(const char *name, char *why, size_t bytes)
{
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *text = object ? NULL : dlerror();
    if (!*why && text)
        snprintf(why, bytes, "%s", text);
    return object;
}

/* TOMOPROF_LIBCURL, if set, is the only file tried. NULL: *why tells of the first name. */
static void *curl_find_library(char *why, size_t bytes)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    const char *own = getenv("TOMOPROF_LIBCURL"), *conda = getenv("CONDA_PREFIX");
    char path[4096];
    if (own && *own)
        return curl_open_first(own, why, bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *object = curl_open_first(names[i], why, bytes);
        if (object)
            return object;
    }
    if (!conda || !text_print(path, sizeof path, "%s/lib/libcurl.so.4", conda))
        return NULL;
    return curl_open_first(path, why, bytes);
}

const struct curl_library *curl_open(const char **why)
{
    static struct curl_library library;
    static char missing[512];
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"curl_global_init", &library.global_init},
                     {"curl_easy_init", &library.easy_init},
                     {"curl_easy_cleanup", &library.easy_cleanup},
                     {"curl_easy_reset", &library.easy_reset},
                     {"curl_easy_setopt", &library.easy_setopt},
                     {"curl_easy_getinfo", &library.easy_getinfo},
                     {"curl_easy_perform", &library.easy_perform},
                     {"curl_easy_strerror", &library.easy_strerror},
                     {"curl_slist_append", &library.slist_append},
                     {"curl_slist_free_all", &library.slist_free_all},
                     {"curl_version_info", &library.version_info}};
    void *object = curl_find_library(missing, sizeof missing);
    *why = missing;
    if (!object)
        return NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(object, functions[i].name);
        if (!symbol) {
            snprintf(missing, sizeof missing, "%s is not in the library", functions[i].name);
            return NULL;
        }
        memcpy(functions[i].to, &symbol, sizeof symbol);
    }
    const curl_version_info_data *version = library.version_info(CURLVERSION_FIRST);
    if (library.global_init(CURL_GLOBAL_DEFAULT)) {
        snprintf(missing, sizeof missing, "curl_global_init failed");
        return NULL;
    }
    snprintf(library.name, sizeof library.name, "libcurl %s", version->version);
    library.number = version->version_num;
    return &library;
}
#endif

/* A table of objects behind URLs: their size and a hash of their ETag or date. */

#define MOST 65536 /* objects; those beyond are not compared */

static struct {
    pthread_mutex_t lock;
    struct table index;
    struct object {
        int64_t total;
        uint64_t state;
    } * items;
    size_t count, room;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum err seen_remember(const char *url, int64_t total, uint64_t state)
{
    const uint64_t key = table_hash(url, strlen(url));
    enum err e = ERR_OK;
    pthread_mutex_lock(&seen.lock);
    uint32_t at = table_get(&seen.index, key);
    if (at == TABLE_NONE && seen.count < MOST) {
        e = array_room(&seen.items, &seen.room, seen.count + 1, sizeof *seen.items);
        at = (uint32_t)seen.count;
        e = e ? e : table_put(&seen.index, key, at);
        seen.count += !e;
    }
    if (!e && at != TABLE_NONE)
        seen.items[at] = (struct object){total, state};
    pthread_mutex_unlock(&seen.lock);
    return e;
}

int seen_changed(const char *url, int64_t total, uint64_t state)
{
    pthread_mutex_lock(&seen.lock);
    const uint32_t at = table_get(&seen.index, table_hash(url, strlen(url)));
    const struct object was = at == TABLE_NONE ? (struct object){-1, 0} : seen.items[at];
    pthread_mutex_unlock(&seen.lock);
    const int alike = was.state && state && (was.state & 1) == (state & 1);
    return (was.total >= 0 && total >= 0 && was.total != total) || (alike && was.state != state);
}

/* Scheme, host and port of a URL, as they are written, less the scheme's own port. */
static size_t origin_length(const char *url)
{
    static const char *const own[] = {"http://", ":80", "https://", ":443"};
    const char *host = strstr(url, "://");
    size_t n = host ? (size_t)(host - url) + 3 : 0;
    n += strcspn(url + n, "/?#");
    for (int i = 0; i < 4; i += 2) {
        const size_t digits = strlen(own[i + 1]);
        if (!strncasecmp(url, own[i], strlen(own[i])) && n > digits &&
            !strncmp(url + n - digits, own[i + 1], digits))
            return n - digits;
    }
    return n;
}

int origin_same(const char *a, const char *b)
{
    const size_t n = origin_length(a);
    return n && n == origin_length(b) && !strncasecmp(a, b, n);
}
