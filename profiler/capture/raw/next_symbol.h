/* The definitions that follow the library's own in the program's images. */
#ifndef TP_CAPTURE_RAW_NEXT_SYMBOL_H
#define TP_CAPTURE_RAW_NEXT_SYMBOL_H

/* dlsym(RTLD_NEXT, name) of a function, without the loader's lock where that can be. */
void *next_symbol(const char *name);

/* The file of this library, by the name under which it was loaded; NULL: the loader does not have it. */
const char *own_image_name(void);

/* A function of the kernel's page in each process, NULL: it has none of this name. */
void *kernel_symbol(const char *name);

#endif
