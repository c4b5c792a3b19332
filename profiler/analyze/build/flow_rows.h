/* What recordings and imported captures make of their flows. */
#ifndef TP_ANALYZE_BUILD_FLOW_ROWS_H
#define TP_ANALYZE_BUILD_FLOW_ROWS_H

#include "profiler/analyze/common/flow.h"
#include "profiler/analyze/model/model.h"

enum err flow_rows(struct model *m, const struct flows *flows);

#endif
