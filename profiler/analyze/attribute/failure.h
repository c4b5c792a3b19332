/* Tells what ended a process before its time. */
#ifndef TP_ANALYZE_ATTRIBUTE_FAILURE_H
#define TP_ANALYZE_ATTRIBUTE_FAILURE_H

#include "profiler/analyze/state/collector.h"

extern const struct collector collector_failure; /* fills model_process.failure */

#endif
