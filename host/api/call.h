/* How a call of tomoprof.h checks its arrays, computes and ends. */
#ifndef TP_API_CALL_H
#define TP_API_CALL_H

#include "host/api/api.h"
#include "host/recon/recon.h"

enum form {
    FORM_VOLUME,    /* the model's */
    FORM_SINOGRAM,  /* the model's */
    FORM_CYLINDERS, /* (count, the model's slices) */
    FORM_ANY,       /* three dimensions */
    FORM_ALIKE,     /* of the shape of the first array */
    FORM_GIVEN      /* as call.shape and call.type say */
};
enum way { WAY_IN, WAY_OUT };

/* An array of a call, by the name of its parameter. */
struct operand {
    const char *name;
    enum form form;
    enum way way;
    const tomoprof_array *array; /* NULL: not given */
    int optional;
    int may_equal; /* bits of later operands that may be the same array */
    int raw;       /* of the back end's own type (steps): its bytes are not converted */

    /* Filled by operand_check: the caller's description, its strides filled; where it lies. */
    tomoprof_array a;
    int64_t elements;
    const char *low, *high;
    /* Filled for the computation: memory of the host, which is the caller's or a copy. */
    float *host, *copy;
    struct buffer buffer; /* for the back end; ptr NULL: not given */
};
#define CALL_OPERANDS 5

struct api_call {
    tomoprof_context *context;
    const tomoprof_model *model;
    int needs_model;
    struct operand operands[CALL_OPERANDS];  /* those with a name */
    enum err (*prepare)(struct api_call *k); /* before the arrays are looked at (optional) */
    enum err (*check)(struct api_call *k);   /* values, once the arrays are right (optional) */
    enum err (*compute)(struct api_call *k);
    const void *options;
    void *result;
    int on_host; /* 1: the computation wants host memory */
    int places;  /* 1: `op` decides where the arrays lie */
    int counts;  /* 1: tells its progress itself, by call_progress */
    enum recon_op op;
    int64_t count;    /* of FORM_CYLINDERS */
    int64_t shape[3]; /* of FORM_GIVEN */
    tomoprof_type type;

    /* Filled by call_run. */
    struct backend *be;
    const struct ct_model *m;
    int large; /* arrays stay in host memory and pass the device in slabs */
};

/* Runs a call: checks, computes, records the sentence of a failure. */
tomoprof_status call_run(struct api_call *k);
/* The same for work without arrays: `work` runs where calls may. */
tomoprof_status call_simple(tomoprof_context *c, enum err (*work)(void *state), void *state);

/* Finds the place of the name `given` in "a|b|c"; ERR_USAGE with all of them, where it has none. */
enum err choice_check(const char *parameter, const char *given, const char *names, int *out);
/* ERR_USAGE where iterations, threshold or seed are out of range. */
enum err recon_options_check(const tomoprof_recon_options *o);
/* ERR_USAGE where a seed has more than 32 bits. */
enum err seed_check(int64_t seed);

/* A buffer that was given, or NULL. */
const struct buffer *operand_buffer(const struct operand *o);
/* Tells the caller's callbacks; a wish to end sets the context's `stop`. */
void call_progress(void *context, int64_t done, int64_t total);

/* ---- Events of a call (watch.c) ---- */

/* A call begins: the first RUNNING event is due after the interval. */
void watch_begin(tomoprof_context *c);
/* Passes an event on, unless somebody has already asked for the end. */
void watch_send(tomoprof_context *c, tomoprof_event event);
/* Sends a STEP event where they are wanted. */
void watch_step(tomoprof_context *c, double done, double total);
/* Sends a RUNNING event where one is due. watch_poll is backend.look: it does so only in the thread
 * that made the call. */
void watch_running(tomoprof_context *c);
void watch_poll(void *context);
/* Waits for the helper that computes a call of `c`, and sends its RUNNING events. */
void watch_join(tomoprof_context *c, pthread_t helper);

/* ---- Partitions of the caller's (subsets.c) ---- */

/* Checks them, and what visits them where `visits` is 1. partitions NULL: there are none. Free it
 * with subsets_free; the pixels stay the caller's. */
enum err subsets_take(const tomoprof_recon_options *o, int64_t pixels, int visits,
                      struct mbir_subsets *out);
void subsets_free(struct mbir_subsets *s);

/* ---- Arrays (array.c, convert.c) ---- */

/* Checks the description against what the call expects, and finds where the array lies. */
enum err operand_check(const struct api_call *k, struct operand *o);
/* No array may overlap one that is written. */
enum err operands_check_overlap(const struct api_call *k);
/* float32 in C order: used where it lies. */
int operand_is_plain(const struct operand *o);
size_t type_bytes(tomoprof_type type);
const char *type_name(tomoprof_type type);
/* Copies the caller's array into float32 in C order, or back. */
void operand_read(const struct operand *o, float *out);
void operand_write(const struct operand *o, const float *in);

#endif
