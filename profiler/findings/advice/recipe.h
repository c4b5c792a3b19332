/* A row of the table of recipes, recipe_rows.c. */
#ifndef TP_FINDINGS_ADVICE_RECIPE_H
#define TP_FINDINGS_ADVICE_RECIPE_H

#include <stddef.h>

#include "profiler/findings/advice/parts.h"

enum recipe_fact {
    FACT_PYTHON = 1,
    FACT_COMPILED = 2,
    FACT_NO_LINES = 4,      /* the code has no line table */
    FACT_HOLDS_LOCK = 8,    /* other threads wait for a lock that the line holds */
    FACT_HOLDS_GIL = 32768, /* and that is the GIL */
    FACT_ONE_THREAD = 16,   /* the line runs on one thread, and there are more CPUs */
    FACT_CROWDED = 32,      /* more threads compute than there are CPUs */
    FACT_PROCESSES = 64,    /* the run has several */
    FACT_HDF5 = 128,
    FACT_REREAD = 256,    /* bytes of a file are read several times */
    FACT_DATASET = 512,   /* the line is in a __getitem__ */
    FACT_GROWS = 1024,    /* x = f(x, ...) */
    FACT_APPLIED = 2048,  /* the line that calls its function has .apply( */
    FACT_COMPILES = 8192, /* a good part of the line is compilation */
    FACT_SMALL = 16384,   /* files are read in many small pieces */
    FACT_LOOP = 65536,    /* a part of the line runs an event loop */
    FACT_POOL = 131072,   /* a part of the line hands work over to a pool */
    FACT_BUSY = 262144,   /* other programs kept the CPUs busy */
    RECIPE_FIRST = 4096,  /* no fact: the row goes before those of larger parts, from 25 % on */
};
struct recipe_facts {
    const char *text; /* of the line, "" unknown */
    int has;          /* enum recipe_fact */
};
struct advice_recipe {
    const char *kind;  /* of the part, or how it begins; NULL: whatever the parts are */
    const char *text;  /* parts of the line's text, of the function's name where the kind is "call",
                           divided by |; NULL: any */
    int needs, unless; /* enum recipe_fact */
    const char *advice; /* %s: the part in words; %t threads compute on %c CPUs */
};
extern const struct advice_recipe recipes[]; /* of rows that fit, the first */
extern const size_t recipes_count;

#endif
