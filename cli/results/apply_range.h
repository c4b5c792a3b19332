/* Values that float32 cannot hold, on the way into and out of an operator of `apply`. */
#ifndef TP_CLI_RESULTS_APPLY_RANGE_H
#define TP_CLI_RESULTS_APPLY_RANGE_H

#include "host/suite/catalogue/state.h"

/* Notes how far the values of an input are from 1. npy_read has refused NaN and infinity, but for
 * volume and prepare operations, which define what they do with them. */
enum err apply_range_input(struct run_state *s, const struct array_pair *a);

/* Refuses a result that overflowed or vanished, although the input did not; warns where float32
 * lost digits. */
enum err apply_range_result(const struct run_state *s, const struct fingerprint *f);

#endif
