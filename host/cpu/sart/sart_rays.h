/* The inner loops of SART, which exist for float32 and float64. */
#ifndef TP_CPU_SART_SART_RAYS_H
#define TP_CPU_SART_SART_RAYS_H

#include <stdint.h>

#include "host/cpu/common/isa.h"

/* An image and the correction by one view, each with a pixel more on all sides that no result is read
 * from: row i, column j is at i * pitch + j. */
struct sart_plane {
    void *image, *update;
    int64_t pitch;
    double center; /* index of the rotation axis */
};

/* Equidistant points (x + k dx, y + k dy) from the axis, k = 0 .. points - 1, `step` apart. */
struct sart_ray {
    double x, y, dx, dy, step, value; /* value: the sample of the view */
    const void *window;               /* weight of the correction at each point */
    int64_t points;                   /* 0: the ray misses the circle */
};

/* Room of the thread for `points` points of two rays. */
struct sart_room {
    void *weights[2]; /* of each point's four pixels */
    int32_t *places[2];
};

struct sart_loops {
    /* Adds the corrections of two rays, which must not share a pixel. */
    void (*correct)(const struct sart_plane *p, const struct sart_ray ray[2],
                    const struct sart_room *room);
    /* image = clip(image + relaxation update), update = 0, for n pixels. */
    void (*apply)(void *image, void *update, int64_t n, double relaxation, double low, double high);
};

struct sart_kernels {
    struct sart_loops narrow, wide;
};
ISA_TABLES(sart_kernels);

#endif
