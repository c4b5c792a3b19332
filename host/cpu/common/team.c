/* The least work that is worth waking the other threads for. */
#include "host/cpu/common/team.h"

int64_t cpu_team_least = 1 << 18;
