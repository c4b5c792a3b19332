/* Opens libcurl: by the names that distributions give it, then in the conda environment. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
