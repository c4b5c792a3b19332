/* Reads a program's file before it runs. The launcher asks for the program that it starts, the
 * capture library for those which that one starts, between fork and exec: async-signal-safe,
 * without memory of its own. */
#ifndef TP_IMAGE_IMAGE_H
#define TP_IMAGE_IMAGE_H

#include <stddef.h>

struct image_traits {
    int foreign;   /* for another processor or word size */
    int is_static; /* no loader runs */
    int musl;      /* its loader is musl's */
    int sanitizer; /* Address-, Thread-, Memory- or HWAddressSanitizer */
    int go;
};

/* `data` is the whole file. 1: an ELF file; 0: not, and all traits are 0. */
int image_traits(const void *data, size_t size, struct image_traits *out);

#endif
