/* Writes a sinogram as counts of a Data Exchange file. */
#ifdef TP_HDF5
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/store/exchange/exchange.h"
#include "host/store/format/h5.h"

/* dxfile readers expect the root's list of groups. */
static int write_implements(hid_t file)
{
    static const char text[] = "exchange";
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, sizeof text);
    hid_t dataset =
        H5Dcreate2(file, "implements", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int good = dataset >= 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
    if (dataset >= 0)
        H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static hid_t make_dataset(hid_t group, const char *name, hid_t type, int dims, const hsize_t *shape,
                          const char *axes, const char *units)
{
    hid_t space = H5Screate_simple(dims, shape, NULL);
    hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    if (dataset < 0)
        return dataset;
    if ((axes && !h5_write_text(dataset, "axes", axes)) ||
        !h5_write_text(dataset, "units", units)) {
        H5Dclose(dataset);
        return -1;
    }
    return dataset;
}

/* Writes one view of constant counts. */
static int write_frame(hid_t group, const char *name, const char *axes, int64_t rows,
                       int64_t channels, double value, float *frame)
{
    const hsize_t shape[] = {1, (hsize_t)rows, (hsize_t)channels};
    for (int64_t i = 0; i < rows * channels; i++)
        frame[i] = (float)value;
    hid_t dataset = make_dataset(group, name, H5T_IEEE_F32LE, 3, shape, axes, "counts");
    int good = dataset >= 0 &&
               H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, frame) >= 0;
    if (dataset >= 0)
        H5Dclose(dataset);
    return good;
}

static int write_counts(hid_t group, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, double white, float *frame)
{
    const hsize_t shape[] = {(hsize_t)views, (hsize_t)rows, (hsize_t)channels};
    const hsize_t count[] = {1, shape[1], shape[2]};
    hid_t dataset = make_dataset(group, "data", H5T_IEEE_F32LE, 3, shape, "theta:y:x", "counts");
    if (dataset < 0)
        return 0;
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(3, count, NULL);
    int good = 1;
    for (int64_t v = 0; v < views && good; v++) {
        const hsize_t start[] = {(hsize_t)v, 0, 0};
        const float *y = sinogram + v * rows * channels;
        for (int64_t i = 0; i < rows * channels; i++)
            frame[i] = (float)(white * exp(-(double)y[i]));
        good = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
               H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, frame) >= 0;
    }
    H5Sclose(memory);
    H5Sclose(space);
    return H5Dclose(dataset) >= 0 && good;
}

static int write_theta(hid_t group, int64_t views, const float *angles)
{
    const hsize_t shape[] = {(hsize_t)views};
    double *degrees = malloc((size_t)views * sizeof *degrees);
    if (!degrees)
        return 0;
    for (int64_t v = 0; v < views; v++)
        degrees[v] = (double)angles[v] * (180 / M_PI);
    hid_t dataset = make_dataset(group, "theta", H5T_IEEE_F64LE, 1, shape, NULL, "deg");
    int good = dataset >= 0 &&
               H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, degrees) >= 0;
    if (dataset >= 0)
        H5Dclose(dataset);
    free(degrees);
    return good;
}

enum err exchange_write(const char *path, int64_t views, int64_t rows, int64_t channels,
                        const float *sinogram, const float *angles, double white)
{
    struct outfile f = {0};
    void *frame = NULL;
    size_t bytes;
    hid_t file = -1, group = -1;
    enum err e;
    TRY(h5_start(path));
    TRY_OUT(mem_size("one view", 1, rows, channels, sizeof(float), &bytes));
    TRY_OUT(mem_alloc("one view", bytes, &frame));
    TRY_OUT(outfile_open(&f, path));
    if (!f.temporary) {
        e = FAIL(ERR_USAGE, "%s: HDF5 needs a regular file to write to", path);
        goto out;
    }
    /* HDF5 fills the temporary under its own descriptor; the stream only holds its place for the
     * rename. */
    file = H5Fcreate(f.temporary, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    group = file < 0 ? -1 : H5Gcreate2(file, "exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    errno = 0;
    int good = group >= 0 && write_implements(file) &&
               write_counts(group, views, rows, channels, sinogram, white, frame) &&
               write_frame(group, "data_white", "theta_white:y:x", rows, channels, white, frame) &&
               write_frame(group, "data_dark", "theta_dark:y:x", rows, channels, 0, frame) &&
               write_theta(group, views, angles);
    good = (group < 0 || H5Gclose(group) >= 0) && good;
    good = (file < 0 || H5Fclose(file) >= 0) && good;
    e = good ? outfile_commit(&f)
             : FAIL(ERR_IO, "%s: writing failed: %s", path,
                    errno ? strerror(errno) : "HDF5 does not say why");
out:
    outfile_abort(&f);
    mem_free(frame);
    return e;
}
#endif
