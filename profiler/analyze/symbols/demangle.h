/* Readable names of C++ and CUDA functions. */
#ifndef TP_ANALYZE_SYMBOLS_DEMANGLE_H
#define TP_ANALYZE_SYMBOLS_DEMANGLE_H

/* A malloc'ed readable name, or a copy of `mangled` where it is none or the machine has no C++
 * library. NULL: out of memory. */
char *demangle(const char *mangled);

#endif
