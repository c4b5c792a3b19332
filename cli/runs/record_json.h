/* record.json: what only the launcher knows of a run. record_fields.h names its keys. */
#ifndef TP_CLI_RUNS_RECORD_JSON_H
#define TP_CLI_RUNS_RECORD_JSON_H

#include "profiler/analyze/model/model.h"
#include "profiler/record/record.h"

struct record_facts {
    const char **command; /* ends with NULL; NULL: no record.json */
    char **notes;
    struct record_end end, bare; /* bare.wall_s 0: there was no bare run */
    struct record_end *timed;    /* runs without the recorder that --runs asked for */
    int timed_count, warmup;
    int paused;                   /* the profile begins with the first region */
    double rate_hz;               /* 0: the library's own */
    const char *modes;            /* NULL: all */
    const char *cpu;              /* model of the processor; NULL unknown */
    int cpus;                     /* that the program could use; 0 unknown */
    struct record_disks *disks;   /* NULL: not looked at */
    struct record_clocks *clocks; /* likewise */
    struct record_prices prices;
    struct arena *arena; /* of what was read */
};

/* A copy of a command with secrets masked, malloc'ed; NULL: no memory. */
char **record_words_masked(const char *const *words);
void record_words_free(char **words);

enum err record_facts_write(const char *folder, const struct record_facts *facts);
/* Empty where the folder has none (the suite's runs); free it in any case. */
enum err record_facts_read(const char *folder, struct record_facts *out);
void record_facts_free(struct record_facts *f);

/* Adds the facts to environment and quality of the model. */
enum err record_facts_add(const struct record_facts *f, struct model *m);

#endif
