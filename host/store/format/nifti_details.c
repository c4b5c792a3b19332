/* The fields of a NIfTI header besides sizes and types, and how voxels lie in the world. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "host/store/format/nifti.h"

/* Places of a field in versions 1 and 2: offset and bytes of an element. */
static const struct nifti_field {
    char kind; /* integer, real, text */
    size_t at;
    int count, at1, size1, at2, size2;
} fields[] = {
#define FIELD(kind, name, ...)                                                                     \
    {                                                                                              \
        kind, offsetof(struct nifti_details, name), __VA_ARGS__                                    \
    }
    FIELD('i', dim_info, 1, 39, 1, 524, 1),        FIELD('r', intent, 3, 56, 4, 80, 8),
    FIELD('i', intent_code, 1, 68, 2, 504, 4),     FIELD('i', slice_start, 1, 74, 2, 224, 8),
    FIELD('r', pixdim, 8, 76, 4, 104, 8),          FIELD('r', slope, 1, 112, 4, 176, 8),
    FIELD('r', intercept, 1, 116, 4, 184, 8),      FIELD('i', slice_end, 1, 120, 2, 232, 8),
    FIELD('i', slice_code, 1, 122, 1, 496, 4),     FIELD('i', units, 1, 123, 1, 500, 4),
    FIELD('r', cal_max, 1, 124, 4, 192, 8),        FIELD('r', cal_min, 1, 128, 4, 200, 8),
    FIELD('r', slice_duration, 1, 132, 4, 208, 8), FIELD('r', time_offset, 1, 136, 4, 216, 8),
    FIELD('t', description, 80, 148, 1, 240, 1),   FIELD('t', aux_file, 24, 228, 1, 320, 1),
    FIELD('i', qform_code, 1, 252, 2, 344, 4),     FIELD('i', sform_code, 1, 254, 2, 348, 4),
    FIELD('r', quaternion, 3, 256, 4, 352, 8),     FIELD('r', offset, 3, 268, 4, 376, 8),
    FIELD('r', srow, 12, 280, 4, 400, 8),          FIELD('t', intent_name, 16, 328, 1, 508, 1),
#undef FIELD
};
#define FIELDS (sizeof fields / sizeof *fields)

static void field_read(char kind, const unsigned char *in, int size, int swap, unsigned char *out)
{
    uint64_t bits = 0;
    for (int i = 0; i < size; i++)
        bits |= (uint64_t)in[swap ? size - 1 - i : i] << (8 * i);
    if (kind == 't') {
        *out = *in;
    } else if (kind == 'r' && size == 4) {
        const uint32_t narrow = (uint32_t)bits;
        float f;
        memcpy(&f, &narrow, sizeof f);
        const double d = (double)f;
        memcpy(out, &d, sizeof d);
    } else {
        if (kind == 'i' && size > 1) /* single bytes have no sign */
            bits = (uint64_t)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
        memcpy(out, &bits, sizeof bits);
    }
}

static void field_write(char kind, const unsigned char *in, int size, unsigned char *out)
{
    double d;
    if (kind == 'r' && size == 4) {
        memcpy(&d, in, sizeof d);
        const float f = (float)d;
        memcpy(out, &f, sizeof f);
    } else {
        memcpy(out, in, (size_t)size); /* little-endian */
    }
}

void nifti_details_read(const unsigned char *bytes, int version, int swap, struct nifti_details *d)
{
    *d = (struct nifti_details){0};
    for (const struct nifti_field *f = fields; f < fields + FIELDS; f++)
        for (int i = 0; i < f->count; i++) {
            const int at = version == 1 ? f->at1 : f->at2, n = version == 1 ? f->size1 : f->size2;
            field_read(f->kind, bytes + at + i * n, n, swap,
                       (unsigned char *)d + f->at + (size_t)i * (f->kind == 't' ? 1 : 8));
        }
}

void nifti_details_write(const struct nifti_details *d, int version, unsigned char *bytes)
{
    for (const struct nifti_field *f = fields; f < fields + FIELDS; f++)
        for (int i = 0; i < f->count; i++) {
            const int at = version == 1 ? f->at1 : f->at2, n = version == 1 ? f->size1 : f->size2;
            field_write(f->kind,
                        (const unsigned char *)d + f->at + (size_t)i * (f->kind == 't' ? 1 : 8), n,
                        bytes + at + i * n);
        }
}

static const struct {
    int code;
    const char *names[7]; /* the first is the one that is shown */
} units[] = {{1, {"m", "meter", "metre"}},
             {2, {"mm", "millimeter", "millimetre"}},
             {3, {"um", "micrometer", "micrometre", "micron", "\xc2\xb5m", "\xce\xbcm"}},
             {8, {"s", "second", "sec"}},
             {16, {"ms", "millisecond"}},
             {24, {"us", "microsecond", "\xc2\xb5s", "\xce\xbcs"}},
             {32, {"Hz", "hertz"}},
             {40, {"ppm"}},
             {48, {"rad/s"}}};

const char *nifti_unit(int64_t code, int axis)
{
    const int64_t part = axis < 3 ? code & 7 : axis == 3 ? code & 56 : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (part && units[i].code == part)
            return units[i].names[0];
    return NULL;
}

int nifti_unit_code(const char *unit)
{
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        for (int k = 0; k < 7 && units[i].names[k]; k++)
            if (!strcmp(units[i].names[k], unit))
                return units[i].code;
    return 0;
}

/* Columns are the directions of x, y and z: right-handed but for the sign of pixdim[0]. */
static void rotation_of(const struct nifti_details *d, double r[3][3])
{
    double b = d->quaternion[0], c = d->quaternion[1], e = d->quaternion[2];
    double rest = 1 - (b * b + c * c + e * e), a = 0;
    if (rest < 1e-7) { /* a rotation by 180 degrees */
        const double n = sqrt(b * b + c * c + e * e);
        b /= n, c /= n, e /= n;
    } else {
        a = sqrt(rest);
    }
    const double full[3][3] = {
        {a * a + b * b - c * c - e * e, 2 * (b * c - a * e), 2 * (b * e + a * c)},
        {2 * (b * c + a * e), a * a + c * c - b * b - e * e, 2 * (c * e - a * b)},
        {2 * (b * e - a * c), 2 * (c * e + a * b), a * a + e * e - c * c - b * b}};
    memcpy(r, full, sizeof full);
    for (int i = 0; i < 3; i++)
        r[i][2] *= d->pixdim[0] < 0 ? -1 : 1;
}

const char *nifti_affine(const struct nifti_details *d, double m[3][4])
{
    double r[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (d->sform_code > 0) {
        memcpy(m, d->srow, sizeof d->srow);
        return "sform";
    }
    if (d->qform_code > 0)
        rotation_of(d, r);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            m[i][k] = r[i][k] * d->pixdim[k + 1];
        m[i][3] = d->qform_code > 0 ? d->offset[i] : 0;
    }
    return d->qform_code > 0 ? "qform" : "pixdim";
}

/* The way back: the quaternion's largest part is found first, so that nothing is divided by a small
 * number. */
static void set_rotation(struct nifti_details *d, double r[3][3])
{
    const double det = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
                       r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
                       r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    d->pixdim[0] = det < 0 ? -1 : 1;
    for (int i = 0; i < 3; i++)
        r[i][2] *= d->pixdim[0];
    const double trace = r[0][0] + r[1][1] + r[2][2];
    const double parts[4] = {1 + trace, 1 + 2 * r[0][0] - trace, 1 + 2 * r[1][1] - trace,
                             1 + 2 * r[2][2] - trace}; /* 4 times the squares */
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = parts[i] > parts[most] ? i : most;
    const double n = 2 * sqrt(parts[most]);
    const double x = r[2][1] - r[1][2], y = r[0][2] - r[2][0], z = r[1][0] - r[0][1];
    const double xy = r[0][1] + r[1][0], xz = r[0][2] + r[2][0], yz = r[1][2] + r[2][1];
    const double rows[4][4] = {{n * n / 4, x, y, z},
                               {x, n * n / 4, xy, xz},
                               {y, xy, n * n / 4, yz},
                               {z, xz, yz, n * n / 4}};
    const double sign = rows[most][0] < 0 ? -1 : 1;
    for (int i = 0; i < 3; i++)
        d->quaternion[i] = sign * rows[most][i + 1] / n;
}

/* Reads the frequency, phase and slice direction: two bits each, the number of an axis from 1. */
static int64_t reorder_info(int64_t info, const int *place)
{
    int64_t out = info & ~(int64_t)63;
    for (int i = 0; i < 6; i += 2) {
        const int axis = (int)(info >> i & 3);
        if (axis)
            out |= (int64_t)(place[axis - 1] + 1) << i;
    }
    return out;
}

int nifti_reorder(struct nifti_details *d, int dims, const int *from)
{
    double r[3][3], old[12], pixdim[8];
    int place[3] = {0, 1, 2}, moved = 0, mixed = 0;
    for (int i = 0; i < dims; i++) {
        moved |= from[i] != i;
        mixed |= (i < 3) != (from[i] < 3);
        if (i < 3 && from[i] < 3)
            place[from[i]] = i;
    }
    if (!moved)
        return 1;
    memcpy(pixdim, d->pixdim, sizeof pixdim);
    for (int i = 0; i < dims; i++)
        d->pixdim[i + 1] = from[i] < 7 ? pixdim[from[i] + 1] : 1;
    if (mixed || (dims > 3 && from[3] != 3)) {
        d->units &= mixed ? 0 : 7;
        d->time_offset = 0;
    }
    if (mixed) {
        d->sform_code = d->qform_code = d->dim_info = 0;
        return 0;
    }
    d->dim_info = reorder_info(d->dim_info, place);
    memcpy(old, d->srow, sizeof old);
    d->pixdim[0] = pixdim[0];
    rotation_of(d, r);
    double turned[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            d->srow[4 * i + place[k]] = old[4 * i + k];
            turned[i][place[k]] = r[i][k];
        }
    if (d->qform_code > 0)
        set_rotation(d, turned);
    return 1;
}
