/* The one place that knows which back ends exist in this build. */
#ifndef TP_BACKEND_REGISTRY_H
#define TP_BACKEND_REGISTRY_H

#include "host/backend/backend.h"

/* The environment's limit of a device's memory (4GiB), for options that name none: it reaches child
 * processes too. */
#define BACKEND_DEVICE_MEMORY "TOMOPROF_DEVICE_MEMORY"

/* Returns 1 where $TOMOPROF_CALIBRATION is "brief": a calibration takes a small part of its time
 * and memory, and finds less than the peak. Tests set it, where they check what is done with a peak
 * and not how high it is. */
int backend_calibration_is_brief(void);
/* 1 where it is "trusted": what is kept of an earlier calibration is taken unchecked. */
int backend_calibration_is_trusted(void);

/* "cpu", "cuda", or "auto" (cuda where it works, else cpu). ERR_USAGE with the names that exist
 * otherwise; ERR_UNSUPPORTED with the reason when a known one cannot run here. */
enum err backend_open(const char *name, const struct backend_options *options,
                      struct backend **out);
void backend_close(struct backend *be); /* NULL is fine */

/* Why the last "auto" did not take a back end of this build that it prefers; "" when it did. */
const char *backend_passed_over(void);

/* Row `index` of the table: name, and why it cannot be used ("" when it can). Returns 0 past the
 * end. */
int backend_describe(int index, const char **name, const char **unusable_reason);

/* Called once by the program's main() (the composition root) for each back end it was linked with.
 */
void backend_register(const struct backend_ops *ops);

/* For a known back end that is opened at run time: `load` is called when its name is first asked
 * for, once; a failure's sentence becomes the reason. */
typedef enum err backend_loader(const struct backend_ops **ops);
void backend_register_loader(const char *name, backend_loader *load);

#endif
