/* The command `load`: where the time of loading a file goes, and which way is fastest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/run_folder.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/storage/paths.h"
#include "cli/storage/sandbox.h"
#include "host/backend/cpu_name.h"
#include "host/backend/registry.h"
#include "host/backend/streams.h"
#include "host/load/against.h"
#include "profiler/trace/secrets.h"

/* Loading into pinned memory and on to the device, through the back end's interface. */

#define PIECE ((size_t)16 << 20)

struct device {
    struct backend *be;
    struct buffer buffer;
};

static enum err device_pin(void *self, void *host, size_t bytes)
{
    struct backend *be = ((struct device *)self)->be;
    return be->ops->streams->pin(be, host, bytes);
}

static void device_unpin(void *self, void *host)
{
    struct backend *be = ((struct device *)self)->be;
    be->ops->streams->unpin(be, host);
}

static enum err device_reserve(void *self, size_t bytes)
{
    struct device *d = self;
    return d->be->ops->alloc(d->be, "array on the device", bytes, &d->buffer);
}

/* Pieces follow each other in one stream; they go on their way while the caller reads. */
static enum err device_send(void *self, const void *pinned, size_t at, size_t bytes)
{
    struct device *d = self;
    const struct backend_streams *s = d->be->ops->streams;
    for (const size_t end = at + bytes; at < end; at += PIECE)
        TRY(s->send(d->be, (const char *)pinned + at, end - at < PIECE ? end - at : PIECE,
                    &d->buffer, at));
    return ERR_OK;
}

static enum err device_sent(void *self)
{
    struct device *d = self;
    return d->be->ops->streams->finish(d->be);
}

/* Compares the bytes that came with those that were sent. */
static enum err device_check(void *self, const void *pinned, size_t bytes)
{
    struct device *d = self;
    enum err e = ERR_OK;
    unsigned char *back = malloc(PIECE);
    FAIL_IF(!back, ERR_MEMORY, "no memory left to compare what the device holds");
    for (size_t at = 0; at < bytes && !e; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        const struct buffer part = {
            .place = d->buffer.place, .bytes = n, .ptr = (char *)d->buffer.ptr + at};
        e = d->be->ops->download(d->be, &part, back, n);
        if (!e && memcmp(back, (const char *)pinned + at, n) != 0)
            e = FAIL(ERR_INTERNAL, "the device holds other bytes than were sent, from %zu on", at);
    }
    free(back);
    return e;
}

/* ERR_UNSUPPORTED: this machine or this build has no GPU that it can use. */
static enum err device_open(struct load_device *out)
{
    struct device *d = calloc(1, sizeof *d);
    FAIL_IF(!d, ERR_MEMORY, "no memory left to open the GPU");
    enum err e = backend_open("cuda", &(struct backend_options){0}, &d->be);
    if (e) {
        free(d);
        return err_prefix(e, "--to pinned and --to device need a GPU");
    }
    *out = (struct load_device){d,           device_pin,  device_unpin, device_reserve,
                                device_send, device_sent, device_check};
    return ERR_OK;
}

/* all zero is fine */
static void device_close(struct load_device *out)
{
    struct device *d = out->self;
    if (!d)
        return;
    if (d->buffer.ptr)
        d->be->ops->release(d->be, &d->buffer);
    backend_close(d->be);
    free(d);
    *out = (struct load_device){0};
}

static struct load_request request = {.stop = &cli_stop};
static const char *fetch = "pread", *boxes, *out, *scene, *scaling, *copy;
static int64_t keep;
static int explain, tune, json;

static struct opt options[] = {
    OPTION_TEXT("array", 0, request.array, "NAME", "the array to load (default: the largest)"),
    OPTION_TEXT("channel", 0, request.channel, "NAME|N",
                "a channel of it, by name or number from 0"),
    OPTION_TEXT("scene", 0, scene, "NAME|N", "the scene of a CZI to load, in place of --array"),
    OPTION_TEXT(
        "scaling", 0, scaling, "2,4",
        "also read levels of the file that are so much smaller,\nor make means, and compare"),
    OPTION_OUTPUT("copy", 0, copy, "FILE",
                  "also convert it into FILE; tells after how many reads that pays"),
    OPTION_INT("tiles", 'n', request.chunks, "N", "load N chunks, evenly chosen (default: all)", 1,
               1e9),
    OPTION_TEXT("fetch", 0, fetch, "pread|mmap|direct|uring", "way to get the bytes"),
    OPTION_INT("threads", 't', request.options.threads, "N",
               "workers; 0: all that this process may use", 0, 256),
    OPTION_INT("processes", 0, request.options.processes, "N", "processes instead of threads", 0,
               256),
    OPTION_INT("batch", 0, request.options.batch, "N",
               "chunks that are fetched together; 0: by their size", 0, 10000),
    OPTION_INT("gap", 0, request.options.gap, "BYTES",
               "join requests this close; 0: 4096, HTTP 65536; -1: never", -1, 1 << 30),
    OPTION_INT("largest", 0, request.options.largest, "BYTES",
               "of a joined request (default: 16 MiB)", 0, 1 << 30),
    OPTION_TEXT("boxes", 0, boxes, "A,B,C", "read boxes of this size, one after the other"),
    OPTION_INT("keep", 0, keep, "MIB", "decoded chunks that stay in memory between boxes", 0,
               1 << 20),
    OPTION_CHOICE("order", 0, request.options.order, ENGINE_ORDERS, "order of the chunks"),
    OPTION_CHOICE("cache", 0, request.cache, "as-is|warm|cold",
                  "state of the page cache before each run"),
    OPTION_CHOICE("to", 0, request.to, "memory|pinned|device",
                  "place into memory that a GPU reads, or on it"),
    OPTION_FLAG("float32", 0, request.as_float, "convert to float32, as a reconstruction does"),
    OPTION_CHOICE("sweep", 0, request.sweep, "none|quick|medium|full",
                  "measure other ways and rank them"),
    OPTION_FLAG("explain", 0, explain, "compare a few cached chunks with the real load"),
    OPTION_FLAG("tune", 0, tune, "--sweep medium, then print the options to use"),
    OPTION_NUMBER("budget", 0, request.budget_s, "SECONDS",
                  "end the sweep after this time (quick 60, medium 600, full none)", 0.1, 1e7),
    OPTION_PLACE("out", 'o', out, "DIR", "folder for the results (default tomoprof-runs)"),
    CLI_OPT_LINKS,
    CLI_OPT_JSON(json),
    {0},
};

/* A test that loads a few chunks from the page cache says little of the real load. */
static enum err load_print_small(const struct load_request *r, const struct loading *whole)
{
    struct load_request small = *r;
    struct load_session s;
    struct loading *l;
    small.chunks = 4;
    small.cache = CACHE_WARM;
    small.to = TO_MEMORY;
    enum err e = load_begin(&small, &s);
    if (e) {
        load_end(&s);
        return e;
    }
    e = loading_create(&l);
    if (!e && !(e = load_profile(&s, l))) {
        const double few = l->spread.mean_s, real = whole->spread.mean_s;
        printf("\n%lld cached chunks: %.6f s each.  This load: %.6f s each, %.2f times as long.\n",
               (long long)l->chunks_read, few, real, few > 0 ? real / few : 0);
        printf("In the page cache before: %.0f %% of the file for the small load, %.0f %% for this "
               "one.\n",
               100 * l->file.cached_share, 100 * whole->file.cached_share);
        if (real < 1.5 * few)
            printf("The two agree: the small load predicts the real one.\n");
        else
            printf("The small load is faster because its chunks lie in memory or in few places.\n");
    }
    loading_free(l);
    load_end(&s);
    return e;
}

/* Returns a copy of a file's name for people, where an address has no secrets; NULL: no memory. */
static const char *name_shown(struct loading *l, const char *path)
{
    const size_t room = 4 * strlen(path) + 1; /* an empty value becomes *** */
    char *shown = arena_take(l->arena, room);
    if (shown)
        secrets_mask_addresses(path, shown, room);
    return shown;
}

static enum err names_mask(struct loading *l)
{
    int missing = 0;
    for (int i = 0; i < l->members_count; i++)
        missing |= !(l->members[i].path = name_shown(l, l->members[i].path));
    if (l->set.median)
        missing |= !(l->set.median = name_shown(l, l->set.median));
    FAIL_IF(missing, ERR_MEMORY, "no memory left for the names of files");
    return ERR_OK;
}

static enum err write_results(const struct loading *l)
{
    char folder[RUN_PATH], path[RUN_PATH + 32];
    TRY(run_make(out ? out : run_default_folder(), folder));
    snprintf(path, sizeof path, "%s/loading.json", folder);
    TRY(loading_write(l, path));
    TRY(load_rootcause(l, folder));
    TRY(load_page(l, folder));
    TRY(run_latest(folder));
    log_info("%s/loading.json", folder);
    return ERR_OK;
}

static enum err measure_load(const struct load_request *r, struct load_session *s,
                             struct loading *l)
{
    char cpu[CPU_NAME];
    cpu_name(cpu);
    l->cpu = *cpu ? arena_text(l->arena, cpu) : NULL;
    TRY(load_begin(r, s));
    TRY(load_profile(s, l));
    if (r->sweep) {
        cli_signals_stop(1);
        TRY(load_sweep(s, l));
    }
    int64_t factors[STORE_DIMS];
    int count;
    storage_numbers(scaling, 2, 1 << 20, factors, &count);
    if (count)
        TRY(load_scalings(s, l, factors, count));
    if (copy)
        TRY(load_copy(r, l, copy));
    TRY(load_ratings(l));
    TRY(load_causes(l));
    TRY(names_mask(l));
    if (json) {
        struct jsonw w;
        jsonw_init(&w, stdout, 1);
        loading_json(l, &w);
    } else {
        load_text(l, stdout, explain || tune);
        if (explain)
            TRY(load_print_small(r, l));
        const char *shown = tune && l->recommended ? name_shown(l, r->path) : NULL;
        if (shown)
            plain_print(stdout, "\ntomoprof load %s %s\n", shown, l->recommended);
    }
    return write_results(l);
}

static enum err parse_boxes(void)
{
    struct load_request *r = &request;
    FAIL_IF(!storage_numbers(boxes, 1, INT32_MAX, r->box, &r->box_dims), ERR_USAGE,
            "--boxes %s: give sizes of at least 1, as 64,64,64", boxes);
    FAIL_IF(keep && !boxes, ERR_USAGE, "--keep: nothing is read twice without --boxes");
    FAIL_IF(keep && r->options.processes, ERR_USAGE,
            "--keep: processes share no memory; use --threads");
    r->keep_bytes = keep << 20;
    return ERR_OK;
}

static enum err parse_parts(struct load_request *r)
{
    static char name[64];
    int64_t factors[STORE_DIMS];
    int count;
    FAIL_IF(!storage_numbers(scaling, 2, 1 << 20, factors, &count), ERR_USAGE,
            "--scaling %s: give factors of at least 2, as 2,4", scaling);
    FAIL_IF(scaling && (r->chunks || r->channel || boxes), ERR_USAGE,
            "--scaling reads the whole array: leave --tiles, --channel and --boxes out");
    FAIL_IF(scene && r->array, ERR_USAGE, "--scene and --array: give one of them");
    if (scene) { /* numbers are names of arrays: scene0 */
        snprintf(name, sizeof name, strspn(scene, "0123456789") == strlen(scene) ? "scene%s" : "%s",
                 scene);
        r->array = name;
    }
    return ERR_OK;
}

static int files; /* that were named; the words end there */

static enum err load_words(char **word)
{
    struct load_request *r = &request;
    struct load_session s = {0};
    struct load_device device = {0};
    struct loading *l;
    r->path = word[0];
    r->device = &device;
    TRY(parse_parts(r));
    FAIL_IF(files > 1 && copy, ERR_USAGE, "--copy: give one file; %d are given", files);
    if (tune && !r->sweep)
        r->sweep = SWEEP_MEDIUM;
    TRY(fetch_find(fetch, &r->options.way));
    FAIL_IF(r->options.threads && r->options.processes, ERR_USAGE,
            "--threads and --processes: give one of them");
    TRY(parse_boxes());
    if (!r->chunks && !boxes)
        r->chunks = r->sweep == SWEEP_QUICK ? 100 : r->sweep == SWEEP_MEDIUM ? 500 : 0;
    FAIL_IF(r->to && r->options.processes, ERR_USAGE,
            "--to and --processes: workers start before the GPU is opened; use --threads");
    if (r->to)
        TRY(device_open(&device));
    enum err e = loading_create(&l);
    if (e) {
        device_close(&device);
        return e;
    }
    if (files > 1) {
        e = load_set(r, word, files, l);
        r->path = l->set.median;
    }
    e = e ? e : measure_load(r, &s, l);
    if (!e && l->interrupted && cli_stop)
        cli_end.exit_code = 130;
    load_end(&s);
    loading_free(l);
    device_close(&device);
    return e;
}

static enum err run_load_command(int words, char **word)
{
    struct paths paths;
    TRY(paths_expand(word, words, &paths));
    files = paths.count;
    const enum err e = storage_sandboxed(load_words, paths.items, files, NULL);
    paths_free(&paths);
    return e;
}

const struct command cmd_load = {
    .name = "load",
    .summary = "Shows where the time of loading a file goes, and finds a faster way.",
    .words = "FILE...",
    .text =
        "Reads an array of a file and times each chunk: fetch, decode, convert, place. FILE is "
        ".npy,\n"
        "NIfTI, MRC, NRRD, MetaImage, DICOM (a file, a folder), TIFF (also a folder of numbered\n"
        "files), HDF5, Zarr,\n"
        "OME-Zarr, CZI, TXRM or kerchunk references, also on a server. Writes loading.html,\n"
        "loading.json and rootcause.md into a new folder below --out.\n"
        "Several files, or a pattern in quotes, are read as one data set: shapes, types, times, "
        "outliers.\n"
        "--sweep measures other ways on the same chunks and ranks them: quick on 100 chunks, "
        "medium\n"
        "on 500, full on all.\n"
        "\n"
        "Examples:\n"
        "  tomoprof load tests/data/tooth.h5\n"
        "  tomoprof load tests/data/tooth.h5 --sweep quick --cache cold\n"
        "  tomoprof load 'tests/data/store/nifti/*.nii' --out results\n",
    .options = options,
    .min_words = 1,
    .max_words = 1 << 20,
    .run = run_load_command,
};
