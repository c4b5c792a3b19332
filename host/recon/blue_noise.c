/* Void and cluster (R. Ulichney, 1993) on a torus: places are ranked by taking the tightest cluster
 * of a start pattern away, then by filling the largest void. Energies are integers, so that every
 * machine ranks alike. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "host/recon/blue_noise.h"
#include "host/recon/rng.h"

#define SIGMA  1.5
#define UNIT   0x1p24
#define SPARSE (BLUE_NOISE_SIZE / 10) /* places of the start pattern */

struct pattern {
    unsigned char set[BLUE_NOISE_SIZE];
    int64_t energy[BLUE_NOISE_SIZE]; /* of the places that are set, as seen from each place */
};

static int64_t near[BLUE_NOISE_SIZE]; /* energy of a place by its distance on the torus */
static int32_t ranks[BLUE_NOISE_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_energies(void)
{
    for (int i = 0; i < BLUE_NOISE_EDGE; i++)
        for (int j = 0; j < BLUE_NOISE_EDGE; j++) {
            const int a = i < BLUE_NOISE_EDGE / 2 ? i : BLUE_NOISE_EDGE - i;
            const int b = j < BLUE_NOISE_EDGE / 2 ? j : BLUE_NOISE_EDGE - j;
            near[i * BLUE_NOISE_EDGE + j] =
                llround(UNIT * exp(-(a * a + b * b) / (2 * SIGMA * SIGMA)));
        }
}

static void pattern_flip(struct pattern *p, int at)
{
    const int row = at / BLUE_NOISE_EDGE, col = at % BLUE_NOISE_EDGE, last = BLUE_NOISE_EDGE - 1;
    const int64_t sign = p->set[at] ? -1 : 1;
    p->set[at] = !p->set[at];
    for (int i = 0; i < BLUE_NOISE_EDGE; i++)
        for (int j = 0; j < BLUE_NOISE_EDGE; j++)
            p->energy[i * BLUE_NOISE_EDGE + j] +=
                sign * near[((i - row) & last) * BLUE_NOISE_EDGE + ((j - col) & last)];
}

/* The place of highest energy among those that are set, or of lowest among the others. */
static int pattern_extreme(const struct pattern *p, int set)
{
    int best = -1;
    for (int i = 0; i < BLUE_NOISE_SIZE; i++)
        if (p->set[i] == set &&
            (best < 0 || (set ? p->energy[i] > p->energy[best] : p->energy[i] < p->energy[best])))
            best = i;
    return best;
}

/* Moves the tightest cluster into the largest void until that is where it came from. */
static void pattern_spread(struct pattern *p)
{
    for (int moves = 0; moves < BLUE_NOISE_SIZE; moves++) {
        const int from = pattern_extreme(p, 1);
        pattern_flip(p, from);
        const int to = pattern_extreme(p, 0);
        pattern_flip(p, to);
        if (from == to)
            return;
    }
}

static void blue_noise_make(void)
{
    static struct pattern start, p;
    struct rng r;
    make_energies();
    rng_seed(&r, 1);
    for (int n = 0; n < SPARSE;) {
        const int at = (int)rng_interval(&r, BLUE_NOISE_SIZE - 1);
        if (!start.set[at]) {
            pattern_flip(&start, at);
            n++;
        }
    }
    pattern_spread(&start);
    memcpy(&p, &start, sizeof p);
    for (int rank = SPARSE - 1; rank >= 0; rank--) {
        const int at = pattern_extreme(&p, 1);
        pattern_flip(&p, at);
        ranks[at] = rank;
    }
    memcpy(&p, &start, sizeof p);
    for (int rank = SPARSE; rank < BLUE_NOISE_SIZE; rank++) {
        const int at = pattern_extreme(&p, 0);
        pattern_flip(&p, at);
        ranks[at] = rank;
    }
}

const int32_t *blue_noise_ranks(void)
{
    pthread_once(&once, blue_noise_make);
    return ranks;
}
