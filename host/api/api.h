/* Contexts, models and statuses behind tomoprof.h. */
#ifndef TP_API_API_H
#define TP_API_API_H

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include <tomoprof.h>

#include "base/err.h"
#include "host/backend/backend.h"
#include "host/geom/ct_model.h"

#define API_SENTENCE 1024

struct api_watch {
    tomoprof_watch *tell; /* NULL: nobody watches */
    void *user;
    pthread_t caller;
    int steps;              /* 1: STEP events are wanted */
    int64_t interval, next; /* ns, of RUNNING events; 0: none */
    pthread_mutex_t lock;   /* after fork() two threads tell */
};

struct tomoprof_context {
    struct backend *be;
    int threads; /* that the caller asked for */
    size_t memory;
    pid_t process;
    tomoprof_progress *progress;
    tomoprof_log *log;
    void *progress_user, *log_user;
    volatile int stop;
    int running;
    struct api_watch watch;
    char sentence[API_SENTENCE];
};

struct tomoprof_model {
    struct ct_model m;
    cJSON *given; /* the parameters that are not automatic */
};

/* ---- Failures and sizes (status.c) ---- */

tomoprof_status status_of(enum err e, const struct backend *be); /* be: that failed, or NULL */
/* Keeps the sentence for tomoprof_error(NULL), and returns BAD_ARGUMENT. */
tomoprof_status fail_without_context(const char *sentence);

/* Copies what the caller's header knew into *out, which holds the defaults. ERR_USAGE where it has
 * more than this library knows, and that is not zero. */
enum err sized_copy(const char *name, const void *given, size_t given_size, void *out, size_t size);

/* A model as JSON, malloc'ed. */
enum err model_text(const struct ct_model *m, char **text, size_t *bytes);

#endif
