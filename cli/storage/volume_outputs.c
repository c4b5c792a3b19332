/* Stacks of TIFF and PNG and OME-Zarr of a finished volume. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/storage/volume_outputs.h"
#include "cli/storage/volume_page.h"
#include "host/store/writer/slices.h"

static enum err check_one(const char *option, const char *path)
{
    char folder[4096];
    struct stat st;
    if (!path)
        return ERR_OK;
    const size_t n = strlen(path);
    FAIL_IF(!n || path[n - 1] == '/' || n > 4000, ERR_USAGE,
            "--%s %s: give a name that does not end in /", option, path);
    path_folder(path, folder, sizeof folder);
    FAIL_IF(!stat(path, &st), ERR_USAGE,
            "--%s %s: exists already: remove it, or choose another name", option, path);
    FAIL_IF(access(folder, W_OK), ERR_USAGE, "--%s %s: cannot be written: %s", option, path,
            strerror(errno));
    return ERR_OK;
}

enum err volume_outputs_check(const struct volume_outputs *o)
{
    TRY(check_one("tiff", o->tiff));
    TRY(check_one("pngs", o->pngs));
    FAIL_IF(o->ome_zarr && !text_has_suffix(o->ome_zarr, ".zarr"), ERR_USAGE,
            "--ome-zarr %s: the name must end in .ome.zarr or .zarr", o->ome_zarr);
    FAIL_IF(o->page && !text_has_suffix(o->page, ".html"), ERR_USAGE,
            "--page %s: the name must end in .html", o->page);
    return check_one("ome-zarr", o->ome_zarr);
}

/* Orders slices, rows, columns. */
static struct writer_options options_of(const char *volume, const struct volume *v)
{
    const int npy = text_has_suffix(volume, ".npy");
    return (struct writer_options){
        .order = {2, npy ? 0 : 1, npy ? 1 : 0},
        .order_dims = 3,
        .spacing = {volume_delta_slice(v), volume_delta_row(v), v->delta}};
}

static enum err write_slices(const char *volume, const struct volume *v, const char *folder,
                             int png, int bar)
{
    struct slices_request r = {
        .options = options_of(volume, v), .png = png, .bar = bar, .pitch = v->delta};
    TRY(slices_write(volume, folder, &r));
    log_info("%s: %" PRId64 " slices%s", folder, r.count, png ? "" : ", float32");
    if (png)
        log_info("black is %g, white %g in each", r.low, r.high);
    return ERR_OK;
}

enum err volume_outputs_write(const struct volume_outputs *o, const struct scan_context *s)
{
    const char *const volume = s->request->out;
    const struct volume *v = &s->model.volume;
    const struct writer_options options = options_of(volume, v);
    struct writer_result r;
    if (o->tiff && text_has_suffix(o->tiff, ".tif")) {
        TRY(store_convert(volume, o->tiff, &options, &r));
        log_info("%s: a page for each of %" PRId64 " slices, float32", o->tiff, v->slices);
    } else if (o->tiff) {
        TRY(write_slices(volume, v, o->tiff, 0, 0));
    }
    if (o->pngs)
        TRY(write_slices(volume, v, o->pngs, 1, s->request->scale_bar));
    if (o->ome_zarr) {
        TRY(store_pyramid(volume, o->ome_zarr, &options, &r));
        log_info("%s: OME-Zarr 0.5 of %d levels", o->ome_zarr, r.levels);
    }
    if (o->page) {
        char about[256];
        snprintf(about, sizeof about, "Reconstructed by %s on %s", scan_method_name(s->method),
                 s->be->device);
        struct volume_page p = {.reference = s->request->reference,
                                .about = about,
                                .v = v,
                                .quality = s->result->quality};
        TRY(volume_page_write(o->page, volume, &p));
        log_info("%s: a page of %d sections and the histogram", o->page, p.sections);
    }
    return ERR_OK;
}
