/* Projects a phantom, reconstructs it twice, and prints how far each volume is from the phantom.
 *
 *     cc reconstruct.c $(pkg-config --cflags --libs tomoprof) -lm -o reconstruct && ./reconstruct
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tomoprof.h>

#define VIEWS 48
#define EDGE  32

static int show_progress(void *user, double done, double total)
{
    printf("%s %.0f of %.0f\n", (const char *)user, done, total);
    return 0; /* another value would cancel the call */
}

static double difference(const float *a, const float *b, int64_t n)
{
    double sum = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(sum / size);
}

static int failed(const tomoprof_context *c)
{
    fprintf(stderr, "%s\n", tomoprof_error(c));
    return 1;
}

int main(void)
{
    char geometry[4000];
    int length = snprintf(
        geometry, sizeof geometry,
        "{\"geometry\": \"parallel\", \"sinogram_shape\": [%d, 4, %d], \"angles\": [", VIEWS, EDGE);
    for (int v = 0; v < VIEWS; v++)
        length += snprintf(geometry + length, sizeof geometry - (size_t)length, "%s%.9g",
                           v ? ", " : "", v * 3.14159265358979 / VIEWS);
    length += snprintf(geometry + length, sizeof geometry - (size_t)length, "]}");

    tomoprof_context *c;
    tomoprof_model *m;
    if (tomoprof_context_create(NULL, &c))
        return failed(NULL);
    printf("%s\n", tomoprof_device(c));
    if (tomoprof_model_parse(c, geometry, (size_t)length, &m))
        return failed(c);

    int64_t volume[3], views[3];
    tomoprof_model_volume_shape(m, volume);
    tomoprof_model_sinogram_shape(m, views);
    const int64_t voxels = volume[0] * volume[1] * volume[2];
    float *object = malloc(sizeof(float) * (size_t)voxels);
    float *result = malloc(sizeof(float) * (size_t)voxels);
    float *sinogram = malloc(sizeof(float) * (size_t)(views[0] * views[1] * views[2]));
    if (!object || !result || !sinogram)
        return 1;
    tomoprof_array x = TOMOPROF_ARRAY(object, TOMOPROF_FLOAT32, volume[0], volume[1], volume[2]);
    tomoprof_array z = TOMOPROF_ARRAY(result, TOMOPROF_FLOAT32, volume[0], volume[1], volume[2]);
    tomoprof_array y = TOMOPROF_ARRAY(sinogram, TOMOPROF_FLOAT32, views[0], views[1], views[2]);

    if (tomoprof_phantom(c, m, "shepp-logan", &x, NULL) || tomoprof_forward_project(c, m, &x, &y))
        return failed(c);
    if (tomoprof_direct_recon(c, m, TOMOPROF_ADJOINT, &y, &z))
        return failed(c);
    printf("filtered back projection: %.3f\n", difference(result, object, voxels));

    tomoprof_recon_options options = TOMOPROF_RECON_OPTIONS;
    options.iterations = 5;
    tomoprof_set_progress(c, show_progress, "iteration");
    if (tomoprof_recon(c, m, &y, &options, &z, NULL))
        return failed(c);
    printf("MBIR: %.3f\n", difference(result, object, voxels));

    free(object);
    free(result);
    free(sinogram);
    tomoprof_model_free(m);
    tomoprof_context_free(c);
    return 0;
}
