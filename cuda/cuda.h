/* The face of the CUDA back end, in plain C: a shared object that is opened at run time, so that
 * the same program runs where no CUDA driver exists. */
#ifndef TP_CUDA_CUDA_H
#define TP_CUDA_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "host/backend/backend.h"
#include "base/log.h"

/* The shared object gets these from the program that opens it, so that both have one error text per
 * thread and one domain of marks. */
struct cuda_services {
    size_t seam; /* sizeof(struct backend_ops): both sides were built from the same backend.h */
    enum err (*err_set)(enum err code, const char *file, int line, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
    char *(*human)(double bytes, char out[16]);
    void (*mark_push)(const char *name, uint64_t payload);
    void (*mark_pop)(void);
    void (*log_line)(enum log_level level, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
};

/* The only symbol of a shared object. NULL when it was built from another backend.h. */
#define CUDA_ENTRY_NAME "tomoprof_cuda"
typedef const struct backend_ops *cuda_entry(const struct cuda_services *services);

/* The services of this program, which a test passes to the entry itself. */
extern const struct cuda_services cuda_services;

/* The back end is built once for each major version of CUDA: a driver serves its own and older
 * ones. */
struct cuda_build {
    int major;         /* 12 */
    int driver;        /* the first that serves it: 525 */
    const char *cufft; /* the name of its cuFFT: libcufft.so.11 */
    char path[4096];   /* its shared object */
};

/* The version of CUDA that the driver here serves, 12070 for 12.7; 0 where none answers. */
int cuda_driver_serves(void);

/* The newest build that lies here (in the folder of the program, the one above, where programs of
 * tests are, or ../lib/tomoprof, where it is installed) and that the driver serves; without a
 * driver, or where it serves none, the newest or the oldest one, which says what is missing; NULL
 * where none lies here. $TOMOPROF_CUDA names the shared object instead, of major 0. */
const struct cuda_build *cuda_chosen(void);

/* Opens it. ERR_UNSUPPORTED with the reason. For backend_register_loader. */
enum err cuda_load(const struct backend_ops **ops);

#endif
