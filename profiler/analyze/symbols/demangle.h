/* Readable names of C++, CUDA and Rust functions. */
#ifndef TP_ANALYZE_SYMBOLS_DEMANGLE_H
#define TP_ANALYZE_SYMBOLS_DEMANGLE_H

/* A malloc'ed readable name, or a copy of `mangled` where it is none or the machine has no C++
 * library. NULL: out of memory. */
char *demangle(const char *mangled);

/* The same for Rust's scheme v0 alone, without clones behind its end. NULL: another name, or no memory. */
char *demangle_rust(const char *mangled);

#endif
