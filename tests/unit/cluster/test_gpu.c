/* links: tp_cluster */
/* Tests the GPU that each rank of a machine takes, for numbers of GPUs that are not here. */
#include "host/cluster/cluster.h"
#include "tests/unit/check.h"

static const char *taken(int local_rank, int local_size, const char *given, int count)
{
    static char out[64];
    const struct cluster_place place = {local_rank, local_size, local_rank, local_size};
    return cluster_gpu_of(&place, given, count, out, sizeof out) ? out : NULL;
}

static void each_its_own(void **state)
{
    (void)state;
    static const char *const names[] = {"0", "1", "2", "3"};
    for (int r = 0; r < 4; r++)
        assert_string_equal(taken(r, 4, NULL, 4), names[r]);
    for (int r = 0; r < 6; r++) /* more ranks than GPUs share them in turn */
        assert_string_equal(taken(r, 6, NULL, 2), names[r % 2]);
}

static void of_those_given(void **state)
{
    (void)state;
    assert_string_equal(taken(0, 3, "5,7", 8), "5");
    assert_string_equal(taken(1, 3, "5,7", 8), "7");
    assert_string_equal(taken(2, 3, "5,7", 8), "5");
    assert_string_equal(taken(1, 2, "GPU-a,MIG-b", 0), "MIG-b");
    assert_string_equal(taken(1, 2, "3", 8), "3");
}

static void left_alone(void **state)
{
    (void)state;
    assert_null(taken(0, 1, NULL, 8)); /* one rank here: CUDA's own choice */
    assert_null(taken(0, 1, "2,3", 8));
    assert_null(taken(1, 2, NULL, 1));
    assert_null(taken(1, 2, NULL, 0));
    assert_null(taken(1, 2, "", 8)); /* none is to be seen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_its_own),
        cmocka_unit_test(of_those_given),
        cmocka_unit_test(left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
