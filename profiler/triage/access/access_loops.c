/* Loops of plain references, reduced to their addresses. Order: pixel, then view, then slice, as
 * the operators' own references have it. */
#include <math.h>

#include "profiler/triage/access/access_trace.h"

static void access_read(struct access_sink *s, int array, int64_t i)
{
    s->access(s, array, i, 0);
}

static void access_write(struct access_sink *s, int array, int64_t i)
{
    s->access(s, array, i, 1);
}

static int64_t access_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static int access_inside_region(int r, int c, int n)
{
    double y = r - 0.5 * (n - 1), x = c - 0.5 * (n - 1), radius = 0.5 * n;
    return x * x + y * y < radius * radius;
}

/* Visits, for one pixel and view, the cells under the footprint of each voxel. Parallel: 2 channels
 * of its row; cone: source 2N from the axis, detector 4N: magnification 2, so the volume fits a
 * detector of 2N cells, halved to N of double width as in the published set-up. */
static void access_footprints(struct access_sink *s, int cone, int back, int n, int pixel, int view)
{
    const int r = pixel / n, c = pixel % n, views = n / 2;
    const double a = M_PI * (cone ? 2.0 : 1.0) * view / views, half = 0.5 * (n - 1);
    const double x = c - half, y = r - half;
    const double across = x * cos(a) + y * sin(a), along = y * cos(a) - x * sin(a);
    const double m = cone ? 2.0 * n / (2.0 * n - along) : 1;
    const int64_t channel = (int64_t)floor(m * across + half);

    for (int slice = 0; slice < n; slice++) {
        const int64_t row = (int64_t)floor(m * (slice - half) + half);
        const int64_t voxel = (int64_t)pixel * n + slice;
        access_read(s, back ? ARRAY_OUT : ARRAY_IN, voxel);
        for (int64_t j = 0; j < (cone ? 2 : 1); j++)
            for (int64_t i = 0; i < 2; i++) {
                if (channel + i < 0 || channel + i >= n || row + j < 0 || row + j >= n)
                    continue; /* off the detector */
                int64_t cell = ((int64_t)view * n + channel + i) * n + row + j; /* rows fastest */
                access_read(s, back ? ARRAY_IN : ARRAY_OUT, cell);
                if (!back)
                    access_write(s, ARRAY_OUT, cell);
            }
        if (back)
            access_write(s, ARRAY_OUT, voxel);
    }
}

static void access_project(struct access_sink *s, int cone, int back, int n)
{
    for (int pixel = 0; pixel < n * n; pixel++) {
        if (!access_inside_region(pixel / n, pixel % n, n))
            continue;
        for (int view = 0; view < n / 2; view++) {
            access_footprints(s, cone, back, n, pixel, view);
            s->step(s);
        }
    }
}

/* Rows in, transformed in a local buffer of 2N, rows out. */
static void access_filter(struct access_sink *s, int n)
{
    for (int64_t row = 0; row < (int64_t)n * n / 2; row++) {
        for (int64_t c = 0; c < n; c++) {
            access_read(s, ARRAY_IN, row * n + c);
            access_write(s, ACCESS_LOCAL, c);
        }
        for (int pass = 0; pass < 2; pass++) /* there and back */
            for (int64_t half = 1; half < 2 * n; half *= 2)
                for (int64_t i = 0; i < 2 * n; i++) {
                    access_read(s, ACCESS_LOCAL, i ^ half);
                    access_write(s, ACCESS_LOCAL, i);
                }
        for (int64_t c = 0; c < n; c++) {
            access_read(s, ACCESS_LOCAL, c);
            access_write(s, ARRAY_OUT, row * n + c);
        }
        s->step(s);
    }
}

static void access_median(struct access_sink *s, int n)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            for (int64_t z = 0; z < n; z++) {
                for (int64_t k = 0; k < 27; k++) {
                    int64_t y = access_clamp(r + k / 9 - 1, n),
                            x = access_clamp(c + k / 3 % 3 - 1, n);
                    access_read(s, ARRAY_IN, (y * n + x) * n + access_clamp(z + k % 3 - 1, n));
                }
                access_write(s, ARRAY_OUT, (r * n + c) * n + z);
            }
            s->step(s);
        }
}

/* A fixed generator: traces must be the same in every run. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* The 6 face neighbours of the cylinders of a random subset, read and updated in place. */
static void access_prior(struct access_sink *s, int n)
{
    static const int around[7][3] = {{0},       {-1, 0, 0}, {1, 0, 0}, {0, -1, 0},
                                     {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
    uint32_t state = 1;
    for (int k = 0; k < n * n; k++) {
        int pixel = (int)(next_random(&state) % (uint32_t)(n * n));
        if (!access_inside_region(pixel / n, pixel % n, n))
            continue;
        for (int64_t z = 0; z < n; z++) {
            for (int i = 0; i < 7; i++) {
                int64_t y = access_clamp(pixel / n + around[i][0], n),
                        x = access_clamp(pixel % n + around[i][1], n);
                access_read(s, ARRAY_OUT, (y * n + x) * n + access_clamp(z + around[i][2], n));
            }
            access_write(s, ARRAY_OUT, (int64_t)pixel * n + z);
        }
        s->step(s);
    }
}

/* Shuffles the pixels. */
static void access_partition(struct access_sink *s, int n)
{
    uint32_t state = 1;
    for (int64_t i = (int64_t)n * n - 1; i > 0; i--) {
        int64_t j = next_random(&state) % (uint32_t)(i + 1);
        access_read(s, ARRAY_OUT, i);
        access_read(s, ARRAY_OUT, j);
        access_write(s, ARRAY_OUT, i);
        access_write(s, ARRAY_OUT, j);
        s->step(s);
    }
}

/* Samples in the order of the detector; a new frame begins the flat and dark fields again. */
static void access_correct(struct access_sink *s, int n)
{
    for (int64_t view = 0; view < n / 2; view++)
        for (int64_t row = 0; row < n; row++) {
            for (int64_t c = 0; c < n; c++) {
                int64_t cell = row * n + c;
                access_read(s, ARRAY_IN, view * n * n + cell);
                access_read(s, ARRAY_AUX, cell);
                access_read(s, ARRAY_AUX2, cell);
                access_write(s, ARRAY_OUT, view * n * n + cell);
            }
            s->step(s);
        }
}

static void access_copy(struct access_sink *s, int n)
{
    for (int64_t pixel = 0; pixel < (int64_t)n * n; pixel++) {
        for (int64_t z = 0; z < n; z++) {
            access_read(s, ARRAY_IN, pixel * n + z);
            access_write(s, ARRAY_OUT, pixel * n + z);
        }
        s->step(s);
    }
}

/* The eight voxels around each place of a grid 5/4 as fine; the result has n^3 of them. */
static void access_resample(struct access_sink *s, int n)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c < n; c++) {
            for (int64_t z = 0; z < n; z++) {
                for (int64_t k = 0; k < 8; k++) {
                    const int64_t y = r * 4 / 5 + (k >> 2), x = c * 4 / 5 + (k >> 1 & 1);
                    access_read(s, ARRAY_IN, (y * n + x) * n + z * 4 / 5 + (k & 1));
                }
                access_write(s, ARRAY_OUT, (r * n + c) * n + z);
            }
            s->step(s);
        }
}

void access_trace_run(enum access_trace trace, int size, struct access_sink *s)
{
    switch (trace) {
    case ACCESS_PARALLEL_FORWARD:
    case ACCESS_PARALLEL_BACK:
        access_project(s, 0, trace == ACCESS_PARALLEL_BACK, size);
        break;
    case ACCESS_CONE_FORWARD:
    case ACCESS_CONE_BACK:
        access_project(s, 1, trace == ACCESS_CONE_BACK, size);
        break;
    case ACCESS_FILTER:
        access_filter(s, size);
        break;
    case ACCESS_MEDIAN:
        access_median(s, size);
        break;
    case ACCESS_PRIOR:
        access_prior(s, size);
        break;
    case ACCESS_PARTITION:
        access_partition(s, size);
        break;
    case ACCESS_CORRECT:
        access_correct(s, size);
        break;
    case ACCESS_COPY:
        access_copy(s, size);
        break;
    case ACCESS_RESAMPLE:
        access_resample(s, size);
        break;
    case ACCESS_TRACES:
        break;
    }
}
