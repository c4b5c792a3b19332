/* Steps of libraries that may not check memory (JPEG, JPEG XR, blosc, bzip2, libtiff, GDCM) are decoded in a child,
 * which has no network, no file, and a limited memory and time. A worker starts its own. Where its
 * threads are not to fork, children are started before and lent to it. */
#ifndef TP_STORE_CODEC_CHILDREN_H
#define TP_STORE_CODEC_CHILDREN_H

#include <stdint.h>

#include "host/store/codec/codec.h"

int codec_needs_child(const struct codec_pipeline *p);
/* Opens the libraries of its codecs, which a child cannot. 0: one is missing. */
int codec_pipeline_available(const struct codec_pipeline *p);

/* As codec_decode_part, or codec_decode where `end` is 0. *from is `out`, or memory that the child
 * shares, until the worker's next chunk, so that nothing is copied: a child that a file has taken over
 * can change these values at any time. */
enum err codec_decode_lent(struct codec_worker *w, const struct codec_pipeline *p, const void *in,
                           size_t in_bytes, void *out, size_t out_bytes, size_t begin, size_t end,
                           const unsigned char **from);

/* Lends the worker a child for chunks of `bytes`, stored and decoded, from a list of idle ones (NULL at
 * first; several threads may use it), or a new one; none where it cannot be started. */
void codec_children_lend(struct codec_child **idle, struct codec_worker *w, size_t bytes);
void codec_children_take(struct codec_child **idle, struct codec_worker *w);
void codec_children_end(struct codec_child **idle);

/* CPU time of the worker's child since it began; 0: it has none. */
int64_t codec_child_cpu_ns(const struct codec_worker *w);

/* 0: JPEG, blosc and bzip2 have none, as fuzzers want. */
extern int codec_children_used;

#endif
