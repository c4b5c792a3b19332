/* Finds separate debug information: on this machine, and only where DEBUGINFOD_URLS is set, on the
 * servers that it names. */
#ifndef TP_ANALYZE_SYMBOLS_DEBUG_FILES_H
#define TP_ANALYZE_SYMBOLS_DEBUG_FILES_H

#include <stdint.h>

/* Folders like /usr/lib/debug, which is always one of them; TOMOPROF_DEBUG_DIR names another.
 * Each returns an open descriptor and its malloc'ed path, or -1. */
int debug_file_by_id(const void *build_id, int bytes, const char *suffix, char **path);
/* .gnu_debuglink of the ELF file `main`: beside it, in .debug there, and in the folders. */
int debug_file_by_link(const char *main, const char *link, uint32_t crc, char **path);
/* Asks a server, or the cache of elfutils' client; as above. */
int debug_file_by_server(const void *build_id, int bytes, char **path);
int debug_server_client(void);         /* 1: the client is installed */
int debug_file_open(const char *path); /* -1 unless a regular file */

#endif
