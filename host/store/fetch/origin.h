/* The servers that URLs name: a redirect may lead to the same one alone. */
#ifndef TP_STORE_FETCH_ORIGIN_H
#define TP_STORE_FETCH_ORIGIN_H

/* 1: the same scheme, host and port, as they are written; http:// means port 80, https:// 443. */
int origin_same(const char *a, const char *b);

#endif
