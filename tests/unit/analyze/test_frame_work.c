/* links: tp_analyze */
/* Tells by its name what a function does with the bytes that were read. */
#include "profiler/analyze/model/codecs.h"
#include "tests/unit/check.h"

static enum frame_work work_of(const char *function)
{
    const struct codec_modules none = {0};
    const struct model_frame f = {.function = function, .kind = "native", .module = "x.so"};
    const char *codec;
    int unnamed;
    return frame_work(&f, &none, &codec, &unnamed);
}

static void changes_of_type_are_told_from_broadcasts(void **state)
{
    (void)state;
    static const char *const convert[] = {"array_astype", "_aligned_strided_to_contig_cast",
                                          "DOUBLE_cast_to_float", "cast_float", "wrapped_convert"};
    static const char *const other[] = {"bitcast_copy_fusion.1", "broadcast_multiply_fusion",
                                        "bitcast_gather_fusion", "std::dynamic_pointer_cast"};
    for (size_t i = 0; i < sizeof convert / sizeof *convert; i++)
        assert_int_equal(work_of(convert[i]), WORK_CONVERT);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_int_equal(work_of(other[i]), WORK_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_of_type_are_told_from_broadcasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
