/* The model against designs that were published: what each reports, what the same formulas say for
 * its device. */
#ifndef TP_FPGA_BACKTEST_H
#define TP_FPGA_BACKTEST_H

#include "profiler/triage/model/fpga.h"

struct backtest {
    const char *design, *device, *unit; /* unit of the numbers: "GUPS", "x" */
    double published;                   /* NAN: no number was published that could be compared */
    struct bounds modelled;
    double factor; /* middle of modelled over published; NAN likewise */
    const char *how, *source;
    const char *outside; /* NULL: compared, within a factor of 2; else why not */
};
int backtest_count(void);
struct backtest backtest_run(int i, const struct weights *w);

#endif
