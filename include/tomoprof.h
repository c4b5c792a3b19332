/* tomoprof.h: the operators of tomographic reconstruction, for programs in C and C++.
 *
 *     tomoprof_context *c;
 *     tomoprof_model *m;
 *     if (tomoprof_context_create(NULL, &c)) return puts(tomoprof_error(NULL));
 *     if (tomoprof_model_read(c, "geometry.json", &m)) return puts(tomoprof_error(c));
 *     tomoprof_array y = TOMOPROF_ARRAY(sinogram, TOMOPROF_FLOAT32, views, rows, channels);
 *     tomoprof_array x = TOMOPROF_ARRAY(volume, TOMOPROF_FLOAT32, rows, columns, slices);
 *     if (tomoprof_direct_recon(c, m, TOMOPROF_ADJOINT, &y, &x)) return puts(tomoprof_error(c));
 *     tomoprof_model_free(m);
 *     tomoprof_context_free(c);
 *
 * A sinogram has the shape (views, detector rows, channels), a volume (rows, columns, slices); the
 * last index is the fastest. Angles are radians; lengths are in one unit of your choice (ALU).
 * Names, signs and defaults are those of MBIRJAX 0.7; "Geometry" in docs/python.md has the formulas.
 *
 * The library never prints, never ends the process and installs no signal handler. After each call
 * OpenMP's settings and the floating-point settings of the caller are what they were. One thread at
 * a time may use a context and the models made with it (a second one gets BAD_ARGUMENT, its sentence
 * by tomoprof_error(NULL)); several contexts are independent of each other. In a process made by
 * fork() the contexts of its parent answer TOMOPROF_UNSUPPORTED, and a new context works.
 *
 * A function that returns tomoprof_status checks everything before it writes anything. Where it
 * returns another value than TOMOPROF_OK, tomoprof_error() has one sentence about it. */
#ifndef TOMOPROF_H
#define TOMOPROF_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TOMOPROF_API __attribute__((visibility("default")))
#else
#define TOMOPROF_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TOMOPROF_VERSION "0.1.0"
/* Grows by one when a program compiled with an older header could no longer work. */
#define TOMOPROF_ABI 0

/* Returns the version of the library that is loaded, "0.1.0". */
TOMOPROF_API const char *tomoprof_version(void);
/* Returns the TOMOPROF_ABI of the library that is loaded. */
TOMOPROF_API int tomoprof_abi(void);

typedef enum tomoprof_status {
    TOMOPROF_OK = 0,
    TOMOPROF_BAD_ARGUMENT = 1, /* a shape, a value, a name or a file of the caller is wrong */
    TOMOPROF_NO_MEMORY = 2,
    TOMOPROF_UNSUPPORTED = 3, /* by this build, this back end or this machine */
    TOMOPROF_CANCELLED = 4,   /* the arrays hold what was done until then */
    TOMOPROF_DEVICE = 5,      /* the GPU or its driver failed */
    TOMOPROF_INTERNAL = 6
} tomoprof_status;

typedef struct tomoprof_context tomoprof_context;
typedef struct tomoprof_model tomoprof_model;

/* ---- Contexts ---- */

/* Receives how far a call is: `done` of `total` iterations of a reconstruction or a denoiser; of
 * other calls a share, total 1, at most 20 times a second, and 1 at the end. Another value than 0
 * cancels the call. The thread that made the call calls it (in a process made by fork() a helper,
 * while that waits). */
typedef int tomoprof_progress(void *user, double done, double total);
/* Receives one sentence. level: 0 error, 1 warning, 2 information, 3 detail. */
typedef void tomoprof_log(void *user, int level, const char *sentence);

/* Initialise it with TOMOPROF_CONTEXT_OPTIONS. */
typedef struct tomoprof_context_options {
    size_t size;          /* sizeof(tomoprof_context_options) */
    const char *backend;  /* "cpu", "cuda"; NULL or "auto": cuda where a device is, else cpu */
    int threads;          /* 1 to 4096; 0: all that the process may use */
    size_t memory;        /* bytes that a call may take beside your arrays; 0: no limit */
    size_t device_memory; /* bytes of the GPU that the library may take; 0: all */
    tomoprof_progress *progress; /* NULL: none */
    tomoprof_log *log;           /* NULL: nobody gets the log */
    void *user;                  /* passed to both */
} tomoprof_context_options;
#define TOMOPROF_CONTEXT_OPTIONS                                                                   \
    {                                                                                              \
        sizeof(tomoprof_context_options), NULL, 0, 0, 0, NULL, NULL, NULL                          \
    }

/* Makes a context. options NULL: those of TOMOPROF_CONTEXT_OPTIONS. tomoprof_error(NULL) has the
 * sentence of a failure. BAD_ARGUMENT: an unknown back end, threads out of range. UNSUPPORTED: the
 * back end cannot run here. */
TOMOPROF_API tomoprof_status tomoprof_context_create(const tomoprof_context_options *options,
                                                     tomoprof_context **out);
/* Frees it, after the models made with it. NULL is fine. */
TOMOPROF_API void tomoprof_context_free(tomoprof_context *c);
/* Returns the sentence of the context's latest failure: what was wrong, where, and what to do; ""
 * after a success. NULL: of the calling thread's latest failure without a context. Valid until the
 * next call. */
TOMOPROF_API const char *tomoprof_error(const tomoprof_context *c);
/* Returns the back end, "cpu" or "cuda": arrays of TOMOPROF_CUDA need the latter. */
TOMOPROF_API const char *tomoprof_backend(const tomoprof_context *c);
/* Returns what computes: "Intel(R) Xeon(R), 2 threads, avx512". Valid as long as the context. */
TOMOPROF_API const char *tomoprof_device(const tomoprof_context *c);
/* From now on progress and log go there; NULL: nowhere. */
TOMOPROF_API void tomoprof_set_progress(tomoprof_context *c, tomoprof_progress *progress,
                                        void *user);
TOMOPROF_API void tomoprof_set_log(tomoprof_context *c, tomoprof_log *log, void *user);

typedef enum tomoprof_event_kind {
    TOMOPROF_RUNNING = 0, /* the call goes on; sent in intervals */
    TOMOPROF_STEP = 1,    /* `done` of `total`, as tomoprof_progress gets them */
    TOMOPROF_SENTENCE = 2 /* `level` and `sentence`, as tomoprof_log gets them */
} tomoprof_event_kind;
/* Tells what happens during a call. */
typedef struct tomoprof_event {
    size_t size; /* sizeof(tomoprof_event) */
    void *user;
    tomoprof_event_kind kind;
    int level;
    double done, total;
    const char *sentence; /* valid during the call of the function */
} tomoprof_event;
/* Receives events, one at a time. Another value than 0 cancels the call, and no more events come
 * from it. The thread that made the call calls it: a binding can run its language's handlers of
 * signals there. (In a process made by fork() a helper brings steps and sentences.) */
typedef int tomoprof_watch(const tomoprof_event *event);
/* From now on events go to `watch`; NULL: nowhere. milliseconds: between two RUNNING events of a call
 * on the CPU, the first after that time; 0: none are sent. steps: 1 for STEP events, 0 for none. */
TOMOPROF_API void tomoprof_set_watch(tomoprof_context *c, tomoprof_watch *watch, void *user,
                                     int milliseconds, int steps);
/* Asks the call that runs in `c` to end with TOMOPROF_CANCELLED, within about 0.1 s. Any thread and
 * any signal handler may call it. Where no call runs nothing happens. */
TOMOPROF_API void tomoprof_cancel(tomoprof_context *c);

/* ---- Models ---- */

/* Makes a model from a geometry file, JSON of MBIRJAX's parameters (docs/operations.md), or from the
 * `bytes` bytes of such a text. Fills automatic values. BAD_ARGUMENT names the parameter. */
TOMOPROF_API tomoprof_status tomoprof_model_read(tomoprof_context *c, const char *path,
                                                 tomoprof_model **out);
TOMOPROF_API tomoprof_status tomoprof_model_parse(tomoprof_context *c, const char *json,
                                                  size_t bytes, tomoprof_model **out);
/* Frees it. NULL is fine. */
TOMOPROF_API void tomoprof_model_free(tomoprof_model *m);
/* Sets a parameter by its name. Truth is 0 or 1; a list is all its values, row by row; an infinite
 * distance is INFINITY; count 0 brings the default or the automatic value back. Automatic values
 * are made again. sigma_y, sigma_x and sigma_prox turn auto_regularize_flag off. BAD_ARGUMENT (an
 * unknown name, NaN, a value that does not fit the others) leaves the model as it was. */
TOMOPROF_API tomoprof_status tomoprof_model_set(tomoprof_context *c, tomoprof_model *m,
                                                const char *name, const double *values,
                                                size_t count);
/* Gets a parameter: *count is how many values it has, of which at most `room` are written. values
 * may be NULL where room is 0. A parameter that has no value now (sigma_y while it is automatic)
 * has 0. "geometry" is not a number: tomoprof_model_json has it. */
TOMOPROF_API tomoprof_status tomoprof_model_get(tomoprof_context *c, const tomoprof_model *m,
                                                const char *name, double *values, size_t room,
                                                size_t *count);
/* Writes all parameters as JSON with a zero behind it. *bytes is the length without the zero; at
 * most `room` bytes are written, the zero included. json may be NULL where room is 0. */
TOMOPROF_API tomoprof_status tomoprof_model_json(tomoprof_context *c, const tomoprof_model *m,
                                                 char *json, size_t room, size_t *bytes);
/* Gets (views, detector rows, channels); zeros where m is NULL. */
TOMOPROF_API void tomoprof_model_sinogram_shape(const tomoprof_model *m, int64_t shape[3]);
/* Gets (rows, columns, slices); zeros where m is NULL. */
TOMOPROF_API void tomoprof_model_volume_shape(const tomoprof_model *m, int64_t shape[3]);
/* Gets the indices (row * columns + column) of the pixels inside the region of reconstruction,
 * ascending: *count of them, of which at most `room` are written. */
TOMOPROF_API tomoprof_status tomoprof_model_pixels(tomoprof_context *c, const tomoprof_model *m,
                                                   int32_t *pixels, size_t room, size_t *count);
/* Makes the model of `count` views of m, in the order given; a view may come more than once. The
 * volume is that of m. BAD_ARGUMENT: a view out of range. */
TOMOPROF_API tomoprof_status tomoprof_model_views(tomoprof_context *c, const tomoprof_model *m,
                                                  const int64_t *views, size_t count,
                                                  tomoprof_model **out);

/* ---- Arrays ---- */

typedef enum tomoprof_type {
    TOMOPROF_FLOAT32 = 0,
    TOMOPROF_FLOAT64 = 1,
    TOMOPROF_FLOAT16 = 2,
    TOMOPROF_BFLOAT16 = 3,
    TOMOPROF_INT16 = 4,
    TOMOPROF_UINT16 = 5,
    TOMOPROF_UINT8 = 6,
    TOMOPROF_INT32 = 7
} tomoprof_type;
typedef enum tomoprof_place { TOMOPROF_HOST = 0, TOMOPROF_CUDA = 1 } tomoprof_place;

#define TOMOPROF_DIMENSIONS 4
/* Memory of the caller. float32 in C order is used where it lies; other types and strides cost one
 * copy. Results in integers are rounded to the nearest and saturate; NaN becomes 0. */
typedef struct tomoprof_array {
    size_t size; /* sizeof(tomoprof_array) */
    void *data;
    int64_t shape[TOMOPROF_DIMENSIONS];
    int64_t
        strides[TOMOPROF_DIMENSIONS]; /* bytes to the next element; all 0: C order. May be < 0 */
    int dimensions;
    tomoprof_type type;
    tomoprof_place place; /* TOMOPROF_CUDA: memory of the context's device, float32 in C order */
    void *stream; /* cudaStream_t: the data is ready on it, and results are; NULL: default */
} tomoprof_array;
#define TOMOPROF_ARRAY(data, type, n0, n1, n2)                                                     \
    {                                                                                              \
        sizeof(tomoprof_array), (data), {(n0), (n1), (n2), 0}, {0, 0, 0, 0}, 3, (type),            \
            TOMOPROF_HOST, NULL                                                                    \
    }

/* In each function below: arrays that are only read are const. Arrays must not overlap one that is
 * written, unless the function says so. BAD_ARGUMENT names an array whose shape, type or place does
 * not fit, with both shapes. */

/* ---- Projections ---- */

/* Computes y = A x (sinogram from volume) over the region of reconstruction. */
TOMOPROF_API tomoprof_status tomoprof_forward_project(tomoprof_context *c, const tomoprof_model *m,
                                                      const tomoprof_array *x, tomoprof_array *y);
/* Computes x = A' y inside the region of reconstruction, 0 outside: the exact adjoint. */
TOMOPROF_API tomoprof_status tomoprof_back_project(tomoprof_context *c, const tomoprof_model *m,
                                                   const tomoprof_array *y, tomoprof_array *x);
/* Computes y = A x for `count` pixels (row * columns + column) in any order; repeats add up. voxels
 * is (count, slices). BAD_ARGUMENT: a pixel outside the volume. */
TOMOPROF_API tomoprof_status tomoprof_sparse_forward_project(tomoprof_context *c,
                                                             const tomoprof_model *m,
                                                             const tomoprof_array *voxels,
                                                             const int32_t *pixels, size_t count,
                                                             tomoprof_array *y);
/* Computes A' y for `count` pixels. power 1, or 2: the entries of A squared. */
TOMOPROF_API tomoprof_status tomoprof_sparse_back_project(tomoprof_context *c,
                                                          const tomoprof_model *m,
                                                          const tomoprof_array *y,
                                                          const int32_t *pixels, size_t count,
                                                          int power, tomoprof_array *voxels);
/* Computes h (volume) = sum of weights A^2 over all samples, for all pixels. weights (sinogram)
 * NULL: ones. */
TOMOPROF_API tomoprof_status tomoprof_hessian_diagonal(tomoprof_context *c, const tomoprof_model *m,
                                                       const tomoprof_array *weights,
                                                       tomoprof_array *h);

/* ---- Direct reconstruction ---- */

/* Applies the ramp filter of FBP or FDK, scaled so that the back projection of `out` is the volume.
 * y and out are sinograms, and may be the same array. */
TOMOPROF_API tomoprof_status tomoprof_direct_filter(tomoprof_context *c, const tomoprof_model *m,
                                                    const tomoprof_array *y, tomoprof_array *out);
/* Computes out = y times weights, after which direct_recon counts each ray once that a cone beam
 * measures twice. "parker": a short scan, of half a turn and the fan at least. "wang": a full turn
 * with a detector that reaches further on one side of the axis. y and out are sinograms, and may be
 * the same array. BAD_ARGUMENT, with the numbers: the angles or the detector are not of that kind.
 */
TOMOPROF_API tomoprof_status tomoprof_weigh_rays(tomoprof_context *c, const tomoprof_model *m,
                                                 const char *kind, const tomoprof_array *y,
                                                 tomoprof_array *out);
typedef enum tomoprof_direct {
    TOMOPROF_ADJOINT = 0, /* MBIRJAX's: back_project of direct_filter */
    TOMOPROF_VOXEL = 1,   /* cone beams: FDK, bilinear at each voxel's centre; faster */
    TOMOPROF_FOURIER = 2 /* parallel beams: through the plane of frequencies, within 1e-3; faster */
} tomoprof_direct;
/* Reconstructs the volume x from the sinogram y. BAD_ARGUMENT: the method is not for this geometry. */
TOMOPROF_API tomoprof_status tomoprof_direct_recon(tomoprof_context *c, const tomoprof_model *m,
                                                   tomoprof_direct method, const tomoprof_array *y,
                                                   tomoprof_array *x);

/* ---- Iterative reconstruction ---- */

/* A partition of pixels: `subsets` rows of `length` pixel indices, ascending in each row. A pixel may
 * be in several rows. */
typedef struct tomoprof_partition_rows {
    size_t size; /* sizeof(tomoprof_partition_rows) */
    const int32_t *pixels;
    int64_t subsets, length;
} tomoprof_partition_rows;
/* Initialise it with TOMOPROF_RECON_OPTIONS. */
typedef struct tomoprof_recon_options {
    size_t size;                   /* sizeof(tomoprof_recon_options) */
    int64_t iterations;            /* at most so many, 0 to 1000000: 15 */
    double stop_threshold_percent; /* ends when the volume changes less: 0.2; 0: never */
    int64_t seed;                  /* numpy.random.seed of the pixel subsets, 0 to 2^32 - 1: 0 */
    int compat_06;                 /* 1: the subsets of MBIRJAX 0.6 */
    const tomoprof_array *weights; /* sinogram; NULL: ones */
    const tomoprof_array *initial; /* volume; NULL: direct_recon with a fitted scale */
    const tomoprof_array *prox;    /* volume to stay near (prox_map); NULL: the qGGMRF prior */
    int64_t first_iteration;       /* of the schedule of subsets, where `initial` is a result: 0 */
    /* Partitions of yours in place of the schedule: NULL */
    const tomoprof_partition_rows *partitions;
    int64_t partition_count;
    const int32_t *sequence; /* of each iteration: the index of its partition */
    const int32_t *orders; /* of each iteration: the order of its rows, one list behind the other */
} tomoprof_recon_options;
#define TOMOPROF_RECON_OPTIONS                                                                     \
    {                                                                                              \
        sizeof(tomoprof_recon_options), 15, 0.2, 0, 0, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL    \
    }

/* Receives what a reconstruction did. Set `size`, and the arrays that you want with their `room`. */
typedef struct tomoprof_recon_report {
    size_t size;        /* sizeof(tomoprof_recon_report) */
    int64_t iterations; /* that were done */
    int stopped_by_threshold;
    double initial_scale; /* of direct_recon; 1 with an initial volume */
    double sigma_y, sigma_x, sigma_prox;
    size_t room; /* of the arrays below, one value for each iteration; NULL: not wanted */
    double *fm_rmse, *change_percent, *alpha;
} tomoprof_recon_report;

/* Reconstructs the volume x from the sinogram y by MBIR (vectorised coordinate descent); with
 * options->prox it is MBIRJAX's prox_map. x and options->initial may be the same array. options,
 * report: may be NULL. CANCELLED: x and report hold the iterations done. */
TOMOPROF_API tomoprof_status tomoprof_recon(tomoprof_context *c, const tomoprof_model *m,
                                            const tomoprof_array *y,
                                            const tomoprof_recon_options *options,
                                            tomoprof_array *x, tomoprof_recon_report *report);
/* Initialise it with TOMOPROF_SART_OPTIONS. */
typedef struct tomoprof_sart_options {
    size_t size;                   /* sizeof(tomoprof_sart_options) */
    const tomoprof_array *initial; /* volume to begin with; NULL: zeros */
    const double *shifts; /* of each view: channels by which its samples lie further; NULL: 0 */
    const int64_t *order; /* views in the order of their use; NULL: each once, as they lie */
    int64_t order_count;  /* how many `order` has */
    double relaxation;    /* share of a correction that is applied: 0.15 */
    const double *clip;   /* least and largest value after each view; NULL: none */
} tomoprof_sart_options;
#define TOMOPROF_SART_OPTIONS                                                                      \
    {                                                                                              \
        sizeof(tomoprof_sart_options), NULL, NULL, NULL, 0, 0.15, NULL                             \
    }
/* Reconstructs x from parallel beams y by SART, slice by slice: each view corrects x by what its
 * rays, sampled twice a pixel, miss. The model of scikit-image's iradon_sart, which takes views in an
 * order by the golden ratio. y has the shape (views, detector rows, channels), x (channels,
 * channels, detector rows); its axis is pixel channels / 2, rounded down. angles: radians, one for
 * each view. Arrays are all float32 or all float64, in C order in host memory; x and
 * options->initial may be the same. options NULL: those of TOMOPROF_SART_OPTIONS. */
TOMOPROF_API tomoprof_status tomoprof_sart(tomoprof_context *c, const tomoprof_array *y,
                                           const double *angles,
                                           const tomoprof_sart_options *options, tomoprof_array *x);

/* Initialise it with TOMOPROF_SCAN_OPTIONS. */
typedef struct tomoprof_scan_options {
    size_t size;        /* sizeof(tomoprof_scan_options) */
    const char *method; /* "fbp", "fourier": parallel; "fdk": cone; "mbir"; NULL: by the beam */
    const char *rings;  /* "keep", "sorting", "fw" (wavelets): takes stripes out of y: keep */
    const char *backproject; /* of fdk: "matched", or "voxel", which is faster: matched */
    const char *redundancy;  /* of fdk: "none", "parker", "wang", "helical": none */
    const char *weights;     /* of mbir: "none", "transmission", "metal": none */
    int64_t iterations;      /* these three as in tomoprof_recon_options */
    double stop_threshold_percent;
    int64_t seed;
} tomoprof_scan_options;
#define TOMOPROF_SCAN_OPTIONS                                                                      \
    {                                                                                              \
        sizeof(tomoprof_scan_options), NULL, "keep", "matched", "none", "none", 15, 0.2, 0         \
    }

/* Reconstructs the volume x from line integrals y as `tomoprof recon` does: rings, weights, a wider
 * detector where "wang" needs one, the method. y and x lie in host memory. options NULL: those of
 * TOMOPROF_SCAN_OPTIONS. */
TOMOPROF_API tomoprof_status tomoprof_recon_scan(tomoprof_context *c, const tomoprof_model *m,
                                                 const tomoprof_array *y,
                                                 const tomoprof_scan_options *options,
                                                 tomoprof_array *x);
/* Computes weights from y, of the same shape, which is any: kind "unweighted" 1, "transmission"
 * exp(-y), "transmission_root" exp(-y/2), "emission" 1/(|y| + 0.1). */
TOMOPROF_API tomoprof_status tomoprof_gen_weights(tomoprof_context *c, const char *kind,
                                                  const tomoprof_array *y, tomoprof_array *weights);
/* Computes weights exp(-y (1 + gamma m)/beta) for scans with metal (MBIRJAX's gen_weights_mar): m is
 * 1 where a ray meets metal, which is looked for in the volume `initial`, or in y where that is
 * NULL. beta > 0 (MBIRJAX: 1), gamma >= 0 (MBIRJAX: 3). */
TOMOPROF_API tomoprof_status tomoprof_gen_weights_mar(tomoprof_context *c, const tomoprof_model *m,
                                                      const tomoprof_array *y,
                                                      const tomoprof_array *initial, double beta,
                                                      double gamma, tomoprof_array *weights);
/* Finds sigma_y, sigma_x and sigma_prox that a reconstruction of y chooses (auto_regularize).
 * weights NULL: ones. */
TOMOPROF_API tomoprof_status tomoprof_auto_regularise(tomoprof_context *c, const tomoprof_model *m,
                                                      const tomoprof_array *y,
                                                      const tomoprof_array *weights,
                                                      double *sigma_y, double *sigma_x,
                                                      double *sigma_prox);
/* Denoises a volume of any shape (QGGMRFDenoiser). sigma_noise > 0, or 0: estimated. p, q, T, the
 * neighbours' weights and sharpness are m's, and sigma_x where its auto_regularize_flag is 0, else it
 * is estimated; m NULL: the defaults, and sharpness 0. Of the options
 * iterations, threshold, seed, initial (NULL: `in`) and the first of the partitions, whose rows are
 * visited in order, are read; NULL is fine. sigma_used may be NULL. */
TOMOPROF_API tomoprof_status tomoprof_denoise(tomoprof_context *c, const tomoprof_model *m,
                                              const tomoprof_array *in, double sigma_noise,
                                              const tomoprof_recon_options *options,
                                              tomoprof_array *out, double *sigma_used);

/* ---- Volumes, views, phantoms ---- */

/* Computes the 3x3x3 median of a volume of any shape; edges are repeated. */
TOMOPROF_API tomoprof_status tomoprof_median_filter3d(tomoprof_context *c, const tomoprof_array *in,
                                                      tomoprof_array *out);
/* Does a step on a volume or on views by its name (docs/volume.md, docs/operations.md):
 * "volume_z_norm", "volume_crop", "minus_log", "remove_stripes_sorting" (size: of the median over
 * channels, odd, 21), ... settings: "KEY=VALUE KEY=VALUE", NULL for none. out has the shape and the type that tomoprof_step_shape tells. frames
 * of correct_flat_field: (3, rows, channels), dark, flat before and flat after the views; else NULL.
 */
TOMOPROF_API tomoprof_status tomoprof_step(tomoprof_context *c, const char *name,
                                           const char *settings, const tomoprof_array *in,
                                           const tomoprof_array *frames, tomoprof_array *out);
/* Tells the shape and the type of its result. */
TOMOPROF_API tomoprof_status tomoprof_step_shape(tomoprof_context *c, const char *name,
                                                 const char *settings, const tomoprof_array *in,
                                                 int64_t shape[3], tomoprof_type *type);
/* Makes "shepp-logan" or "two-ellipsoids": the volume x, and its exact line integrals y. One of them
 * may be NULL. */
TOMOPROF_API tomoprof_status tomoprof_phantom(tomoprof_context *c, const tomoprof_model *m,
                                              const char *name, tomoprof_array *x,
                                              tomoprof_array *y);
/* Computes out = y plus Gaussian noise of the standard deviation `relative` times the largest |y|:
 * the same numbers on every machine for a seed, 0 to 2^32 - 1. y has any shape; y and out may be the
 * same array. */
TOMOPROF_API tomoprof_status tomoprof_add_noise(tomoprof_context *c, const tomoprof_array *y,
                                                double relative, int64_t seed, tomoprof_array *out);
/* Draws a partition of the region of reconstruction into pixel subsets: method "random", "grid" or
 * "blue_noise" (MBIRJAX's gen_pixel_partition, _grid, _blue_noise), seed 0 to 2^32 - 1. *subsets is
 * how many are wanted (1 or more), then how many there are, each of *length pixel indices; at most
 * `room` indices are written, row by row. indices may be NULL where room is 0. */
TOMOPROF_API tomoprof_status tomoprof_partition(tomoprof_context *c, const tomoprof_model *m,
                                                const char *method, int64_t seed, int64_t *subsets,
                                                int64_t *length, int32_t *indices, size_t room);
/* Finds the channel of the rotation axis in line integrals y of parallel beams: method
 * "registration", "entropy" or "symmetry". *score is in [0, 1], NaN where the method has none; it
 * may be NULL. */
TOMOPROF_API tomoprof_status tomoprof_find_center(tomoprof_context *c, const tomoprof_model *m,
                                                  const char *method, const tomoprof_array *y,
                                                  double *channel, double *score);

/* ---- Arrays in files ---- */

/* An array of a file, a folder or a URL, of any format that `tomoprof info` reads. One call at a time
 * uses it. */
typedef struct tomoprof_file tomoprof_file;

/* Opens an array by its name, NULL for the largest. The first call loads libtomoprof_files.so, with the
 * libraries of codecs that it needs, from tomoprof/ beside the library. BAD_ARGUMENT: nothing that is
 * known, or no array of that name. UNSUPPORTED: libtomoprof_files.so or a library of it is missing. */
TOMOPROF_API tomoprof_status tomoprof_file_open(tomoprof_context *c, const char *path,
                                                const char *array, tomoprof_file **out);
/* Closes it. NULL is fine. */
TOMOPROF_API void tomoprof_file_free(tomoprof_file *f);
/* Writes what it is as JSON: format, array, arrays (all names), dtype ("u2"), shape and chunks. order
 * has the dimensions as they are stored, the slowest first. A value is slope * stored + intercept.
 * room and bytes are those of tomoprof_model_json. */
TOMOPROF_API tomoprof_status tomoprof_file_json(tomoprof_context *c, const tomoprof_file *f,
                                                char *json, size_t room, size_t *bytes);
/* Reads the box of `count` elements from `start` on along each dimension (NULL: all) as they are
 * stored, native. strides: bytes from one element to the next along each dimension of `to`, NULL:
 * in C order. bytes: of the box. BAD_ARGUMENT: a box outside, a damaged file. */
TOMOPROF_API tomoprof_status tomoprof_file_read(tomoprof_context *c, tomoprof_file *f,
                                                const int64_t *start, const int64_t *count,
                                                const int64_t *strides, void *to, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
