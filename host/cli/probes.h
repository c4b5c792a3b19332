/* What this machine lets a profile see: one probe per capability, each for itself. */
#ifndef TP_CLI_PROBES_H
#define TP_CLI_PROBES_H

#include "host/cli/facts.h"

/* A group "profiling" with state (ok, limited, missing), what was found, and where it is not ok the
 * consequence and what to do. */
void probes_say(struct facts *f);

#endif
