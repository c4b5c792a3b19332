/* The statistics of many durations as a row of the model. */
#ifndef TP_ANALYZE_BUILD_STAT_H
#define TP_ANALYZE_BUILD_STAT_H

#include "profiler/analyze/common/dist.h"
#include "profiler/analyze/model/model.h"

/* Returns seconds; unknown without a duration, the deviation also with only one. */
struct model_stat stat_of(struct dist *d);

#endif
