/* links: tp_trace */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profiler/trace/secrets.h"

static void values_are_masked_and_nothing_else(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"--token=abc", "--token=***"},
        {"-token=abc", "-token=***"},
        {"password=abc", "password=***"},
        {"API_KEY=abc", "API_KEY=***"},
        {"AWS_SECRET_ACCESS_KEY=a/b+c==", "AWS_SECRET_ACCESS_KEY=***"},
        {"https://me:a@b@host:8080/x?y=1", "https://me:***@host:8080/x?y=1"},
        {"postgres://me:abc@host/db", "postgres://me:***@host/db"},
        {"https://abc@host/", "https://***@host/"},
        {"ssh://git@host/x", "ssh://git@host/x"},
        {"https://host/?a=1&access_token=abc&b=2", "https://host/?a=1&access_token=***&b=2"},
        {"{\"password\": \"abc\", \"user\": \"me\"}", "{\"password\": \"***\", \"user\": \"me\"}"},
        {"Authorization: Bearer abc", "Authorization: ***"},
        {"'authorization': 'Bearer abc', 'x': 1", "'authorization': '***', 'x': 1"},
        {"X-Api-Key: abc", "X-Api-Key: ***"},
        {"host=x password=abc port=1", "host=x password=*** port=1"},
        {"--password=", "--password="},
        {"--max-tokens=512", "--max-tokens=512"},
        {"--tokenizer=gpt2", "--tokenizer=gpt2"},
        {"PWD=/here", "PWD=/here"},
        {"MYSQL_PWD=abc", "MYSQL_PWD=***"},
        {"keyboard=us", "keyboard=us"},
        {"--pass=abc", "--pass=***"},
        {"--pass=2", "--pass=2"},
        {"--pw=abc", "--pw=***"},
        {"--key=abc", "--key=***"},
        {"--key=2,2", "--key=2,2"},
        {"--keys=abc", "--keys=abc"},
        {"--auth=me:abc", "--auth=***"},
        {"--cookie=a=abc; b=abc", "--cookie=***"},
        {"Set-Cookie: a=abc; b=abc", "Set-Cookie: ***"},
        {"https://host/b?sv=1&sig=abc%2F&x=2", "https://host/b?sv=1&sig=***&x=2"},
        {"https://b/k?X-Amz-Signature=abc&x=2", "https://b/k?X-Amz-Signature=***&x=2"},
        {"--signature=2", "--signature=2"},
        {"ghp_0123456789abcdefghij0123456789abcdef", "***"},
        {"x sk-proj-0123456789abcdefghij y", "x *** y"},
        {"sk-learn-contrib-and-others", "sk-learn-contrib-and-others"},
        {"id=AKIAIOSFODNN7EXAMPLE", "id=***"},
        {"AKIAABCDEFGHIJKLMNOP ghp_AbcdefGhijklmnopqrstuvwxyz", "*** ***"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_1", "***"},
        {"task-sk-0123456789abcdefghij0", "task-sk-0123456789abcdefghij0"},
        {"a:b@c", "a:b@c"},
        {"=:=://@", "=:=://@"},
        {"", ""},
    };
    char out[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int next = 0;
        secrets_mask(rows[i][0], &next, out, sizeof out);
        assert_string_equal(out, rows[i][1]);
        assert_int_equal(next, 0);
    }
}

static void an_option_masks_the_word_behind_it(void **state)
{
    (void)state;
    static const char *const words[] = {"--password", "-abc", "--name", "x",     "--hf-token",
                                        "--password", "y",    "-p",     "abc",   "-p",
                                        "8080",       "--pw", "abc",    "--key", "abc"};
    static const char *const expected[] = {"--password", "***",  "--name", "x",     "--hf-token",
                                           "***",        "y",    "-p",     "***",   "-p",
                                           "8080",       "--pw", "***",    "--key", "***"};
    char out[40];
    int next = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        secrets_mask(words[i], &next, out, sizeof out);
        assert_string_equal(out, expected[i]);
    }
}

static void no_more_than_the_room_is_written(void **state)
{
    (void)state;
    char out[64];
    for (size_t room = 1; room < 40; room++) {
        int next = 0;
        memset(out, '#', sizeof out);
        size_t n = secrets_mask("--user=x --token=abc https://me:abc@host", &next, out, room);
        assert_true(n < room && out[n] == 0 && out[room] == '#');
        assert_null(strstr(out, "abc"));
    }
}

static void addresses_in_sentences_are_masked(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"https://h/x.h5?a=1&sig=abcd: the server answers 403",
         "https://h/x.h5?a=1&sig=***: the server answers 403"},
        {"https://b/k?X-Amz-Signature=abcd&x=1: 403; token=abcd is not an address",
         "https://b/k?X-Amz-Signature=***&x=1: 403; token=abcd is not an address"},
        {"https://me:abcd@h/x: leads to https://abcd@i/y",
         "https://me:***@h/x: leads to https://***@i/y"},
        {"key: 2, pass: abcd", "key: 2, pass: abcd"},
        {"x.npy: dtype is '<i4'", "x.npy: dtype is '<i4'"},
        {"", ""},
    };
    char text[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(secrets_mask_addresses(rows[i][0], text, sizeof text), strlen(rows[i][1]));
        assert_string_equal(text, rows[i][1]);
    }
    assert_int_equal(secrets_mask_addresses("https://a@b/", text, 6), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_in_sentences_are_masked),
        cmocka_unit_test(values_are_masked_and_nothing_else),
        cmocka_unit_test(an_option_masks_the_word_behind_it),
        cmocka_unit_test(no_more_than_the_room_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
