/* Decides whose code a frame is, from plain data: one table for all languages and all readers. */
#ifndef TP_ANALYZE_COMMON_OWNER_H
#define TP_ANALYZE_COMMON_OWNER_H

#include "base/arena.h"
#include "base/err.h"

/* In the order in which costs look for a frame: the innermost own or package's line has them, a
 * library's line only where a stack has nothing else, a runtime's line never. */
enum owner {
    OWNER_OWN,     /* the program: headline, cards, and filters follow it */
    OWNER_PACKAGE, /* an installed package that does the work that somebody looks for; generated */
    OWNER_LIBRARY, /* serves its callers: frameworks, standard libraries, tool chains */
    OWNER_RUNTIME, /* C library, interpreter, CUDA runtime; code of which nothing is known */
};

struct owner_program {                              /* NULL and 0: unknown */
    const char *exe, *cwd, *script, *script_folder; /* as recorded */
    int python;                                     /* Python's interpreter runs in it */
    int child;    /* another program started it: it is own only outside the system's folders */
    int stripped; /* relative paths may have lost the folders of their package or of Python */
    /* The options of the same names, see analyze.h. */
    const char *const *include, *const *exclude;
    int libraries;
};

struct owner_frame {
    const char *file, *shown; /* as recorded; as shown, where the program has include or exclude */
    const char *function, *module;
    int python; /* a frame of Python, not compiled */
};

enum owner frame_owner(const struct owner_program *p, const struct owner_frame *f);

/* 1: the module is Python's interpreter, a program or a library. Where the module is unknown, as in
 * captures of other tools, the file is one of CPython's sources, or unknown too. */
int owner_is_interpreter(const char *module, const char *file);

/* Takes the script and its folder from the command line, words divided by line ends. p->cwd is
 * known. ERR_MEMORY. */
enum err owner_command(struct owner_program *p, struct arena *arena, const char *cmdline);

#endif
