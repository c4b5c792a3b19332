/* Loops of SART for one type, SART_REAL; SART_(name) is its function. Included by sart_kernel.c once for
 * each, so it has no guard. */

typedef SART_REAL SART_(pair) __attribute__((vector_size(2 * sizeof(SART_REAL)), may_alias));
typedef SART_REAL SART_(pair_at)
    __attribute__((vector_size(2 * sizeof(SART_REAL)), aligned(sizeof(SART_REAL)), may_alias));

/* The four pixels around each point, and their bilinear weights times the step. An index is above 0,
 * so that cutting its fraction off rounds down. */
static void SART_(points)(const struct sart_plane *p, const struct sart_ray *r,
                          SART_REAL *restrict weights, int32_t *restrict places)
{
    const SART_REAL x = (SART_REAL)r->x, y = (SART_REAL)r->y, step = (SART_REAL)r->step;
    const SART_REAL dx = (SART_REAL)r->dx, dy = (SART_REAL)r->dy, center = (SART_REAL)p->center;
    const int32_t pitch = (int32_t)p->pitch, points = (int32_t)r->points;
    for (int32_t k = 0; k < points; k++) {
        const SART_REAL at_i = x + (SART_REAL)k * dx + center,
                        at_j = y + (SART_REAL)k * dy + center;
        const int32_t i = (int32_t)at_i, j = (int32_t)at_j;
        const SART_REAL right = at_j - (SART_REAL)j, left = 1 - right;
        const SART_REAL below = (at_i - (SART_REAL)i) * step, above = step - below;
        places[k] = i * pitch + j;
        weights[4 * k] = above * left;
        weights[4 * k + 1] = above * right;
        weights[4 * k + 2] = below * left;
        weights[4 * k + 3] = below * right;
    }
}

static inline SART_(pair) SART_(two)(const SART_REAL *p)
{
    return *(const SART_(pair_at) *)p;
}

/* Returns what the ray misses of its sample, over the sum of its squared weights. */
static SART_REAL SART_(missing)(const struct sart_plane *p, const struct sart_ray *r,
                                const SART_REAL *weights, const int32_t *places)
{
    const SART_REAL *image = p->image;
    SART_(pair) sum[2] = {{0}}, norm[2] = {{0}};
    for (int64_t k = 0; k < r->points; k++) {
        const SART_REAL *at = image + places[k];
        const SART_(pair) above = SART_(two)(weights + 4 * k);
        const SART_(pair) below = SART_(two)(weights + 4 * k + 2);
        sum[0] += above * SART_(two)(at);
        sum[1] += below * SART_(two)(at + p->pitch);
        norm[0] += above * above;
        norm[1] += below * below;
    }
    sum[0] += sum[1];
    norm[0] += norm[1];
    const SART_REAL weight = norm[0][0] + norm[0][1];
    return weight > 0 ? ((SART_REAL)r->value - (sum[0][0] + sum[0][1])) / weight : 0;
}

/* Adds the correction at point k of a ray. Pixels go one by one: a pair would be read again before it is
 * written. */
static inline __attribute__((always_inline)) void
SART_(add)(const struct sart_plane *p, const struct sart_ray *r, const void *weights,
           const int32_t *places, SART_REAL miss, int64_t k)
{
    SART_REAL *at = (SART_REAL *)p->update + places[k];
    const SART_REAL *weight = (const SART_REAL *)weights + 4 * k;
    const SART_REAL share = miss * ((const SART_REAL *)r->window)[k];
    at[0] += share * weight[0];
    at[1] += share * weight[1];
    at[p->pitch] += share * weight[2];
    at[p->pitch + 1] += share * weight[3];
}

/* Points of two rays in turns: those of one are added to the same pixels, and wait for each other. */
static void SART_(correct)(const struct sart_plane *p, const struct sart_ray ray[2],
                           const struct sart_room *room)
{
    SART_REAL miss[2];
    for (int q = 0; q < 2; q++) {
        SART_(points)(p, ray + q, room->weights[q], room->places[q]);
        miss[q] = SART_(missing)(p, ray + q, room->weights[q], room->places[q]);
    }
    const int64_t both = ray[0].points < ray[1].points ? ray[0].points : ray[1].points;
    for (int64_t k = 0; k < both; k++) {
        SART_(add)(p, ray, room->weights[0], room->places[0], miss[0], k);
        SART_(add)(p, ray + 1, room->weights[1], room->places[1], miss[1], k);
    }
    for (int q = 0; q < 2; q++) {
        for (int64_t k = both; k < ray[q].points; k++) {
            SART_(add)(p, ray + q, room->weights[q], room->places[q], miss[q], k);
        }
    }
}

static void SART_(apply)(void *image, void *update, int64_t n, double relaxation, double low,
                         double high)
{
    SART_REAL *restrict x = image, *restrict u = update;
    const SART_REAL share = (SART_REAL)relaxation, least = (SART_REAL)low, most = (SART_REAL)high;
    for (int64_t j = 0; j < n; j++) {
        SART_REAL v = x[j] + share * u[j];
        v = v < least ? least : v;
        x[j] = v > most ? most : v;
        u[j] = 0;
    }
}
