// Where the pixels fall in each view: on the host here, to check the kernel. In a design: adders
// along a row of pixels (parallel beams), or a reciprocal and tables by channel (cone).
#include <cmath>

#include "kernel.h"

static share_t share(double v)
{
    return share_t(std::rint(v * 0x1p24) / 0x1p24);
}

#if UNDER
// Shares of the rows under a voxel a quarter of the edge above the central plane.
static void rows_under(double gain, footprint *foot)
{
    const double height = gain * 0.5, v = height * 0.25 * CHANNELS, first = std::floor(v - 0.5);
    for (int j = 0; j < UNDER; j++) {
        const double distance = std::fabs(v - first - j);
        const double part = std::fmin(std::fmin(1.0, height), 0.5 * (height + 1) - distance);
        foot->rows[j] = share(std::fmax(0.0, part) / height);
    }
}

static footprint under(double angle, double x, double y)
{
    const double c = std::cos(angle), s = std::sin(angle), u = c * x - s * y;
    const double distance = 4.0 * CHANNELS, magnification = 2, delta = 0.5;
    const double gain = 1 / (1 / magnification - delta * (s * x + c * y) / distance);
    const double theta = std::atan2(gain * delta * u, distance);
    const double edge =
        std::fmax(std::fabs(std::cos(angle - theta)), std::fabs(std::sin(angle - theta)));
    footprint foot;
    foot.position = coordinate_t(gain * delta * u + CENTRE);
    foot.width = share(gain * delta * edge / std::cos(theta));
    foot.height = share(delta / edge);
    rows_under(gain, &foot);
    return foot;
}
#else
static footprint under(double angle, double x, double y)
{
    const double c = std::cos(angle), s = std::sin(angle), u = c * x - s * y;
    const double edge = std::fmax(std::fabs(c), std::fabs(s));
    footprint foot;
    foot.position = coordinate_t(u + CENTRE);
    foot.width = share(edge);
    foot.height = share(1 / edge);
    return foot;
}
#endif

void footprints(hls::stream<footprint> &out)
{
    for (int v = 0; v < VIEWS; v++)
        for (int p = 0; p < PIXELS; p++)
            out.write(under(angles[v], p % CHANNELS - 0.5 * (CHANNELS - 1),
                            p / CHANNELS - 0.5 * (CHANNELS - 1)));
}
