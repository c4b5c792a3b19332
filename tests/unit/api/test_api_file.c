/* links: tp_api */
/* Arrays in files by tomoprof.h: what they are, boxes of them, and what is refused. */
#include "tests/unit/api/api_case.h"

static void boxes_are_those_of_the_whole(void **state)
{
    (void)state;
    struct api_case a;
    char path[500], json[2000];
    size_t bytes;
    tomoprof_file *f;
    float *x;
    api_open(&a, "par_plain_odd");
    snprintf(path, sizeof path, "%s" GOLDENS "/par_plain_odd/sinogram.npy", API_DATA);
    int64_t shape[3] = {-1, -1, -1};
    static const char *const names[] = {"views", "rows", "channels"};
    assert_false(npy_read(path, 3, shape, names, 0, &x));
    api_ok(&a, tomoprof_file_open(a.c, path, NULL, &f));
    api_ok(&a, tomoprof_file_json(a.c, f, json, sizeof json, &bytes));
    assert_int_equal(strlen(json), bytes);
    assert_non_null(strstr(json, "\"dtype\":\"f4\""));
    const int64_t *n = a.sinogram, start[3] = {1, 0, 2}, count[3] = {2, n[1], n[2] - 3};
    const size_t all = (size_t)(n[0] * n[1] * n[2]) * sizeof(float);
    const size_t part = (size_t)(count[0] * count[1] * count[2]) * sizeof(float);
    float *whole = malloc(all), *box = malloc(part);
    api_ok(&a, tomoprof_file_read(a.c, f, NULL, NULL, NULL, whole, all));
    assert_memory_equal(whole, x, all);
    api_ok(&a, tomoprof_file_read(a.c, f, start, count, NULL, box, part));
    for (int64_t v = 0, i = 0; v < count[0]; v++)
        for (int64_t r = 0; r < count[1]; r++)
            for (int64_t c = 0; c < count[2]; c++, i++)
                assert_true(box[i] == whole[((v + 1) * n[1] + r) * n[2] + c + 2]);
    const int64_t strides[3] = {4, 4 * count[0] * count[2], 4 * count[0]};
    api_ok(&a, tomoprof_file_read(a.c, f, start, count, strides, box, part));
    assert_true(box[1] == whole[2 * n[1] * n[2] + 2]);

    const int64_t outside[3] = {n[0] - 1, 0, 0}, none[3] = {0, 1, 1};
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "along dimension 0; expected a part of 0 to",
              tomoprof_file_read(a.c, f, outside, count, NULL, box, part));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "along dimension 0",
              tomoprof_file_read(a.c, f, NULL, none, NULL, box, part));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "bytes=4; the box has",
              tomoprof_file_read(a.c, f, start, count, NULL, box, 4));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "to is NULL",
              tomoprof_file_read(a.c, f, NULL, NULL, NULL, NULL, all));
    tomoprof_file_free(f);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "no such file",
              tomoprof_file_open(a.c, "no such file", NULL, &f));
    assert_null(f);
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "no_array", tomoprof_file_open(a.c, path, "no_array", &f));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "path is NULL", tomoprof_file_open(a.c, NULL, NULL, &f));
    api_fails(&a, TOMOPROF_BAD_ARGUMENT, "f is NULL",
              tomoprof_file_read(a.c, NULL, NULL, NULL, NULL, whole, all));
    tomoprof_file_free(NULL);
    free(whole);
    free(box);
    mem_free(x);
    api_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_are_those_of_the_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
