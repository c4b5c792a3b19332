/* From a scan file's counts to line integrals. */
#include <stdlib.h>

#include "host/base/memory.h"
#include "host/scan/correct.h"
#include "host/scan/projections.h"
#include "host/store/exchange/exchange.h"

void projections_free(struct projections *p)
{
    mem_free(p->sinogram);
    free(p->angles);
    *p = (struct projections){0};
}

enum err projections_read(const char *path, int64_t row_first, int64_t row_count,
                          struct projections *out)
{
    struct exchange_counts c;
    *out = (struct projections){0};
    TRY(exchange_read(path, row_first, row_count, &c));
    *out = (struct projections){c.views, c.rows, c.channels, c.counts, c.angles, 0};
    c.counts = c.angles = NULL;
    correct_transmission(out->sinogram, out->views, out->rows * out->channels, c.white, c.dark);
    exchange_counts_free(&c);
    enum err e =
        correct_repair(out->sinogram, out->views, out->rows, out->channels, &out->repaired);
    if (e) {
        projections_free(out);
        e = err_prefix(e, "%s", path);
    }
    return e;
}
