#include "profiler/capture/core.h"

void wait_begin(void)
{
}
void wait_stop(void)
{
}
void wait_hold(int on)
{
    (void)on;
}
void wait_forked(void)
{
}
void wait_wake(void)
{
}

const struct capture_part part_wait = {.name = "wait", .index = 1, .modes = CAPTURE_WAIT};
