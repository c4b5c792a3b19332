/* The first plug-in of plugins.c: three quarters of the work. */
#include "spin.h"

double plug_work(double x)
{
    SPIN(x, 9000000); /* truth: a */
    return x;
}
