/* links: tp_base */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"

static const char *plain(const char *in, enum plain_keep keep)
{
    static char out[200];
    size_t bytes = plain_text(in, keep, out, sizeof out);
    assert_int_equal(bytes, strlen(out));
    return out;
}

static void beginnings_and_ends(void **state)
{
    (void)state;
    assert_true(text_begins("volume.npy", "vol") && text_begins("vol", "vol") &&
                text_begins("vol", ""));
    assert_false(text_begins("vo", "vol") || text_begins("avol", "vol"));
    assert_true(text_ends("volume.npy", ".npy") && text_ends(".npy", ".npy") && text_ends("x", ""));
    assert_false(text_ends("npy", ".npy") || text_ends("a.npy.gz", ".npy"));
    assert_true(text_has_suffix("a.npy", ".npy") && text_has_suffix("/.npy", ".npy"));
    assert_false(text_has_suffix(".npy", ".npy") || text_has_suffix("a.np", ".npy"));
}

static void names_and_folders_of_paths(void **state)
{
    static const char *const rows[][3] = {{"a/b/c", "c", "a/b"}, {"c", "c", "."},
                                          {"/c", "c", "/"},      {"a/", "", "a"},
                                          {"", "", "."},         {"//c", "c", "/"}};
    char folder[8];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(base_name(rows[i][0]), rows[i][1]);
        path_folder(rows[i][0], folder, sizeof folder);
        assert_string_equal(folder, rows[i][2]);
    }
    assert_null(base_name(NULL));
    path_folder("0123456789/c", folder, sizeof folder);
    assert_string_equal(folder, "0123456");
}

static void numbers_have_all_their_digits(void **state)
{
    static const struct {
        double v;
        int digits;
        const char *text;
    } rows[] = {{0, 3, "0"},
                {1.2345, 3, "1.23"},
                {0.5, 2, "0.5"},
                {99.4, 2, "99"},
                {99.6, 2, "100"},
                {152.4, 2, "152"},
                {999.4, 3, "999"},
                {999.6, 3, "1000"},
                {1234.5, 3, "1234"},
                {-1234.4, 3, "-1234"},
                {11431.2, 4, "11431"},
                {1e14, 3, "100000000000000"},
                {1e16, 3, "1e+16"},
                {0.00012345, 3, "0.000123"},
                {0.0000472, 3, "0.0000472"},
                {NAN, 3, "nan"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(NUMBER(rows[i].digits, rows[i].v), rows[i].text);
}

static void names_of_templates_are_short(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"worker", "worker"},
        {"std::vector<int>::push_back(int)", "std::vector<int>::push_back(int)"},
        {"Histogram<std::__cxx11::basic_string<char, std::allocator<char> > >::add(int)",
         "Histogram<...>::add(int)"},
        {"Histogram<std::__cxx11::basic_string<char, std::allocator<char> > >::add(unsigned long, "
         "double) const",
         "Histogram<...>::add(unsigned long, double) const"},
        {"scan::Reader::read_rows(std::vector<std::string, std::allocator<int> >, unsigned long, "
         "int)",
         "scan::Reader::read_rows(...)"},
        {"Histogram<int>::add(std::__cxx11::basic_string<char, std::char_traits<char> > const&, "
         "std::__cxx11::basic_string<char>)",
         "Histogram<...>::add(std::string const&, std::string)"},
        {"std::ostream& operator<< <char, std::char_traits<char> >(std::ostream&, char const*)",
         "std::ostream& operator<< <...>(std::ostream&, char const*)"},
        {"bool geometry::operator<(geometry::Point<double, 3> const&, geometry::Point<double, 3>)",
         "bool geometry::operator<(...)"},
        {"<built-in method very_long_name_of_a_method of type object at 0x7f>",
         "<built-in method very_long_name_of_a_method of type object at 0x7f>"},
        {"a name of fifty bytes whose bracket < is never closed",
         "a name of fifty bytes whose bracket < is never closed"},
        {"", ""},
    };
    char out[NAME_TEXT], endless[9000];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(name_text(rows[i][0], out), rows[i][1]);
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_int_equal(strlen(name_text(endless, out)), NAME_TEXT - 1);
    memset(endless, '<', sizeof endless - 1);
    endless[0] = 'f';
    assert_int_equal(strlen(name_text(endless, out)), NAME_TEXT - 1);
}

static void text_that_does_not_fit_is_cut(void **state)
{
    char out[8] = "";
    (void)state;
    assert_true(text_append(out, sizeof out, "%s", "abc"));
    assert_true(text_append(out, sizeof out, "%d", 1234));
    assert_string_equal(out, "abc1234");
    assert_true(text_append(out, sizeof out, "%s", ""));
    assert_false(text_append(out, sizeof out, "%s", "d"));
    assert_string_equal(out, "abc1234");
    assert_false(text_print(out, sizeof out, "%s", "12345678"));
    assert_string_equal(out, "1234567");
    assert_true(text_print(out, sizeof out, "%s", "x"));
    assert_string_equal(out, "x");
}

static void what_a_terminal_would_obey_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *in, *line, *lines;
    } rows[] = {
        {"plain Ω é 漢 😀 ~", "plain Ω é 漢 😀 ~", "plain Ω é 漢 😀 ~"},
        {"a\nb\tc\rd", "a\\nb\\tc\\rd", "a\nb\tc\\rd"},
        {"\033[2J\a\177", "\\x1b[2J\\x07\\x7f", "\\x1b[2J\\x07\\x7f"},
        {PLAIN_BOLD "x" PLAIN_END, "\\x1b[1mx\\x1b[0m", "\\x1b[1mx\\x1b[0m"},
        {"\033[8m\033[1", "\\x1b[8m\\x1b[1", "\\x1b[8m\\x1b[1"},
        {"\u202e\u2066\u200f\u2028\xc2\x9b", "\\u202e\\u2066\\u200f\\u2028\\u009b",
         "\\u202e\\u2066\\u200f\\u2028\\u009b"},
        {"\x9b\xff\xc0\x80", "\\x9b\\xff\\xc0\\x80", "\\x9b\\xff\\xc0\\x80"},
        {"\xed\xa0", "\\xed\\xa0", "\\xed\\xa0"},
        {"\xe2\x80", "\\xe2\\x80", "\\xe2\\x80"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(plain(rows[i].in, PLAIN_LINE), rows[i].line);
        assert_string_equal(plain(rows[i].in, PLAIN_LINES), rows[i].lines);
    }
    assert_string_equal(plain(PLAIN_BOLD "x\n\033[2J" PLAIN_END, PLAIN_STYLED),
                        PLAIN_BOLD "x\n\\x1b[2J" PLAIN_END);
}

static void text_formatted(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plain_vformat(out, room, format, args);
    va_end(args);
}

/* Compares with what vsnprintf makes of all but texts, and one line of each text. */
static void texts_among_arguments_are_one_line(void **state)
{
    (void)state;
    char out[200], file[200];
#define PRINTED(expected, ...)                                                                     \
    do {                                                                                           \
        FILE *f = fmemopen(file, sizeof file, "w");                                                \
        plain_print(f, __VA_ARGS__);                                                               \
        fclose(f);                                                                                 \
        text_formatted(out, sizeof out, __VA_ARGS__);                                              \
        assert_string_equal(out, expected);                                                        \
        assert_string_equal(file, expected);                                                       \
    } while (0)
    PRINTED("a\\nb\n", "%s\n", "a\nb");
    PRINTED("\\x1b[2J\\u202e\t|" PLAIN_BOLD, "%s|" PLAIN_BOLD, "\033[2J\u202e\t");
    PRINTED("[  a\\n][a\\n  ][ab][a]", "[%5s][%-5s][%.2s][%.*s]", "a\n", "a\n", "abc", 1, "abc");
    PRINTED("[   ab][ab   ]", "[%*s][%*s]", 5, "ab", -5, "ab");
    PRINTED("100 %", "%d %%", 100);
    PRINTED("-1 4294967295 18446744073709551615 -2 7", "%d %u %llu %ld %zu", -1, UINT32_MAX,
            UINT64_MAX + 0ull, -2l, (size_t)7);
    PRINTED(" 1.50 1.5e+00 +2 00ff x", "%5.2f %.1e %+d %04x %c", 1.5, 1.5, 2, 255u, 'x');
    PRINTED("nan inf 1e+300", "%g %g %.3g", (double)NAN, (double)INFINITY, 1e300);
    PRINTED("   1.2|1.2   |", "%*.*f|%-*.*f|", 6, 1, 1.23, 6, 1, 1.23);
    text_formatted(out, 5, "%s", "abcdefg");
    assert_string_equal(out, "abcd");
}

static void a_cut_keeps_whole_characters(void **state)
{
    (void)state;
    char out[8];
    assert_int_equal(plain_text("ab\033cd", PLAIN_LINE, out, 6), 2);
    assert_string_equal(out, "ab");
    assert_int_equal(plain_text("abcdeΩ", PLAIN_LINE, out, 7), 5);
    assert_string_equal(out, "abcde");
    assert_int_equal(plain_text("abcdefg", PLAIN_LINE, out, 1), 0);
}

/* In the child: every byte is a write of its own. */
static void print_bytes(const char *terminal, const char *text, enum plain_keep keep)
{
    int fd = open(terminal, O_RDWR | O_NOCTTY);
    dup2(fd, STDOUT_FILENO);
    plain_stdout();
    if (keep == PLAIN_STYLED)
        plain_stdout_styles();
    for (; *text; text++) {
        putchar(*text);
        fflush(stdout);
    }
    fclose(stdout);
    _exit(0);
}

static void check_pieces(enum plain_keep keep)
{
    static const char text[] =
        "a\033[2J" PLAIN_RED "Ω" PLAIN_END "\xe2\x80\xae\xf0\x9f\x98\x80\xe2z\033[3\033";
    char expected[200], got[400];
    size_t used = 0;
    ssize_t n;
    plain_text(text, keep, expected, sizeof expected);
    int ours = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(ours >= 0 && !grantpt(ours) && !unlockpt(ours));
    int theirs = open(ptsname(ours), O_RDWR | O_NOCTTY); /* keeps what was written */
    pid_t child = fork();
    if (!child)
        print_bytes(ptsname(ours), text, keep);
    waitpid(child, NULL, 0);
    close(theirs);
    while (used < sizeof got - 1 && (n = read(ours, got + used, sizeof got - 1 - used)) > 0)
        used += (size_t)n;
    close(ours);
    got[used] = 0;
    assert_string_equal(got, expected);
}

static void a_terminal_gets_the_same_from_any_pieces(void **state)
{
    (void)state;
    check_pieces(PLAIN_LINES);
    check_pieces(PLAIN_STYLED);
}

/* An error is one line, whatever the names in it. */
static void an_error_is_one_line(void **state)
{
    (void)state;
    FAIL(ERR_INPUT, "%s: cannot read", "a\n\033[2J\u202e");
    assert_string_equal(err_text(), "a\\n\\x1b[2J\\u202e: cannot read");
    err_prefix(ERR_INPUT, "%s", "b\tc");
    assert_string_equal(err_text(), "b\\tc: a\\n\\x1b[2J\\u202e: cannot read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beginnings_and_ends),
        cmocka_unit_test(names_and_folders_of_paths),
        cmocka_unit_test(numbers_have_all_their_digits),
        cmocka_unit_test(names_of_templates_are_short),
        cmocka_unit_test(text_that_does_not_fit_is_cut),
        cmocka_unit_test(what_a_terminal_would_obey_is_shown),
        cmocka_unit_test(texts_among_arguments_are_one_line),
        cmocka_unit_test(a_cut_keeps_whole_characters),
        cmocka_unit_test(a_terminal_gets_the_same_from_any_pieces),
        cmocka_unit_test(an_error_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
