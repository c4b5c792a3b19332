/* The ELF images of the process: where an address belongs, and the MODULE records. */
#ifndef TP_CAPTURE_CORE_UNWIND_MODULES_H
#define TP_CAPTURE_CORE_UNWIND_MODULES_H

#include <stddef.h>
#include <stdint.h>

struct capture_thread;

struct module {
    uintptr_t start, end, bias;
    uintptr_t eh_frame_hdr; /* 0 none */
};

int modules_start(void);
/* Writes what came and went since, returns 1; 0, cheaply, when nothing did. Takes the loader's lock
 * for a moment: never from a handler. */
int modules_refresh(struct capture_thread *t);
/* In a forked child: all of them are written again, to the new file. */
void modules_forked(struct capture_thread *t);
/* Around fork, so that the child does not inherit the loader's lock from a refresh. */
void modules_hold(void);
void modules_release(void);

/* The image at an address. Async-signal-safe. 0: none is known. */
int modules_find(uintptr_t address, struct module *m);
/* Grows with every load and unload of an image that was seen. */
uint32_t modules_generation(void);
/* The capture library itself. */
extern struct module modules_own;

#endif
