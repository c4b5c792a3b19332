/* Shared by back ends for the steps before a reconstruction: declared work, wavelets, sizes. */
#include <math.h>

#include "host/backend/backend.h"

double prepare_step_bytes(const struct prepare_step *s)
{
    return 4 * ((double)prepare_samples(s->in) + (double)prepare_samples(s->out));
}

/* 5 n log2 n of a complex transform; two views travel as one. */
static double phase_flops(const struct prepare_step *s)
{
    const double margin = (double)prepare_phase_margin(s);
    const double rows = (double)s->in[1] + 2 * margin, channels = (double)s->in[2] + 2 * margin;
    return (double)s->in[0] * rows * channels * (5 * log2(rows * channels) + 1);
}

/* Separable filters: along each axis a multiply-add a tap, there and back, 4/3 for the levels. */
static double wavelet_flops(const struct prepare_step *s)
{
    return 4.0 / 3 * 8 * 2 * s->order * (double)prepare_samples(s->in);
}

double weights_flops(enum weights_kind kind)
{
    static const double flops[] = {0, 20, 21, 2, 22};
    return flops[kind];
}

/* Counts the parts where only one half, both, and only the other are seen, as prepare_joined has
 * it.
 */
static double join_flops(const struct prepare_step *s)
{
    const double start = (double)s->in[2] - s->overlap, both = s->overlap > 1 ? 10 : 8;
    double flops = 0;
    for (int64_t c = 0; c < s->out[2]; c++)
        flops += !((double)c - start > -1) ? 1 : c >= s->in[2] ? 5 : both;
    return flops * (double)(s->out[0] * s->out[1]);
}

/* Those of the sample's function in prepare_math.h, a logarithm as 20.
 * tests/pipe/triage/test_triage.py counts them in a twin. */
double prepare_step_flops(const struct prepare_step *s)
{
    const double n = (double)prepare_samples(s->out);
    switch (s->kind) {
    case PREPARE_FLAT:
        return 8 * n;
    case PREPARE_AIR:
        return 7 * n;
    case PREPARE_LOG:
        return 20 * n;
    case PREPARE_OUTLIERS: /* without the comparisons of the median */
        return 3 * n;
    case PREPARE_POLYNOMIAL:
        return 2 * PREPARE_COEFFICIENTS * n;
    case PREPARE_TILT:
        return 25 * n;
    case PREPARE_JOIN:
        return join_flops(s);
    case PREPARE_WAVELET:
        return wavelet_flops(s);
    case PREPARE_PHASE:
        return phase_flops(s);
    case PREPARE_SYMMETRY: {
        const double turn = 2 * (double)s->in[0] * (double)s->in[2];
        return n * 5 * turn * log2(turn);
    }
    default:
        return n;
    }
}

/* clang-format off */
static const float daubechies[PREPARE_ORDERS][PREPARE_TAPS] = {
    {0.707106781f, 0.707106781f},
    {-0.129409523f, 0.224143868f, 0.836516304f, 0.482962913f},
    {0.0352262919f, -0.0854412739f, -0.13501102f, 0.459877502f, 0.806891509f, 0.332670553f},
    {-0.0105974018f, 0.0328830117f, 0.0308413818f, -0.187034812f, -0.0279837694f, 0.630880768f, 0.714846571f, 0.230377813f},
    {0.00333572529f, -0.012580752f, -0.00624149021f, 0.0775714938f, -0.0322448696f, -0.242294887f, 0.138428146f, 0.724308528f, 0.60382927f, 0.160102398f},
    {-0.00107730109f, 0.00477725751f, 0.000553842201f, -0.0315820393f, 0.0275228655f, 0.0975016056f, -0.129766868f, -0.226264694f, 0.315250352f, 0.751133908f, 0.49462389f, 0.111540743f},
    {0.0003537138f, -0.0018016407f, 0.000429577973f, 0.0125509986f, -0.0165745416f, -0.0380299369f, 0.0806126092f, 0.0713092193f, -0.224036185f, -0.143906004f, 0.469782287f, 0.729132091f, 0.396539319f, 0.0778520541f},
    {-0.000117476784f, 0.000675449406f, -0.000391740373f, -0.00487035299f, 0.00874609405f, 0.0139810279f, -0.0440882539f, -0.017369301f, 0.128747427f, 0.000472484574f, -0.284015543f, -0.0158291053f, 0.585354684f, 0.675630736f, 0.312871591f, 0.0544158422f},
    {3.93473203e-05f, -0.000251963189f, 0.000230385764f, 0.00184764688f, -0.00428150368f, -0.00472320476f, 0.0223616621f, 0.000250947115f, -0.0676328291f, 0.0307256815f, 0.148540749f, -0.0968407832f, -0.293273783f, 0.133197386f, 0.657288078f, 0.604823124f, 0.243834675f, 0.0380779474f},
    {-1.32642029e-05f, 9.35886703e-05f, -0.000116466855f, -0.000685856695f, 0.0019924053f, 0.00139535175f, -0.0107331755f, 0.00360655357f, 0.0332126741f, -0.0294575368f, -0.0713941472f, 0.0930573646f, 0.12736934f, -0.195946274f, -0.249846424f, 0.281172344f, 0.688459039f, 0.527201189f, 0.1881768f, 0.0266700579f},
};
/* clang-format on */

const float *prepare_wavelet(int order)
{
    return daubechies[order - 1];
}

struct prepare_levels prepare_levels_of(const struct prepare_step *s)
{
    struct prepare_levels l = {{s->in[0] + 2 * s->margin}, {s->in[2] + 2 * s->margin}};
    const int64_t taps = 2 * s->order;
    for (int i = 1; i <= s->levels; i++) {
        l.views[i] = (l.views[i - 1] + taps - 1) / 2;
        l.channels[i] = (l.channels[i - 1] + taps - 1) / 2;
    }
    return l;
}

int prepare_levels_most(const struct prepare_step *s)
{
    const int64_t views = s->in[0] + 2 * s->margin, channels = s->in[2] + 2 * s->margin;
    int most = 0;
    for (int64_t n = views < channels ? views : channels; n >= 32 && most < PREPARE_LEVELS; n /= 2)
        most++;
    return most;
}

int prepare_damping(double sigma, int64_t length, int most, float *factor)
{
    int n = 0;
    for (; n < most && 2 * (int64_t)n <= length; n++) {
        const double value = exp(-(double)n * n / (2 * sigma * sigma));
        if (value < 1e-8)
            break;
        factor[n] = (float)value;
    }
    return n;
}

/* The kernel falls as exp(-2 pi r / sqrt(ratio)); exp(-8) is 3e-4. */
int64_t prepare_phase_margin(const struct prepare_step *s)
{
    const double length = sqrt(s->ratio) / (2 * M_PI);
    const double most = (double)(s->in[1] > s->in[2] ? s->in[1] : s->in[2]);
    return (int64_t)ceil(fmin(8 * length, most)) + 1;
}

#define HC 12.398419843320026e-7 /* mm keV */

double prepare_phase_ratio(double distance, double energy, double pixel, double delta_beta)
{
    return M_PI * HC / energy * distance * delta_beta / (pixel * pixel);
}

int64_t prepare_wavelet_margin(int64_t views, int64_t channels)
{
    const int64_t tenth = (views < channels ? views : channels) / 10;
    return tenth < 150 ? tenth : 150;
}

int64_t prepare_phase_length(const struct prepare_step *s, int64_t n)
{
    return fft_good_size(n + 2 * prepare_phase_margin(s));
}

int64_t fft_good_size(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t five = 1; five < 5 * n; five *= 5)
        for (int64_t three = five; three < 3 * n; three *= 3) {
            int64_t size = three;
            while (size < n)
                size *= 2;
            best = size < best ? size : best;
        }
    return best;
}

enum err prepare_check_frames(const struct prepare_step *s, const struct buffer *frames)
{
    const size_t bytes = 3 * (size_t)(s->in[1] * s->in[2]) * sizeof(float);
    FAIL_IF(s->kind == PREPARE_FLAT && bytes && (!frames || frames->bytes < bytes), ERR_INTERNAL,
            "flat and dark fields of %zu bytes in a buffer of %zu", bytes,
            frames ? frames->bytes : 0);
    return ERR_OK;
}
