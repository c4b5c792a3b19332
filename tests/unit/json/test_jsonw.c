/* links: tp_json PkgConfig::CJSON */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <cmocka.h>

#include "base/json/jsonw.h"

struct written {
    char *text;
    size_t bytes;
    FILE *stream;
    struct jsonw w;
};

static void begin(struct written *t, int indent)
{
    t->stream = open_memstream(&t->text, &t->bytes);
    assert_non_null(t->stream);
    jsonw_init(&t->w, t->stream, indent);
}

static void end_equal(struct written *t, const char *expected)
{
    fclose(t->stream);
    assert_string_equal(t->text, expected);
    free(t->text);
}

static void write_sample(struct jsonw *w)
{
    jsonw_object(w);
    jsonw_kstring(w, "name", "tooth");
    jsonw_key(w, "shape");
    jsonw_array(w);
    jsonw_int(w, 1);
    jsonw_int(w, -9223372036854775807);
    jsonw_array(w);
    jsonw_end(w);
    jsonw_object(w);
    jsonw_end(w);
    jsonw_end(w);
    jsonw_kbool(w, "curved", 0);
    jsonw_knull(w, "driver");
    jsonw_kstring(w, "device", NULL);
    jsonw_kint(w, "n", 3);
    jsonw_knumber(w, "unknown", NAN);
    jsonw_knumber(w, "too large", -INFINITY);
    jsonw_end(w);
}

static void structure_is_exact(void **state)
{
    (void)state;
    struct written t;
    begin(&t, 0);
    write_sample(&t.w);
    end_equal(&t, "{\"name\":\"tooth\",\"shape\":[1,-9223372036854775807,[],{}],\"curved\":false,"
                  "\"driver\":null,"
                  "\"device\":null,\"n\":3,\"unknown\":null,\"too large\":null}");
    begin(&t, 2);
    write_sample(&t.w);
    end_equal(&t, "{\n  \"name\": \"tooth\",\n  \"shape\": [\n    1,\n    -9223372036854775807,\n  "
                  "  [],\n    {}\n  ],\n"
                  "  \"curved\": false,\n  \"driver\": null,\n  \"device\": null,\n  \"n\": 3,\n"
                  "  \"unknown\": null,\n  \"too large\": null\n}\n");
}

static void numbers_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double v;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {1e300, "1e+300"},
        {5e-324, "4.94065645841247e-324"},
        {123456789012345678.0, "1.2345678901234568e+17"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct written t;
        begin(&t, 0);
        jsonw_number(&t.w, rows[i].v);
        end_equal(&t, rows[i].text);
    }
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17; /* xorshift64 */
        double v, back;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        struct written t;
        begin(&t, 0);
        jsonw_number(&t.w, v);
        fclose(t.stream);
        back = strtod(t.text, NULL);
        assert_memory_equal(&back, &v, sizeof v);
        free(t.text);
    }
}

#define BAD "\xEF\xBF\xBD"

static void hostile_strings_become_valid_json(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"a\"b\\c/d", "\"a\\\"b\\\\c/d\""},
        {"\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
        {"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\xb7", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\xb7\""},
        {"\xff\xfe", "\"" BAD BAD "\""},
        {"\x80z", "\"" BAD "z\""},                       /* continuation without a start */
        {"\xc3", "\"" BAD "\""},                         /* cut at the end */
        {"\xe2\x82", "\"" BAD BAD "\""},                 /* cut at the end */
        {"\xe2\x82z", "\"" BAD BAD "z\""},               /* cut in the middle */
        {"\xc0\xaf", "\"" BAD BAD "\""},                 /* overlong "/" */
        {"\xe0\x80\xaf", "\"" BAD BAD BAD "\""},         /* overlong */
        {"\xed\xa0\x80", "\"" BAD BAD BAD "\""},         /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""}, /* above U+10FFFF */
        {"</script><!--", "\"</script><!--\""},
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""}, /* U+10FFFF itself */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct written t;
        begin(&t, 0);
        jsonw_string(&t.w, rows[i].in);
        end_equal(&t, rows[i].out);
    }
}

/* Judged by two readers that are not ours: the C library's UTF-8 decoder and cJSON. */
static void random_bytes_become_valid_json(void **state)
{
    (void)state;
    int utf8 = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
    srand(1);
    for (int round = 0; round < 3000; round++) {
        char in[24] = "";
        for (int i = 0; i < 20; i++)
            in[i] = (char)(rand() >> 7);
        struct written t;
        begin(&t, 0);
        jsonw_object(&t.w);
        jsonw_kstring(&t.w, in, in);
        jsonw_end(&t.w);
        fclose(t.stream);
        if (utf8)
            assert_true(mbstowcs(NULL, t.text, 0) != (size_t)-1);
        cJSON *parsed = cJSON_Parse(t.text);
        assert_non_null(parsed);
        assert_int_equal(cJSON_GetArraySize(parsed), 1);
        assert_true(cJSON_IsString(parsed->child));
        assert_string_equal(parsed->child->string, parsed->child->valuestring);
        cJSON_Delete(parsed);
        free(t.text);
    }
    setlocale(LC_CTYPE, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structure_is_exact),
        cmocka_unit_test(numbers_are_short_and_exact),
        cmocka_unit_test(hostile_strings_become_valid_json),
        cmocka_unit_test(random_bytes_become_valid_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
