/* The ELF images of the process: where an address belongs, and the MODULE records. */
#ifndef TP_CAPTURE_CORE_UNWIND_MODULES_H
#define TP_CAPTURE_CORE_UNWIND_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/writer.h"

struct module {
    uintptr_t start, end, bias;
    uintptr_t eh_frame_hdr; /* 0 none */
};

int modules_start(size_t *bytes); /* 0 or errno; adds the memory that it maps */
/* Writes what came and went since (NULL: does not), returns 1; 0, cheaply, when nothing did. Takes
 * the loader's lock for a moment: never from a handler. */
int modules_refresh(struct trace_stream *stream);
/* The same where another thread is at it: after that, when it is done within 2 ms. */
void modules_refresh_now(struct trace_stream *stream);
/* In a forked child: all of them are written again, to the new file. */
void modules_forked(struct trace_stream *stream);
/* 0: the caller is the library's own thread, for which there is neither dlsym nor dl_iterate_phdr. */
int modules_may_lock(void);
/* 1: modules_each gives all images for as long as it lasts. 0: later, for it has asked for the
 * loader's lock: some turns on. */
int modules_are_whole(void);
/* dl_iterate_phdr for any thread of the library. Under modules_hold. Where modules_are_whole has not
 * been asked, an image may go meanwhile: it is read by image_read (later.h). */
struct dl_phdr_info;
int modules_each(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context);
/* Around fork, so that the child does not inherit the loader's lock from a refresh. */
void modules_hold(void);
void modules_release(void);

/* Sets the list of a process that is seen from outside: whole, sorted by start; instead of all
 * above. `unloaded`: one of those before is not in it. 0: no memory. */
int modules_set(const struct module *list, size_t n, int unloaded);

/* Finds the image at an address. Async-signal-safe. 0: none is known. */
int modules_find(uintptr_t address, struct module *m);
/* Tells the name of the image's file, "" of the program's, by the loader's list. Async-signal-safe.
 * NULL: none is known, or the C library is older than 2.35. */
const char *modules_name_at(uintptr_t address);
/* Grows with every load and unload of an image that was seen. */
uint32_t modules_generation(void);
/* Grows when images went: from then on an address may be another one's. */
uint32_t modules_unloads(void);
/* 1: a sample was taken in code outside of all images, which the program made. */
extern volatile int modules_outside;
/* The capture library itself. */
extern struct module modules_own;

#endif
