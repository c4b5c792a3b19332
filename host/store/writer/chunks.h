/* For formats whose arrays lie in chunks: their size, and slabs cut into them by all threads. */
#ifndef TP_STORE_WRITER_CHUNKS_H
#define TP_STORE_WRITER_CHUNKS_H

#include "host/store/writer/writer.h"

/* Those of --chunk, cut to the array, or cubes of about 1 MiB. */
enum err chunks_choose(const struct writer *w, int64_t chunk[STORE_DIMS]);

/* A chunk as it is stored; `at` counts chunks. Called by many threads. */
typedef enum err (*chunks_put)(struct writer *w, const int64_t at[STORE_DIMS], const void *bytes,
                               size_t n);

/* Writes the chunks of a box that begins where chunks do. Chunks at the edges are filled up with 0. The
 * first error of a thread is the caller's. */
enum err chunks_write(struct writer *w, const int64_t chunk[STORE_DIMS],
                      const struct codec_pipeline *pipeline, const struct engine_box *b,
                      const void *data, chunks_put put, int threads);
/* Writes one row of chunks, `count` planes from `first` on, by all threads. */
enum err chunks_write_slab(struct writer *w, const int64_t chunk[STORE_DIMS],
                           const struct codec_pipeline *pipeline, int64_t first, int64_t count,
                           const void *data, chunks_put put);

#endif
