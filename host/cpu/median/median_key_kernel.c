/* The kernel of median_kernel.c on integers that are in the same order as the floats. */
#define MEDIAN_KEYS
#include "host/cpu/median/median_kernel.c"
