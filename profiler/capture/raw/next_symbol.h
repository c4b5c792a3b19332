/* The definitions that follow the library's own in the program's images. */
#ifndef TP_CAPTURE_RAW_NEXT_SYMBOL_H
#define TP_CAPTURE_RAW_NEXT_SYMBOL_H

/* dlsym(RTLD_NEXT, name) of a function, without the loader's lock where that can be. */
void *next_symbol(const char *name);

#endif
