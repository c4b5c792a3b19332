/* The command `apply`: one operator on files, timed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/results/apply_report.h"
#include "cli/results/ranks_report.h"
#include "host/cluster/crew.h"
#include "host/cpu/common/threads.h"
#include "host/geom/kinds.h"
#include "host/store/format/geometry_json.h"
#include "host/store/format/npy.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/run/plan.h"
#include "host/suite/statistics/stats.h"

static struct apply_request {
    const char *size_text, *gate, *geometry, *in, *out, *weights, *initial, *prox, *backend;
    int64_t seed, iterations, subsets, repeat;
    double threshold;
    int json, flamegraph, fast, compat; /* compat: 0 is 0.6 */
    char settings[OPTIONS_LIST];        /* KEY=VALUE KEY=VALUE */
    struct backend_options backend_options;
} request = {.backend = "auto", .compat = 1, .iterations = 15, .threshold = 0.2};
static struct crew *crew; /* NULL: this process alone */

/* Rows that not every operation takes, by place in options[]. */
enum {
    ROW_GEOMETRY,
    ROW_IN,
    ROW_OUT,
    ROW_WEIGHTS,
    ROW_INIT,
    ROW_PROX,
    ROW_COMPAT,
    ROW_SCHEDULE,
    ROW_ITERATIONS,
    ROW_THRESHOLD,
    ROW_SEED,
    ROW_SUBSETS
};

static struct opt options[] = {
    [ROW_GEOMETRY] = OPTION_INPUT("geometry", 'g', request.geometry, "FILE",
                                  "geometry file (JSON, MBIRJAX's parameter names)"),
    [ROW_IN] = OPTION_INPUT("in", 'i', request.in, "FILE", "input array (.npy, float32, C order)"),
    [ROW_OUT] = OPTION_OUTPUT("out", 'o', request.out, "FILE", "output array (.npy)"),
    [ROW_WEIGHTS] = OPTION_INPUT("weights", 'w', request.weights, "FILE",
                                 "weights of the sinogram's shape: mbir_recon,\nhessian_diagonal"),
    [ROW_INIT] = OPTION_INPUT("init", 0, request.initial, "FILE",
                              "volume that mbir_recon and prox_map start from (default:\n"
                              "direct_recon), or in which gen_weights_mar looks for metal"),
    [ROW_PROX] = OPTION_INPUT("prox", 0, request.prox, "FILE", "volume that prox_map stays near"),
    [ROW_COMPAT] =
        OPTION_CHOICE("compat", 0, request.compat, "0.6|0.7",
                      "MBIRJAX whose subsets mbir_recon and prox_map use\n(default 0.7)"),
    [ROW_SCHEDULE] = OPTION_CHOICE("schedule", 0, request.fast, "mbirjax|fast",
                                   "fast: half of mbir_recon's iterations, not MBIRJAX's results"),
    [ROW_ITERATIONS] = OPTION_INT("iterations", 'n', request.iterations, "N",
                                  "at most (default 15, prox_map 3)", 1, 1e6),
    [ROW_THRESHOLD] = OPTION_NUMBER(
        "stop-threshold", 0, request.threshold, "PERCENT",
        "iterations end when the volume changes less\n(default 0.2; 0: all iterations)", 0, 1e6),
    [ROW_SEED] = OPTION_INT("seed", 0, request.seed, "N",
                            "numpy.random.seed of pixel subsets (default 0)", 0, 4294967295.0),
    [ROW_SUBSETS] =
        OPTION_INT("subsets", 0, request.subsets, "N",
                   "of gen_pixel_partition; sparse_: of which the first is used", 1, 2147483647),
    OPTION_LIST(
        "set", 0, request.settings, "KEY=VALUE",
        "parameters of a volume_ or prepare operation, with blanks\nbetween them, or --set again "
        "(docs/operations.md, docs/volume.md)"),
    OPTION_TEXT("size", 0, request.size_text, "N",
                "time it on a synthetic input of edge N, or 512x512x30: as\n`apply NAME SIZE "
                "ITERATIONS`"),
    OPTION_TEXT(
        "gate", 0, request.gate, "FILE",
        "with --size: targets (JSON; `shipped`: tomoprof's), exit code\n1 when one is missed"),
    OPTION_INT("repeat", 0, request.repeat, "N",
               "run it once, then N times more, which are timed; --out may be\nleft out", 1, 1e6),
    OPTION_FLAG("flamegraph", 0, request.flamegraph,
                "with a SIZE: then profile it too, and draw a flame graph"),
    CLI_OPT_BACKEND(request.backend),
    CLI_OPT_THREADS(request.backend_options.threads),
    CLI_OPT_LINKS,
    CLI_OPT_JSON(request.json),
    {0},
};

/* "forward_project" of a beam is "parallel_forward_project". */
static const struct operation *operation_of_beam(int beam, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "%s_%s", scan_kind_names[beam], name);
    return operation_named(full);
}

static enum err unknown_apply_name(const char *name)
{
    const char *names[192];
    int n = 0;
    const struct operation *op;
    for (int i = 0; (op = operation_at(i)) && n < 190; i++) {
        names[n++] = op->name;
        if (strcmp(op->geometry, "any"))
            names[n++] = op->name + strlen(op->geometry) + 1;
    }
    char inside[200];
    if (operations_with(name, names, n, inside))
        return FAIL(ERR_USAGE, "no operation is called \"%s\": did you mean %s?", name, inside);
    const char *near = opt_nearest(name, names, n);
    FAIL_IF(near, ERR_USAGE, "no operation is called \"%s\": did you mean %s?", name, near);
    return FAIL(ERR_USAGE, "no operation is called \"%s\": `tomoprof run --list` shows them all",
                name);
}

/* A row by its name with or without the beam in front. Where the geometry file decides between two,
 * *op is either: both rows have the same inputs. */
static enum err find_operation(const char *name, const struct operation **op)
{
    *op = operation_named(name);
    for (int beam = 0; !*op && beam < SCAN_KINDS; beam++)
        *op = operation_of_beam(beam, name);
    return *op ? ERR_OK : unknown_apply_name(name);
}

/* The row that does for `beam` what `apply` does for the other: fdk_filter for fbp_filter. */
static const char *counterpart_for(const struct operation *op, int beam)
{
    const struct operation *other;
    for (int i = 0; (other = operation_at(i)); i++)
        if (other->run == op->run && !strcmp(other->geometry, scan_kind_names[beam]))
            return other->name;
    return "another operation";
}

/* Finds the row for the beam of the geometry file. */
static enum err match_beam(const char *name, int beam, const struct operation **op)
{
    const struct operation *same = operation_of_beam(beam, name);
    if (same)
        *op = same;
    if (!strcmp((*op)->geometry, "any") || !strcmp((*op)->geometry, scan_kind_names[beam]))
        return ERR_OK;
    return FAIL(ERR_USAGE, "%s is for %s beams, but %s says \"geometry\": \"%s\": use %s", name,
                (*op)->geometry, request.geometry, scan_kind_names[beam],
                counterpart_for(*op, beam));
}

/* Needs no geometry file: a volume, or views, of any size. */
static int any_shape(const struct operation *op)
{
    return (op->input == ARRAY_VOLUME || op->step) && !strcmp(op->geometry, "any");
}

/* Options that would silently change nothing are errors where a user could expect a change. */
static enum err check_options(const char *name, const struct operation *op)
{
    static const struct {
        int row, bit;
    } optional[] = {{ROW_WEIGHTS, TAKES_WEIGHTS},
                    {ROW_INIT, TAKES_INIT},
                    {ROW_PROX, TAKES_PROX},
                    {ROW_COMPAT, TAKES_COMPAT},
                    {ROW_SCHEDULE, TAKES_COMPAT},
                    {ROW_ITERATIONS, TAKES_ITERATIONS},
                    {ROW_THRESHOLD, TAKES_ITERATIONS},
                    {ROW_SEED, TAKES_SEED},
                    {ROW_SUBSETS, TAKES_SUBSETS}};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        const struct opt *row = &options[optional[i].row];
        if (!row->seen || op->takes & optional[i].bit)
            continue;
        FAIL_IF(opt_is_path(row) || optional[i].row == ROW_SUBSETS, ERR_USAGE, "%s takes no --%s",
                name, row->name);
        log_warn("%s does not use --%s", name, row->name);
    }
    FAIL_IF(request.gate, ERR_USAGE, "--gate needs a SIZE: targets are about synthetic inputs");
    FAIL_IF(!strcmp(op->group, "storage"), ERR_USAGE,
            "%s works on stores that it makes itself: tomoprof run --ops %s", op->name, op->name);
    FAIL_IF(op->phantom, ERR_USAGE, "%s makes its own phantom: tomoprof run --ops %s", op->name,
            op->name);
    FAIL_IF(op->finish, ERR_USAGE,
            "%s times a file of its own: give it a SIZE; `tomoprof convert` reads and writes yours",
            name);
    if (any_shape(op) && request.geometry)
        log_warn("%s does not use --geometry", name);
    FAIL_IF(!any_shape(op) && !request.geometry, ERR_USAGE, "%s needs --geometry FILE", name);
    FAIL_IF(op->input == ARRAY_NONE && request.in, ERR_USAGE, "%s takes no --in", name);
    FAIL_IF(op->input != ARRAY_NONE && !request.in, ERR_USAGE, "%s needs --in FILE, a %s", name,
            op->input == ARRAY_VOLUME ? "volume" : "sinogram");
    FAIL_IF(!request.out && !request.repeat, ERR_USAGE, "%s needs --out FILE", name);
    FAIL_IF(op->takes & TAKES_SUBSETS && !request.subsets, ERR_USAGE, "%s needs --subsets N", name);
    FAIL_IF(op->takes & TAKES_PROX && !request.prox, ERR_USAGE, "%s needs --prox FILE, a volume",
            name);
    return ERR_OK;
}

/* Before hours of work, not after them: the output can be written. */
static enum err apply_check_output(void)
{
    struct outfile f = {0};
    if (request.out)
        TRY(outfile_open(&f, request.out));
    outfile_abort(&f);
    return ERR_OK;
}

static enum err read_npy_array(struct run_state *s, const char *path, enum array array,
                               struct array_pair *a)
{
    static const char *const volume_names[] = {"rows", "columns", "slices"};
    static const char *const sinogram_names[] = {"views", "detector rows", "detector channels"};
    int64_t shape[3];
    ct_model_shape(&s->model, array, shape);
    for (int i = 0; i < 3; i++)
        shape[i] = shape[i] ? shape[i] : -1; /* no model: any size */
    TRY(npy_read(path, 3, shape, array == ARRAY_VOLUME ? volume_names : sinogram_names,
                 !s->op->step, &a->host));
    if (!s->model.scan.angles) {
        s->model.volume = (struct volume){.rows = shape[0], .cols = shape[1], .slices = shape[2]};
        if (array == ARRAY_SINOGRAM)
            s->model.scan =
                (struct scan){.views = shape[0], .rows = shape[1], .channels = shape[2]};
        TRY(state_place(s, 0, 0));
    }
    TRY(state_upload(s, a, shape));
    return apply_range_input(s, a);
}

/* The filter works in place, unless its input is needed again. */
static int in_place(const struct run_state *s)
{
    return s->op->scratch == SCRATCH_SINOGRAM && !request.repeat;
}

static double extra_bytes(const struct run_state *s)
{
    const double sinogram = 4.0 * (double)scan_samples(&s->model.scan);
    const double volume = 4.0 * (double)volume_voxels(&s->model.volume);
    return (request.weights ? sinogram : 0) + (request.initial ? volume : 0) +
           (request.prox ? volume : 0) - (in_place(s) ? sinogram : 0);
}

static enum err load_arrays(struct run_state *s)
{
    if (s->model.scan.angles)
        TRY(state_place(s, request.weights != NULL, extra_bytes(s)));
    if (request.in)
        TRY(read_npy_array(s, request.in, s->op->input, &s->in));
    if (request.weights)
        TRY(read_npy_array(s, request.weights, ARRAY_SINOGRAM, &s->weights));
    if (request.initial)
        TRY(read_npy_array(s, request.initial, ARRAY_VOLUME, &s->initial));
    if (request.prox)
        TRY(read_npy_array(s, request.prox, ARRAY_VOLUME, &s->prox));
    if (s->op->scratch == SCRATCH_SINOGRAM && !in_place(s))
        TRY(state_allocate_scratch(s));
    return state_allocate_output(s);
}

static enum err write_result(struct run_state *s, struct apply_report *r)
{
    static const char *const descr[] = {"<f4", "<f2", "<u2", "<i2", "|u1"};
    const int partition = s->op->output == ARRAY_PARTITION;
    const float *data;
    float *copy;
    r->dims = partition ? 2 : 3;
    ct_model_shape(&s->model, s->op->output, r->shape);
    if (s->op->step)
        memcpy(r->shape, s->step.out, sizeof r->shape);
    if (partition) {
        r->shape[0] = s->partition.subsets;
        r->shape[1] = s->partition.length;
    }
    if (!request.out)
        return ERR_OK;
    if (partition)
        return npy_write_int32(request.out, 2, r->shape, s->partition.indices);
    TRY(state_result(s, &data, &copy));
    enum err e = s->op->step ? npy_write_type(request.out, descr[s->step.dtype],
                                              volume_dtype_bytes(s->step.dtype), 3, r->shape, data)
                             : npy_write(request.out, 3, r->shape, data);
    mem_free(copy);
    return e;
}

static void log_iteration(void *context, int64_t done, int64_t total)
{
    (void)context;
    progress("iterations", (double)done, (double)total);
}

static enum err run_operation(struct run_state *s, struct apply_report *r, double *seconds)
{
    backend_take_work(s->be);
    TRY(s->be->ops->sync(s->be));
    if (crew) {
        TRY(crew_run(crew, s, seconds, &r->work));
        return state_fingerprint(s, &r->fingerprint);
    }
    int64_t start = clock_ns();
    TRY(s->op->run(s));
    TRY(s->be->ops->sync(s->be));
    *seconds = clock_seconds_since(start);
    r->work = s->op->work(s);
    return state_fingerprint(s, &r->fingerprint);
}

/* The first run makes tables, plans and pages; a result that changes is none. */
static enum err run_again(struct run_state *s, struct apply_report *r)
{
    const struct fingerprint first = r->fingerprint;
    r->times = calloc((size_t)request.repeat, sizeof *r->times);
    FAIL_IF(!r->times, ERR_MEMORY, "no memory left for %" PRId64 " times", request.repeat);
    r->repeats = request.repeat;
    for (int64_t i = 0; i < request.repeat; i++) {
        TRY(run_operation(s, r, &r->times[i]));
        FAIL_IF(memcmp(&first, &r->fingerprint, sizeof first) != 0, ERR_FAILED,
                "%s: run %" PRId64 " gave another result than run 1 (l2 %.17g and %.17g)",
                s->op->name, i + 2, r->fingerprint.l2, first.l2);
    }
    r->seconds = statistics_of(r->times, (int)request.repeat).median;
    return ERR_OK;
}

static enum err measure_operation(struct run_state *s, struct apply_report *r)
{
    backend_reset_peak(s->be);
    TRY(run_operation(s, r, &r->first));
    r->seconds = r->first;
    if (request.repeat)
        TRY(run_again(s, r));
    progress_end();
    if (request.in || request.weights)
        TRY(apply_range_result(s, &r->fingerprint));
    r->peak_host_bytes = mem_peak();
    TRY(write_result(s, r));
    if (request.json)
        apply_report_print(r);
    enum err e = ERR_OK;
    if (request.size_text)
        e = apply_size_report(r, request.size_text, request.gate);
    if (!e && request.flamegraph && !crew)
        e = apply_flame(s->op->name, request.size_text, request.repeat, s->be->threads);
    else if (!request.json)
        log_info("%s: %.4g s on %s%s%s", s->op->name, r->seconds, s->be->device,
                 request.out ? ": " : "", request.out ? request.out : "");
    ranks_report_print(crew);
    return e;
}

static enum err compute_operation(struct run_state *s)
{
    struct apply_report r = {.state = s, .crew = crew};
    const int few = s->op->takes & TAKES_PROX && !options[ROW_ITERATIONS].seen;
    s->seed = (uint64_t)request.seed;
    if (*request.settings)
        TRY(apply_settings(s, request.settings));
    TRY(request.size_text ? state_prepare(s) : load_arrays(s));
    s->subsets = request.size_text ? s->subsets : request.subsets;
    s->mbir = (struct mbir_options){.max_iterations = few ? 3 : request.iterations,
                                    .compat_06 = !request.compat,
                                    .fast = request.fast,
                                    .stop_threshold_percent = request.threshold,
                                    .seed = (uint32_t)request.seed,
                                    .on_iteration = log_iteration};
    if (s->op->ready)
        TRY(s->op->ready(s));
    if (crew)
        TRY(crew_send(crew, s));
    enum err e = measure_operation(s, &r);
    free(r.times);
    return e;
}

/* `apply NAME SIZE ITERATIONS`, or with options: iterations are timed runs, but MBIR's own. */
static enum err take_size(int words, char **word, const struct operation *op)
{
    struct opt *row = &options[ROW_ITERATIONS];
    char *end = NULL;
    const int files = request.in || request.geometry || request.weights || request.initial;
    FAIL_IF(files && words > 1, ERR_USAGE,
            "unexpected word \"%s\": a SIZE is for an input that is made here, not for files",
            word[1]);
    FAIL_IF(files && request.size_text, ERR_USAGE,
            "--size: the input is made here: leave out --in, --geometry, --weights and --init");
    FAIL_IF(words > 1 && request.size_text, ERR_USAGE, "the size is there twice: %s and --size %s",
            word[1], request.size_text);
    request.size_text = words > 1 ? word[1] : request.size_text;
    if (!request.size_text)
        return ERR_OK;
    if (words > 2) {
        request.repeat = strtoll(word[2], &end, 10);
        FAIL_IF(end == word[2] || *end || request.repeat < 1 || request.repeat > 1000000, ERR_USAGE,
                "%s iterations are not accepted: 1 to 1000000", word[2]);
    } else if (!request.repeat) {
        request.repeat = row->seen && !(op->takes & TAKES_ITERATIONS) ? request.iterations : 10;
    }
    FAIL_IF(request.out && op->finish, ERR_USAGE, "%s writes no --out", op->name);
    FAIL_IF(request.flamegraph && *request.settings, ERR_USAGE,
            "--flamegraph draws the operation with its default parameters: leave out --set");
    return ERR_OK;
}

/* All that can be said before the back end is opened. */
static enum err check_apply(int words, char **word, struct run_state *s)
{
    TRY(find_operation(word[0], &s->op));
    FAIL_IF(!strcmp(s->op->group, "benchmark"), ERR_USAGE,
            "%s is a benchmark: tomoprof run --ops %s", word[0], s->op->name);
    TRY(take_size(words, word, s->op));
    FAIL_IF(*request.settings && !s->op->step, ERR_USAGE, "%s takes no --set", word[0]);
    FAIL_IF(request.flamegraph && !request.size_text, ERR_USAGE,
            "--flamegraph needs a SIZE: `tomoprof apply %s 64 --flamegraph`", word[0]);
    return request.size_text ? ERR_OK : check_options(word[0], s->op);
}

static enum err apply_operation(const char *name, struct run_state *s)
{
    if (request.size_text) {
        TRY(apply_size_model(s, request.size_text));
    } else if (!any_shape(s->op)) {
        TRY(ct_model_read(request.geometry, &s->model));
        TRY(match_beam(name, (int)scan_kind_of(&s->model.scan), &s->op));
    }
    TRY(apply_check_output());
    return compute_operation(s);
}

static enum err run_apply(int words, char **word)
{
    struct run_state s = {0};
    struct backend *be = NULL;
    struct cluster *c;
    enum err e;
    TRY(cluster_join(&c, &cli_end.silent));
    TRY(cluster_agree(c, check_apply(words, word, &s), &cli_end.silent));
    cluster_choose_gpu(c);
    if (!request.backend_options.threads)
        request.backend_options.threads = cluster_threads(c, cpu_threads_usable());
    TRY_OUT(cluster_agree(c, backend_open(request.backend, &request.backend_options, &be),
                          &cli_end.silent));
    s.be = be;
    if (c->calls)
        TRY_OUT(cluster_agree(c, crew_create(c, &crew), &cli_end.silent));
    e = c->place.rank ? crew_follow(crew, be, &cli_end.silent) : apply_operation(word[0], &s);
    if (crew && !c->place.rank)
        e = crew_dismiss(crew, e, &cli_end.silent);
out:
    state_free(&s);
    crew_free(crew);
    backend_close(be);
    return e;
}

const struct command cmd_apply = {
    .name = "apply",
    .older = "op",
    .summary = "Runs one operator on your own arrays.",
    .words = "NAME [SIZE [ITERATIONS]]",
    .text =
        "Arrays are NumPy .npy files, float32, C order: volume (rows, columns, slices), sinogram "
        "and\n"
        "weights (views, detector rows, channels). NAME is one of `tomoprof run --list`, with or "
        "without\n"
        "the beam in front: forward_project, back_project, mbir_recon, fbp_recon (parallel), "
        "fdk_recon\n"
        "(cone), median_filter3d, and more (docs/operations.md).\n"
        "hessian_diagonal takes --weights and no --in; median_filter3d and qggmrf_denoise need no\n"
        "geometry; gen_pixel_partition writes int32 (subsets, length); volume_cast writes bf16 as "
        "the\n"
        "uint16 of its bits.\n"
        "With a SIZE it is timed on a synthetic input of that edge, ITERATIONS times after a "
        "warm-up.\n"
        "\n"
        "The geometry file holds MBIRJAX's parameters; three are required (cone: the two distances "
        "too):\n"
        "  {\"geometry\": \"cone\", \"sinogram_shape\": [V, Mr, Nc], \"angles\": [radians],\n"
        "   \"source_detector_dist\": D, \"source_iso_dist\": d}\n"
        "\n"
        "Examples:\n"
        "  tomoprof apply forward_project --geometry g.json --in x.npy --out y.npy\n"
        "  tomoprof apply mbir_recon --geometry g.json --in y.npy --weights w.npy --iterations 3 "
        "--out x.npy\n"
        "  tomoprof apply volume_z_norm 256 20 --gate shipped\n"
        "  tomoprof apply volume_crop --in x.npy --out y.npy --set \"start=0,0,8 "
        "shape=64,64,32\"\n",
    .options = options,
    .min_words = 1,
    .max_words = 3,
    .run = run_apply,
};
