/* Rules about what a program waits for beside reads of storage: connections, page faults of mapped
 * files, fsync. */
#include <math.h>

#include "profiler/findings/io_finder.h"
#include "profiler/findings/io_rules.h"

/* D-IO of connections: it waits for answers. */
static enum err network(struct io_finder *f)
{
    const struct model_io_file *worst = NULL;
    for (int i = 0; i < f->m->io.endpoints_count; i++)
        if (f->m->io.endpoints[i].connects > 0 &&
            (!worst || f->m->io.endpoints[i].read.waited_s > worst->read.waited_s))
            worst = &f->m->io.endpoints[i];
    double gain = fmax(0, fmin(f->network, f->wall - f->cpu));
    if (!worst || !(f->network > 0.4 * f->quiet) || !(f->cpu < 0.6 * f->quiet))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.network",
        .severity = "warning",
        .title = "Network bound",
        .confidence = "medium",
        .file = worst,
        .gain = gain,
        .gain_low = 0,
        .advice = "Send several requests at once, ask for less, or keep a copy near the program.",
        .refuted_by = "Refuted if a server on this machine, with the same data, takes as long.",
        .test = "Serve the same data on this machine, then with that address: %s."};
    return io_found(f, &what,
                    "Connections waited %.3g s of %.3g s (%.0f %%), most of it %.200s: %.4g MiB "
                    "read, %lld requests, %.3g ms to the first byte; the CPU worked %.3g s.",
                    f->network, f->wall, 100 * f->network / f->wall, worst->path,
                    io_known(worst->read.mb),
                    (long long)(worst->requests > 0 ? worst->requests : 0),
                    io_known(worst->first_byte_ms), f->cpu);
}

/* IO5: what is mapped comes page by page. */
static enum err faults(struct io_finder *f)
{
    const struct model_io_file *most = NULL;
    double s = fmin(io_known(f->m->totals.wait.disk), f->wall);
    for (int i = 0; i < f->m->io.files_count; i++)
        if (f->m->io.files[i].touched_mb > (most ? most->touched_mb : 1))
            most = &f->m->io.files[i];
    if (!most || f->m->io.major_faults < 100 || !(s > 0.05 * f->wall))
        return ERR_OK;
    const struct io_finding what = {
        .id = "io.faults",
        .severity = "warning",
        .title = "A mapped file is read page by page",
        .confidence = "medium",
        .file = most,
        .gain = s,
        .gain_low = s / 4,
        .advice = "Tell the kernel what comes (madvise with MADV_WILLNEED or MADV_SEQUENTIAL), "
                  "read larger parts with pread, or visit the pages in order.",
        .refuted_by = "Refuted if a second run, with the file in the page cache, takes as long.",
        .test = "Record it again at once: %s; then tomoprof compare RUN1 RUN2."};
    return io_found(f, &what,
                    "%lld page faults waited for storage, about %.3g ms each: %.3g s (%.0f %%) of "
                    "the run. %.300s: %.4g MiB mapped, at most %.4g MiB of it touched.",
                    (long long)f->m->io.major_faults, 1e3 * s / (double)f->m->io.major_faults, s,
                    100 * s / f->wall, most->path, io_known(most->mapped_mb), most->touched_mb);
}

/* IO7: making files safe. */
static enum err syncing(struct io_finder *f)
{
    const struct model_io *io = &f->m->io;
    const struct model_io_file *most = NULL;
    if (!(io->sync_s > 0.05 * f->wall))
        return ERR_OK;
    for (int i = 0; i < io->files_count; i++)
        if (io->files[i].sync_s > (most ? most->sync_s : 0))
            most = &io->files[i];
    const struct io_finding what = {
        .id = "io.sync",
        .severity = "warning",
        .title = "The program waits until data is on disk",
        .confidence = "medium",
        .file = most,
        .gain = fmin(io->sync_s, f->wall),
        .gain_low = 0,
        .advice = "Sync once at the end, where that is safe enough.",
        .refuted_by = "Refuted if each of them has to be durable: then this is its price.",
        .test = "Leave out the calls of fsync but the last, then: %s."};
    if (!most)
        return io_found(f, &what, "fsync and its like took %.3g s (%.0f %% of the run).",
                        io->sync_s, 100 * io->sync_s / f->wall);
    return io_found(f, &what,
                    "fsync and its like took %.3g s (%.0f %% of the run), most of it %.300s: %lld "
                    "calls, %.3g ms each, for %.4g MiB written.",
                    io->sync_s, 100 * io->sync_s / f->wall, most->path, (long long)most->syncs,
                    1e3 * most->sync_s / (double)(most->syncs > 0 ? most->syncs : 1),
                    io_known(most->write.mb));
}

enum err wait_rules(struct io_finder *f)
{
    TRY(network(f));
    TRY(faults(f));
    return syncing(f);
}
