/* libcurl as this machine has it: opened at run time, so that a program from a package reads files
 * of servers with the machine's own TLS and certificates. The numbers of its options never change.
 */
#ifndef TP_STORE_FETCH_CURL_H
#define TP_STORE_FETCH_CURL_H

#include <stdint.h>

#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#include "base/err.h"

#if LIBCURL_VERSION_NUM < 0x074b00
#define CURLOPT_AWS_SIGV4 ((CURLoption)10305)
#endif
#if LIBCURL_VERSION_NUM < 0x075500
#define CURLOPT_PROTOCOLS_STR ((CURLoption)10318)
#endif
#define CURL_SIGNS     0x074b00u /* 7.75: signatures of S3 */
#define CURL_PROTOCOLS 0x075500u /* 7.85: protocols by name */

struct curl_library {
    unsigned number;
    char name[64]; /* "libcurl 7.88.1" */
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*easy_perform)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
    curl_version_info_data *(*version_info)(CURLversion);
};

/* To be called once. NULL where it cannot be opened; *why then says why. */
const struct curl_library *curl_open(const char **why);

/* Remembers servers' answers when objects were opened, so that parts of two files are never mixed.
 */

/* total: bytes, -1 unknown. state: of ETag (odd) or Last-Modified (even), 0 unknown. */
enum err seen_remember(const char *url, int64_t total, uint64_t state);
/* 1: an answer with these tells of another object than was opened. */
int seen_changed(const char *url, int64_t total, uint64_t state);

/* The servers that URLs name: a redirect may lead to the same one alone. */

/* 1: the same scheme, host and port, as they are written; http:// means port 80, https:// 443. */
int origin_same(const char *a, const char *b);

#endif
