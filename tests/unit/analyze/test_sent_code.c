/* links: tp_analyze */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/analyze/state/sent_code.h"
#include "tests/unit/check.h"

static const char script[] = "import functools\n"            /* 1 */
                             "@functools.cache\n"            /* 2 */
                             "@functools.wraps(min)\n"       /* 3 */
                             "def weigh(n):\n"               /* 4 */
                             "    return [i for i in n]\n"   /* 5 */
                             "class Grid:\n"                 /* 6 */
                             "    async def cell(self): 0\n" /* 7 */
                             "twice = lambda x: 2 * x\n"     /* 8 */
                             "def weigh_all(n): 0\n";        /* 9 */
static const char other[] =
    "\n\ndef filtered(): 0\ntwice = lambda x: 2 * x\n\n\n\nthird = lambda: 3\n";

static const struct {
    const char *name;
    int line, file; /* 0: script, 1: other, -1: unknown */
} cases[] = {
    {"weigh", 2, 0},     {"weigh", 4, 0},    {"weigh.<locals>.<listcomp>", 5, 0},
    {"weigh", 9, -1}, /* weigh_all() */
    {"weigh", 5, -1},    {"Grid", 6, 0},     {"Grid.cell", 7, 0},
    {"filtered", 3, 1},  {"<lambda>", 4, 1}, {"<lambda>", 8, -1}, /* in both */
    {"weigh", 1000, -1}, {"weigh", 0, -1},   {"weigh", -7, -1},
};

static void file_written(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

static void test_places(void **state)
{
    (void)state;
    char folder[] = "/tmp/tomoprof-sent-XXXXXX", paths[3][80];
    static const char *const names[] = {"run.py", "other.py", "gone.py"};
    struct run *r = calloc(1, sizeof *r);
    assert_true(mkdtemp(folder) && r && !model_create(&r->m));
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        assert_true(!sent_code_may_be_in(r, paths[i]) && !sent_code_may_be_in(r, paths[i]));
    }
    assert_true(!sent_code_may_be_in(r, "/etc/passwd") && r->sent.files.count == 3);
    file_written(paths[0], script);
    file_written(paths[1], other);
    for (int twice = 0; twice < 2; twice++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const char *found = sent_code_file(r, cases[i].name, cases[i].line);
            const char *wanted = cases[i].file < 0 ? NULL : paths[cases[i].file];
            if (!found != !wanted || (found && strcmp(found, wanted)))
                fprintf(stderr, "%s, line %d: %s\n", cases[i].name, cases[i].line,
                        found ? found : "unknown");
            assert_true(!found == !wanted && (!found || !strcmp(found, wanted)));
        }
    assert_true(sent_code_is("<dynamic-code>") && !sent_code_is("<string>"));
    sent_code_free(r);
    model_destroy(r->m);
    free(r);
    for (int i = 0; i < 2; i++)
        assert_true(!unlink(paths[i]));
    assert_true(!rmdir(folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
