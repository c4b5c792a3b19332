/* Steps on volumes: the entry of the back end's table (host/backend/backend.h), and its parts. */
#ifndef TP_CPU_VOLUME_VOLUME_H
#define TP_CPU_VOLUME_VOLUME_H

#include "host/backend/backend.h"

enum err cpu_volume_step(struct backend *be, const struct volume_step *step,
                         const struct buffer *in, struct buffer *out);

extern size_t cpu_volume_stream_least; /* tests want small results past the caches, too */

/* The parts: checked, allocated, in and out apart. `stream`: the result is written past the caches.
 */
struct volume_job {
    const struct volume_step *step;
    const float *in;
    void *out;
    const struct backend *be; /* asked for the wish to end, which leaves the rest out */
    int threads, stream;
    int64_t ahead; /* struct volume_line's, 0: the usual */
};
/* Row after row of n floats of the result, each by `make`: row r of columns c. */
struct volume_line;
typedef void volume_row(const struct volume_job *j, const void *context, int thread, int64_t r,
                        int64_t c, float *out, struct volume_line *line);
void volume_rows(const struct volume_job *j, volume_row *make, const void *context);

enum err volume_map(const struct volume_job *j);
void volume_place(const struct volume_job *j);
enum err volume_resample(const struct volume_job *j);
void volume_halve(const struct volume_job *j);

#endif
