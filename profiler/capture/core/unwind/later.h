/* Images that the program loads after its start, seen without the loader's lock, which is not for
 * the library's own thread while glibc takes the program for one of one thread (one_thread.h). */
#ifndef TP_CAPTURE_CORE_UNWIND_LATER_H
#define TP_CAPTURE_CORE_UNWIND_LATER_H

#include <link.h>
#include <stdint.h>

/* glibc 2.35 and later answer "which image" without a lock; found at run time so that the library
 * also loads into processes with an older one. The layout is part of glibc's ABI (dlfcn.h). */
struct found_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *eh_frame_hdr;
    unsigned long long reserved[8];
};
extern int (*later_find_object)(void *, struct found_object *); /* NULL: there is none */

/* Follows the loader's list from the last image of the start on. 1: images came or went; 0: none
 * did, or those that did are not whole yet; -1: one cannot be told this way. By one thread at a
 * time, under modules_hold. */
int later_follow(const struct link_map *last_of_first);
/* Copies of what describes them, in the loader's order: the images themselves may go at any moment,
 * and are read by image_read alone. */
size_t later_count(void);
void later_forget(void); /* all of them: they are told anew, as having come */
struct dl_phdr_info *later_info(size_t i);

/* Reads memory of an image: through the kernel where nothing keeps the loader from unmapping it
 * meanwhile. 0: it is gone. */
int image_read(uintptr_t at, void *to, size_t bytes);

#endif
