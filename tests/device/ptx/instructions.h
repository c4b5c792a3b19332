/* Does what PTX's instructions do ("Parallel Thread Execution ISA", chapter 9), for the C++ that
 * translate.py writes. Registers hold bits. */
#ifndef TP_TESTS_PTX_INSTRUCTIONS_H
#define TP_TESTS_PTX_INSTRUCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <limits>
#include <type_traits>

#include "tests/device/ptx/host.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

extern const struct ptx_host *host;

/* A value of bits, which may be more than it has: an immediate operand, a register for bytes. */
template <class T, class R> static inline T get(R bits)
{
    T value;
    static_assert(sizeof value <= sizeof bits, "a register is not smaller than what it holds");
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Signed values fill a larger register with their sign. */
template <class T, class R> static inline void put(R &to, T value)
{
    if constexpr (std::is_floating_point<T>::value) {
        typename std::conditional<sizeof(T) == 4, u32, u64>::type bits;
        memcpy(&bits, &value, sizeof bits);
        to = (R)bits;
    } else if constexpr (std::is_signed<T>::value) {
        to = (R)(s64)value;
    } else {
        to = (R)value;
    }
}

static inline u8 *aligned(u64 at, u64 bytes)
{
    if (at & (bytes - 1))
        host->die("PTX: %d bytes at %llx, which is not a multiple", (int)bytes,
                  (unsigned long long)at);
    return (u8 *)(uintptr_t)at;
}
template <class T> static inline T load(const u8 *at, int k)
{
    T value;
    memcpy(&value, at + k * sizeof value, sizeof value);
    return value;
}
template <class T> static inline void store(u8 *at, int k, T value)
{
    memcpy(at + k * sizeof value, &value, sizeof value);
}

template <class T> static inline T quotient(T a, T b)
{
    if constexpr (std::is_floating_point<T>::value)
        return a / b;
    else if (b == 0)
        return (T) ~(T)0;
    else
        return std::is_signed<T>::value && b == (T)-1 ? (T)(0 - (u64)a) : a / b;
}
template <class T> static inline T remainder_of(T a, T b)
{
    return b == 0 ? a : std::is_signed<T>::value && b == (T)-1 ? 0 : a % b;
}
template <class T> static inline T least(T a, T b)
{
    if constexpr (std::is_floating_point<T>::value)
        return sizeof a == 4 ? (T)fminf((float)a, (float)b) : (T)fmin((double)a, (double)b);
    else
        return a < b ? a : b;
}
template <class T> static inline T most(T a, T b)
{
    if constexpr (std::is_floating_point<T>::value)
        return sizeof a == 4 ? (T)fmaxf((float)a, (float)b) : (T)fmax((double)a, (double)b);
    else
        return a > b ? a : b;
}
template <class T> static inline T negative(T a)
{
    if constexpr (std::is_floating_point<T>::value)
        return -a;
    else
        return (T)(0 - (u64)a);
}
template <class T> static inline T magnitude(T a)
{
    if constexpr (std::is_floating_point<T>::value)
        return sizeof a == 4 ? (T)fabsf((float)a) : (T)fabs((double)a);
    else
        return a < 0 ? (T)(0 - (u64)a) : a;
}
static inline float fused_sum(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline double fused_sum(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
/* Rounded towards minus infinity: a product of two floats is exact in the wide type, the sum has
 * its sign at least. */
static inline float fused_down(float a, float b, float c)
{
    const float nearest = __builtin_fmaf(a, b, c);
    const __float128 exact = (__float128)a * b + c;
    return (__float128)nearest > exact ? nextafterf(nearest, -INFINITY) : nearest;
}

template <class T> static inline T shifted_left(T a, u32 n)
{
    return n >= 8 * sizeof a ? (T)0 : (T)(a << n);
}
template <class T> static inline T shifted_right(T a, u32 n)
{
    if (n < 8 * sizeof a)
        return (T)(a >> n);
    return std::is_signed<T>::value ? (T)(a >> (8 * sizeof a - 1)) : (T)0;
}
static inline u32 funnel_left(u32 low, u32 high, u32 n)
{
    return (u32)(((u64)high << 32 | low) << (n & 31) >> 32);
}
static inline u32 funnel_right(u32 low, u32 high, u32 n)
{
    return (u32)(((u64)high << 32 | low) >> (n & 31));
}
template <class T> static inline u32 leading_zeros(T x, u32 of_zero)
{
    return !x ? of_zero : (u32)(sizeof x == 8 ? __builtin_clzll(x) : __builtin_clz((u32)x));
}
template <class T> static inline T reversed(T x)
{
    T r = 0;
    for (unsigned i = 0; i < 8 * sizeof x; i++)
        r |= (x >> i & 1) << (8 * sizeof x - 1 - i);
    return r;
}
template <class T> static inline T inserted(T field, T into, u32 at, u32 length)
{
    at &= 255, length &= 255;
    if (at >= 8 * sizeof into || !length)
        return into;
    const T mask = length >= 8 * sizeof into ? ~(T)0 : ((T)1 << length) - 1;
    return (into & ~(T)(mask << at)) | (T)((field & mask) << at);
}
static inline u32 permuted_bytes(u32 a, u32 b, u32 select)
{
    const u64 bytes = (u64)b << 32 | a;
    u32 result = 0;
    for (int i = 0; i < 4; i++) {
        const u32 which = select >> 4 * i & 15;
        u32 byte = (u32)(bytes >> 8 * (which & 7)) & 255;
        byte = which & 8 ? (byte & 128 ? 255 : 0) : byte;
        result |= byte << 8 * i;
    }
    return result;
}
/* rsqrt.approx.ftz.f64: of the upper half, to 2^-22 at least. */
static inline double rough_root(double x)
{
    u64 bits = get<u64>(1 / sqrt(x)) & 0xffffffff00000000u;
    return get<double>(bits);
}

enum ptx_rounding { plain, rn, rz, rni, rzi, rmi, rpi, sat };
template <class D, class A, enum ptx_rounding how> static inline D converted(A a)
{
    if constexpr (!std::is_floating_point<A>::value) {
        static_assert(how == (std::is_floating_point<D>::value ? rn : plain), "rounding");
        return (D)a;
    } else {
        double x = (double)a;
        x = how == rni   ? nearbyint(x)
            : how == rzi ? trunc(x)
            : how == rmi ? floor(x)
            : how == rpi ? ceil(x)
                         : x;
        if constexpr (std::is_floating_point<D>::value) {
            static_assert(how != rz && (sizeof(D) >= sizeof(A) || how == rn), "rounding");
            if constexpr (how == sat)
                return x > 0 ? (D)(x > 1 ? 1 : x) : (D)0;
            return (D)x;
        } else {
            static_assert(how == rni || how == rzi || how == rmi || how == rpi, "rounding");
            if (x != x) /* to 64 bits the smallest number, measured on GPUs; else 0 */
                return sizeof(D) == 8 ? (D)((u64)1 << 63) : (D)0;
            if (x <= (double)std::numeric_limits<D>::min())
                return std::numeric_limits<D>::min();
            if (x >= (double)std::numeric_limits<D>::max())
                return std::numeric_limits<D>::max();
            return (D)x;
        }
    }
}

/* `limits`: the largest lane, or the smallest upwards, in bits 0 to 4; in bits 8 to 12 what of the
 * lane's number is that of its segment. */
static inline u32 shuffled(enum shim_instruction how, u32 value, u32 by, u32 limits, u32 mask,
                           bool *inside)
{
    const int lane = host->lane();
    const u32 segment = limits >> 8 & 31, clamp = limits & 31;
    const int least_lane = (int)((u32)lane & segment);
    const int bound = least_lane | (int)(clamp & ~segment);
    by &= 31;
    int from = how == SHIM_UP     ? lane - (int)by
               : how == SHIM_DOWN ? lane + (int)by
               : how == SHIM_XOR  ? lane ^ (int)by
                                  : least_lane | (int)(by & ~segment);
    *inside = how == SHIM_UP ? from >= bound : from <= bound;
    from = *inside ? from : lane;
    const uint64_t *slots = host->exchange(how, mask, value);
    host->check_lane(mask, from);
    return (u32)slots[from];
}

#endif
