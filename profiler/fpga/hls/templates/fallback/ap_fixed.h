// The few operations of ap_fixed that these kernels use, for a test bench without a vendor's
// headers: convergent rounding (AP_RND_CONV) and saturation (AP_SAT) alone, up to 62 bits. Put a
// vendor's include folder first and this is not read.
#ifndef FALLBACK_AP_FIXED_H
#define FALLBACK_AP_FIXED_H

#include <cmath>
#include <cstdint>

enum ap_q_mode { AP_RND_CONV };
enum ap_o_mode { AP_SAT };

template <int W, int I, ap_q_mode Q = AP_RND_CONV, ap_o_mode O = AP_SAT> struct ap_fixed {
    static_assert(W >= 1 && W <= 62, "the fallback holds 62 bits");
    int64_t raw;

    ap_fixed() : raw(0)
    {
    }
    ap_fixed(double v) : raw(saturated(std::nearbyint(std::ldexp(v, W - I))))
    {
    }
    template <int W2, int I2> ap_fixed(const ap_fixed<W2, I2> &v) : raw(0)
    {
        const int drop = (W2 - I2) - (W - I); // digits behind the point that are lost
        if (drop <= 0)
            raw = saturated(std::ldexp(static_cast<double>(v.raw), -drop));
        else if (drop < 62)
            raw = saturated(static_cast<double>(halved(v.raw, drop)));
    }
    double to_double() const
    {
        return std::ldexp(static_cast<double>(raw), I - W);
    }

    int to_int() const // towards 0
    {
        return static_cast<int>(raw / (int64_t{1} << (W - I)));
    }

  private:
    // Both limits are exact in float64 up to W = 53; wider intermediate results never come near
    // them here.
    static int64_t saturated(double v)
    {
        const double most = std::ldexp(1.0, W - 1);
        if (v >= most)
            return (int64_t{1} << (W - 1)) - 1;
        return v < -most ? -(int64_t{1} << (W - 1)) : static_cast<int64_t>(v);
    }
    static int64_t halved(int64_t v, int drop)
    {
        const int64_t whole = v >> drop, rest = v - whole * (int64_t{1} << drop),
                      half = int64_t{1} << (drop - 1);
        return whole + (rest > half || (rest == half && whole % 2 != 0));
    }
};

constexpr int larger(int a, int b)
{
    return a > b ? a : b;
}

template <int W, int I, int W2, int I2>
ap_fixed<W + W2, I + I2> operator*(const ap_fixed<W, I> &a, const ap_fixed<W2, I2> &b)
{
    ap_fixed<W + W2, I + I2> out;
    out.raw = a.raw * b.raw;
    return out;
}

template <int W, int I, int W2, int I2>
using sum_of = ap_fixed<larger(I, I2) + larger(W - I, W2 - I2) + 1, larger(I, I2) + 1>;

template <int W, int I, int W2, int I2>
sum_of<W, I, W2, I2> operator+(const ap_fixed<W, I> &a, const ap_fixed<W2, I2> &b)
{
    const int fraction = larger(W - I, W2 - I2);
    sum_of<W, I, W2, I2> out;
    out.raw = a.raw * (int64_t{1} << (fraction - (W - I))) +
              b.raw * (int64_t{1} << (fraction - (W2 - I2)));
    return out;
}

template <int W, int I, int W2, int I2>
sum_of<W, I, W2, I2> operator-(const ap_fixed<W, I> &a, const ap_fixed<W2, I2> &b)
{
    ap_fixed<W2 + 1, I2 + 1> minus;
    minus.raw = -b.raw;
    const int fraction = larger(W - I, W2 - I2);
    sum_of<W, I, W2, I2> out;
    out.raw = a.raw * (int64_t{1} << (fraction - (W - I))) +
              minus.raw * (int64_t{1} << (fraction - (W2 - I2)));
    return out;
}

template <int W, int I> bool operator<(const ap_fixed<W, I> &a, const ap_fixed<W, I> &b)
{
    return a.raw < b.raw;
}

#endif
