/* The second plug-in of plugins.c, loaded where the first one was: a quarter of the work, on
 * another line. */
#include "spin.h"

double scale = 1.0;

double plug_work(double x)
{
    x *= scale;
    SPIN(x, 3000000); /* truth: b */
    return x;
}
