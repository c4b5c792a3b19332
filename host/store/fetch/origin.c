/* Compares the servers that two URLs name. */
#include <string.h>
#include <strings.h>

#include "host/store/fetch/origin.h"

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
