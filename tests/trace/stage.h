/* Traces with known answers: a process image written record by record, and what an analysis of the
 * folder says about it. Symbols are made up here: an address names its own function and line. */
#ifndef TP_TESTS_TRACE_STAGE_H
#define TP_TESTS_TRACE_STAGE_H

#include "profiler/analyze/analyze.h"
#include "profiler/trace/writer.h"

#define MS 1000000ull
#define T0 (1000000 * MS) /* when the first process starts */

enum stage_module {             /* address = module << 32 | line */
                    APP = 1,    /* /src/app.c, function "fLINE/100" */
                    LIBC,       /* no lines */
                    EVAL,       /* _PyEval_EvalFrameDefault of python3.11 */
                    PYTHON_C,   /* other code of the interpreter */
                    NATIVE_LIB, /* /x/site-packages/numpy/_core.so, no lines */
                    INLINED, /* /src/app.c: "inner" at the line, inlined into "outer" at line 7 */
                    HEADER,  /* /usr/include/c++/12/vector, inlined into nothing */
};
#define AT(module, line) (((uint64_t)(module) << 32) | (uint32_t)(line))

struct stage {
    struct trace_writer w;
    struct trace_stream s[8]; /* one per thread */
    int threads;
    uint64_t end; /* of the process; 0: 10 s after the first started */
};

/* A run folder with an empty trace/; removed by stage_end. */
void stage_start(void);
void stage_end(void);
extern char stage_folder[64];
/* Analyses it, with findings; the profile.json is also written to TP_PROFILES, if
 * set. */
struct model *stage_model(const struct analyze_options *options);

void stage_open(struct stage *st, int pid, uint64_t start);
int stage_thread(struct stage *st, uint32_t tid, const char *name, uint32_t flags);
void stage_close(struct stage *st, enum trace_end end, int detail);

void stage_meta(struct stage *st, const char *key, const char *value);
uint64_t stage_text(struct stage *st, const char *text);
uint64_t stage_code(struct stage *st, const char *file, const char *name, int line);
/* `native` addresses from the leaf, then `python` pairs {line | flags, code}. */
uint64_t stage_stack(struct stage *st, const uint64_t *words, int native, int python);
uint64_t stage_at(struct stage *st, uint64_t address); /* a stack of one frame */

void stage_sample(struct stage *st, int thread, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                  int mode);
void stage_wait(struct stage *st, uint32_t tid, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                int state);
void stage_wait_in(struct stage *st, uint32_t tid, uint64_t ms, uint64_t stack, uint64_t weight_ms,
                   int state, int syscall);
void stage_alloc(struct stage *st, int thread, uint64_t ms, uint64_t stack, uint64_t address,
                 uint64_t bytes, double weight);
void stage_free(struct stage *st, int thread, uint64_t ms, uint64_t address);
void stage_api(struct stage *st, int thread, uint64_t from_ms, uint64_t to_ms, uint64_t stack,
               const char *name, enum trace_api_class api_class, uint32_t correlation);
struct trace_kernel stage_kernel(struct stage *st, uint64_t from_ms, uint64_t to_ms,
                                 const char *name, uint32_t correlation);
struct trace_gpu_copy stage_copy(uint64_t from_ms, uint64_t to_ms, enum trace_copy_kind kind,
                                 uint64_t bytes, uint32_t correlation);
void stage_device(struct stage *st, uint32_t id, uint8_t uuid);
void stage_range(struct stage *st, int thread, uint64_t ms, enum trace_range_op op,
                 const char *name, uint64_t handle);
#define stage_put(st, thread, record)                                                              \
    trace_put(&(st)->s[thread], &(record)->r, sizeof *(record), NULL, 0)

/* The line of a file, NULL when it cost nothing; a quality item by its id. */
const struct model_line *stage_line(const struct model *m, const char *path, int line);
const struct model_function *stage_function(const struct model *m, const char *path,
                                            const char *name);
const struct model_item *stage_item(const struct model *m, const char *id);
int stage_lawful(const struct model *m); /* all conservation checks hold */

#endif
