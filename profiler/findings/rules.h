/* Rules over a finished model: a row for each, with its texts and the function that looks at the
 * facts of the run. */
#ifndef TP_FINDINGS_RULES_H
#define TP_FINDINGS_RULES_H

#include "base/array.h"
#include "base/rootcause/rootcause.h"
#include "profiler/findings/run_facts.h"
#include "profiler/findings/thresholds.h"

enum { FINDING_LINES = 50 };

/* A finding while its rule fills it. The title, advice and refutation are the row's before. */
struct finding {
    const struct finding_rule *rule;
    const char *title, *advice, *refuted_by, *confidence;
    double gain_s, gain_low_s; /* NaN, as before: unknown */
    char evidence[1000];
    VECTOR(struct model_place) lines;
    enum err e; /* of `lines` */
};

/* Returns 1 where the rule fires, with gain, confidence, evidence and lines filled. */
typedef int rule_evaluate(const struct run_facts *f, struct finding *out);

struct finding_rule {
    struct cause_rule rule;
    const char
        *leads; /* kind of its answer, which may come before lines; NULL: a card of its own */
    int of_io;  /* 1: only where input and output were recorded */
    rule_evaluate *evaluate;
};

extern const struct finding_rule finding_rules[];
extern const size_t finding_rules_count;

/* Finds the row of an id; NULL: a finding of another version of tomoprof. */
const struct finding_rule *finding_rule_find(const char *id);

rule_evaluate rule_copy_pageable, rule_copy_pageable_async, rule_copy_host, rule_gpu_sync,
    rule_gpu_gaps, rule_gpu_small_kernels, rule_gpu_jit, rule_gpu_occupancy, rule_gpu_transfers,
    rule_gpu_first, rule_gpu_clocks, rule_gpu_hidden, rule_gpu_uncoalesced, rule_gpu_bank_conflicts,
    rule_gpu_memory_wait, rule_mem_churn, rule_mem_leak, rule_cpu_system, rule_cpu_python,
    rule_cpu_crowd, rule_io_storage, rule_io_decode, rule_io_reread, rule_io_small, rule_io_jumps,
    rule_io_open, rule_io_requests, rule_io_not_storage, rule_io_network, rule_io_faults,
    rule_io_sync, rule_io_placing, rule_io_processes, rule_io_slow_part, rule_io_memory,
    rule_io_uneven, rule_lock_held, rule_mpi_late, rule_mpi_transfer;

/* Adds to the evidence. */
void finding_evidence(struct finding *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_gain(struct finding *out, double low_s, double high_s, const char *confidence);
void finding_line(struct finding *out, const char *file, int64_t line, int64_t n, double value);

/* Adds the places at which the program calls for the file, or makes calls of one kind ("sync") for
 * it; NULL: none. */
void finding_file(struct finding *out, const struct model_io_file *file);
void finding_calls(struct finding *out, const struct model_io_file *file, const char *op);

/* Adds the lines of the model that have most of a value; NaN or 0: not concerned. */
typedef double line_value(const struct model_line *line);
void finding_lines_by(struct finding *out, const struct model *m, line_value *value);

#endif
