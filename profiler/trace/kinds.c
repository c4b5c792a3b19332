/* Names of record kinds, as the list in format.h has them. */
#include "profiler/trace/reader.h"

const char *trace_kind_name(uint16_t kind)
{
    switch (kind) {
#define X(name, number, type)                                                                      \
    case number:                                                                                   \
        return #name;
        TRACE_KIND_LIST(X)
#undef X
    default:
        return "?";
    }
}
