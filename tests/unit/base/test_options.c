/* links: tp_base */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/options.h"

static const char *in, *label;
static int64_t runs;
static double noise;
static int json, method;
static char settings[OPTIONS_LIST];
static uint64_t memory;
static double coefficients[3], tilt;
static enum { BY_BEAM, FBP, FDK } method_from_one;

static struct opt rows[] = {
    {"in", 'i', OPT_INPUT, &in, "FILE", "input", 0, 0, 0},
    {"label", 0, OPT_TEXT, &label, "TEXT", "any text", 0, 0, 0},
    {"runs", 'n', OPT_INT, &runs, "N", "number of runs\nand more", 1, 10, 0},
    {"noise", 0, OPT_NUMBER, &noise, "X", "noise", -1, 1, 0},
    {"json", 'j', OPT_FLAG, &json, NULL, "as JSON", 0, 0, 0},
    {"method", 0, OPT_CHOICE, &method, "fbp|fdk|mbir", "how", 0, 0, 0},
    {"memory", 0, OPT_BYTES, &memory, "BYTES", "limit", 0, 0, 0},
    {"set", 0, OPT_LIST, settings, "KEY=VALUE", "settings", 0, 0, 0},
    OPTION_NUMBERS("hardening", 0, coefficients, "A,B,..", "polynomial", 2),
    OPTION_AUTO("tilt", 0, tilt, "DEGREES|auto", "upright", -45, 45),
    OPTION_CHOICE("by", 0, method_from_one, "fbp|fdk", "how", .min = FBP),
    OPTION_TWIN("dark-field", OPT_INPUT, in, "FILE"),
    {0},
};

/* Splits `line` at blanks and parses it; the positional words come back joined by commas. */
static enum err parse(const char *line, char joined[200])
{
    static char copy[500];
    char *argv[40];
    int argc = 0, words = 0;
    in = label = NULL;
    settings[0] = 0;
    runs = 0, noise = 0, json = 0, method = -1, memory = 0;
    for (struct opt *r = rows; r->name; r++)
        r->seen = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *s = strtok(copy, " "); s; s = strtok(NULL, " "))
        argv[argc++] = s;
    enum err e = opt_parse(rows, argc, argv, &words);
    *joined = 0;
    for (int i = 0; !e && i < words; i++)
        snprintf(joined + strlen(joined), 200 - strlen(joined), "%s%s", i ? "," : "", argv[i]);
    return e;
}

static void numbers_reach_their_array(void **state)
{
    (void)state;
    char words[200];
    coefficients[2] = 7;
    assert_int_equal(parse("--hardening 1,-2.5e-1 --tilt auto --by fdk", words), ERR_OK);
    assert_true(coefficients[0] == 1 && coefficients[1] == -0.25 && coefficients[2] == 0);
    assert_true(isinf(tilt));
    assert_int_equal(method_from_one, FDK);
    assert_int_equal(parse("--tilt=-3.5 --by fbp", words), ERR_OK);
    assert_true(tilt == -3.5);
    assert_int_equal(method_from_one, FBP);
    static const char *const wrong[][2] = {{"--hardening 1", "at least 2 numbers"},
                                           {"--hardening 1,2,3,4", "more than 3 numbers"},
                                           {"--hardening 1,,2", "finite numbers"},
                                           {"--hardening 1,inf", "finite numbers"},
                                           {"--tilt 60", "must be from -45 to 45, or auto"},
                                           {"--tilt nan", "or auto"},
                                           {"--by by-beam", "must be one of fbp|fdk"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(parse(wrong[i][0], words), ERR_USAGE);
        assert_non_null(strstr(err_text(), wrong[i][1]));
    }
}

static void parameters_are_spelled_as_options(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"`runs=4`: too many", "--runs 4: too many"},
        {"give `in`, or `in=FILE` and `by`", "give --in, or --in FILE and --by"},
        {"`dark_field` and `dark_field=a b`", "--dark-field and --dark-field a b"},
        {"`run`, `runs` and `tomoprof run --runs`", "`run`, --runs and `tomoprof run --runs`"},
        {"`dark-field` `runs", "`dark-field` `runs"},
        {"odd`name: `runs=`", "odd`name: --runs "},
        {"`set=size=4`", "--set size=4"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[100];
        strcpy(text, pairs[i][0]);
        opt_spell(rows, text);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void spell_rows(char *text)
{
    opt_spell(rows, text);
}

static char told[100];

static void keep_told(void *context, enum log_level level, const char *sentence)
{
    (void)context;
    (void)level;
    snprintf(told, sizeof told, "%s", sentence);
}

/* `sort` is an option of a command, and a program. */
static void sentences_of_a_profile_are_not_spelled(void **state)
{
    (void)state;
    err_speller = spell_rows;
    log_redirect(keep_told, NULL);
    log_info("waits for `runs`");
    assert_string_equal(told, "waits for --runs");
    log_verbatim("waits for `runs`");
    assert_string_equal(told, "waits for `runs`");
    log_redirect(NULL, NULL);
    err_speller = NULL;
}

static void errors_are_spelled(void **state)
{
    (void)state;
    assert_int_equal(FAIL(ERR_USAGE, "`runs=%d`: too many", 4), ERR_USAGE);
    assert_string_equal(err_text(), "`runs=4`: too many");
    err_speller = spell_rows;
    (void)FAIL(ERR_USAGE, "%d: too many", 4);
    (void)err_prefix(ERR_USAGE, "`runs`");
    assert_string_equal(err_text(), "--runs: 4: too many");
    err_speller = NULL;
}

static void values_reach_their_variables(void **state)
{
    (void)state;
    char words[200];
    assert_int_equal(parse("first --in a.h5 -n 3 second --noise=-0.5 -j --method mbir --memory "
                           "2GiB - -- --third -x",
                           words),
                     ERR_OK);
    assert_string_equal(words, "first,second,-,--third,-x");
    assert_string_equal(in, "a.h5");
    assert_null(label);
    assert_int_equal(runs, 3);
    assert_true(noise == -0.5);
    assert_int_equal(json, 1);
    assert_int_equal(method, 2);
    assert_int_equal(memory, 2ull << 30);
    assert_true(rows[0].seen);
    assert_false(rows[1].seen);

    assert_int_equal(parse("-ia.h5 -n10 --noise -1 --label=--odd --runs 2", words), ERR_OK);
    assert_string_equal(in, "a.h5");
    assert_string_equal(label, "--odd");
    assert_int_equal(runs, 2); /* the last one holds */
    assert_true(noise == -1);
    assert_int_equal(parse("", words), ERR_OK);
    assert_int_equal(parse("--label=", words), ERR_OK);
    assert_string_equal(label, "");
}

static void a_list_keeps_all_values(void **state)
{
    (void)state;
    char words[200];
    assert_int_equal(parse("--set a=1 x --set=b=2 --set c", words), ERR_OK);
    assert_string_equal(settings, "a=1 b=2 c");
    static char longer[OPTIONS_LIST + 1];
    memset(longer, 'x', OPTIONS_LIST);
    char option[] = "--set", *argv[] = {option, longer};
    int count = 0;
    assert_int_equal(opt_parse(rows, 2, argv, &count), ERR_USAGE);
    assert_non_null(strstr(err_text(), "at most 4095"));
}

static void a_wrapped_command_keeps_its_own_options(void **state)
{
    (void)state;
    static const struct {
        const char *argv[6];
        int argc, words;
        const char *first, *last;
    } cases[] = {
        {{"-j", "--runs", "3", "prog", "--in", "x"}, 6, 3, "prog", "x"},
        {{"--runs=3", "-j", "--", "--in", "--", "-j"}, 6, 3, "--in", "-j"},
        {{"-j", "--runs=3", "--", "prog", "--", "--help"}, 6, 3, "prog", "--help"},
    };
    char *asked[] = {"-j", "--runs", "3", "--help", "prog", "--help"};
    assert_int_equal(opt_leading(rows, 6, asked), 4); /* the last is the program's */
    assert_int_equal(opt_leading(rows, 2, asked), 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[6];
        int words;
        memcpy(argv, cases[i].argv, sizeof argv);
        json = 0, runs = 0, in = NULL;
        assert_int_equal(opt_parse_leading(rows, cases[i].argc, argv, &words), ERR_OK);
        assert_int_equal(words, cases[i].words);
        assert_string_equal(argv[0], cases[i].first);
        assert_string_equal(argv[words - 1], cases[i].last);
        assert_true(json && runs == 3 && !in);
    }
}

static void wrong_calls_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text;
    } wrong[] = {
        {"--rnus 3", "unknown option --rnus: did you mean --runs?"},
        {"--metod=fbp", "unknown option --metod: did you mean --method?"},
        {"--mem 3", "unknown option --mem: did you mean --memory?"},
        {"--quxquux", "unknown option --quxquux: --help lists the options"},
        {"-z", "unknown option -z: --help lists the options"},
        {"--in", "--in needs a value: --in FILE"},
        {"--in --json", "--in needs a value: --in FILE"},
        {"--in=", "--in: the name is empty"},
        {"--runs 0", "--runs 0: must be between 1 and 10"},
        {"--runs 11", "--runs 11: must be between 1 and 10"},
        {"--runs 3x", "--runs 3x: not a whole number"},
        {"--runs 1.5", "--runs 1.5: not a whole number"},
        {"--runs 99999999999999999999", "--runs 99999999999999999999: not a whole number"},
        {"--noise much", "--noise much: not a finite number"},
        {"--noise nan", "--noise nan: not a finite number"},
        {"--noise inf", "--noise inf: not a finite number"},
        {"--noise 1.5", "--noise 1.5: must be between -1 and 1"},
        {"--json=1", "--json takes no value"},
        {"--method sirt", "--method sirt: must be one of fbp|fdk|mbir"},
        {"--method fb", "--method fb: must be one of fbp|fdk|mbir; did you mean fbp?"},
        {"--memory lots", "--memory: \"lots\" is not an amount of memory: write 512MiB or 12GiB"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char words[200];
        assert_int_equal(parse(wrong[i].line, words), ERR_USAGE);
        assert_string_equal(err_text(), wrong[i].text);
    }
}

static void nearest_name_is_near(void **state)
{
    (void)state;
    static const char *const names[] = {"parallel_fbp_recon", "cone_fdk_recon", "median_filter3d",
                                        "run"};
    static const struct {
        const char *word, *near;
    } cases[] = {
        {"paralel_fbp_recon", "parallel_fbp_recon"},
        {"cone_fkd_recon", "cone_fdk_recon"}, /* neighbours swapped */
        {"median", "median_filter3d"},        /* beginning of a name */
        {"urn", "run"},
        {"reconstruct", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = opt_nearest(cases[i].word, names, 4);
        if (cases[i].near)
            assert_string_equal(near, cases[i].near);
        else
            assert_null(near);
    }
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_null(opt_nearest(longer, names, 4));
}

static void help_has_a_line_for_each_option(void **state)
{
    (void)state;
    char text[4096] = "";
    int saved = dup(1);
    FILE *capture = tmpfile();
    fflush(stdout);
    dup2(fileno(capture), 1);
    opt_help(rows);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    rewind(capture);
    text[fread(text, 1, sizeof text - 1, capture)] = 0;
    fclose(capture);
    assert_string_equal(text, "  -i, --in FILE            input\n"
                              "  --label TEXT             any text\n"
                              "  -n, --runs N             number of runs\n"
                              "                           and more\n"
                              "  --noise X                noise\n"
                              "  -j, --json               as JSON\n"
                              "  --method fbp|fdk|mbir    how\n"
                              "  --memory BYTES           limit\n"
                              "  --set KEY=VALUE          settings\n"
                              "  --hardening A,B,..       polynomial\n"
                              "  --tilt DEGREES|auto      upright\n"
                              "  --by fbp|fdk             how\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_reach_their_variables),
        cmocka_unit_test(numbers_reach_their_array),
        cmocka_unit_test(parameters_are_spelled_as_options),
        cmocka_unit_test(errors_are_spelled),
        cmocka_unit_test(sentences_of_a_profile_are_not_spelled),
        cmocka_unit_test(a_list_keeps_all_values),
        cmocka_unit_test(a_wrapped_command_keeps_its_own_options),
        cmocka_unit_test(wrong_calls_say_what_is_wrong),
        cmocka_unit_test(nearest_name_is_near),
        cmocka_unit_test(help_has_a_line_for_each_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
