/* The operations on stores: rows of the catalogue. Stores are made of the suite's phantom in a
 * folder of $TMPDIR: `sliced` (a chunk for each slice), `blocks` of 64^3, and `http`: the sliced
 * one behind a server of byte ranges in this process, which answers each request after a latency.
 */
#ifndef TP_SUITE_CATALOGUE_STORAGE_H
#define TP_SUITE_CATALOGUE_STORAGE_H

#include "host/suite/catalogue/catalogue.h"

extern const struct operation_rows storage_operations;

/* A server of the files below `folder` on the loopback interface, one thread for each connection.
 */
struct range_server {
    char folder[4096], url[64];
    int fd, latency_ms;
    unsigned long thread;
};
enum err range_server_start(struct range_server *s, const char *folder, int latency_ms);
void range_server_stop(struct range_server *s); /* all zero is fine */

#endif
