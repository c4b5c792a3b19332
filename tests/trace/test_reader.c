/* links: tp_traces */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/trace/traces.h"
#include "tests/unit/check.h"

#define FIRST            ((long)TRACE_HEADER_BYTES)        /* the sealed chunk */
#define SECOND           (FIRST + (long)TRACE_CHUNK_FIRST) /* the other one */
#define AT(chunk, field) ((chunk) + (long)offsetof(struct trace_chunk, field))

static char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *data = malloc(1 << 20);
    *bytes = fread(data, 1, 1 << 20, f);
    fclose(f);
    return data;
}

/* Offset in the file of record `n` of a chunk. */
static long record_at(const char *path, long chunk, int n)
{
    size_t bytes;
    char *data = slurp(path, &bytes);
    long offset = chunk + (long)sizeof(struct trace_chunk);
    while (n--)
        offset += 8 * ((const struct trace_record *)(data + offset))->words;
    free(data);
    return offset;
}

static void a_good_trace_reads_whole(void **state)
{
    (void)state;
    struct reading r = reading_of(small_trace());
    assert_ok(r.error);
    assert_true(reading_clean(&r));
    assert_int_equal(r.damage.unsealed, 1);
    assert_int_equal(reading_count(&r, 1), SMALL_RECORDS);
    assert_int_equal(reading_count(&r, 2), SMALL_RECORDS);
    assert_int_equal(r.header.pid, getpid());
    assert_int_equal(r.header.end, TRACE_EXIT);
    assert_int_equal(r.header.end_detail, 3);
    assert_true(r.header.end_ns >= r.header.start_ns && r.header.start_ns > 0);
    assert_memory_equal(r.header.run_id, "0123456789abcdef", 16);
    reading_free(&r);
}

static int is_kind(uint16_t kind)
{
#define X(name, number, type)                                                                      \
    if (kind == (number))                                                                          \
        return 1;
    TRACE_KIND_LIST(X)
#undef X
    return 0;
}

static void tails_have_the_length_that_their_record_names(void **state)
{
    (void)state;
    static const size_t expected[SMALL_RECORDS] = {9, 25, 64, 42, 6, 10, 12, 15, 9, 0};
    struct trace_reader *reader;
    struct trace_item item;
    int more;
    assert_ok(trace_open(small_trace(), &reader));
    for (int i = 0; i < SMALL_RECORDS; i++) {
        assert_ok(trace_next(reader, &item, &more));
        assert_int_equal(more, 1);
        assert_int_equal(item.tail_bytes, expected[i]);
        assert_true(is_kind(item.record->kind));
    }
    trace_reader_free(reader);
    assert_false(is_kind(999));
}

static void what_is_no_trace_is_refused_with_its_reason(void **state)
{
    (void)state;
    struct trace_reader *reader;
    const char *path = small_trace();
    uint32_t other = TRACE_VERSION + 1, swapped = __builtin_bswap32(TRACE_VERSION), length = 8192;
    patch(path, offsetof(struct trace_header, header_bytes), &length, 4);
    assert_error(trace_open(path, &reader), ERR_INPUT, "header is damaged");
    patch(path, offsetof(struct trace_header, version), &other, 4);
    assert_error(trace_open(path, &reader), ERR_INPUT, "version 2");
    patch(path, offsetof(struct trace_header, version), &swapped, 4);
    assert_error(trace_open(path, &reader), ERR_INPUT, "byte order");
    patch(path, 0, "T", 1);
    assert_error(trace_open(path, &reader), ERR_INPUT, "is not a trace");
    assert_int_equal(truncate(path, 0), 0);
    assert_error(trace_open(path, &reader), ERR_INPUT, "is not a trace");
    assert_error(trace_open(traces_folder, &reader), ERR_INPUT, "is not a file");
    assert_error(trace_open("/nonexistent.tpt", &reader), ERR_INPUT, "cannot read");
}

static void a_trace_cut_at_any_byte_reads_up_to_there(void **state)
{
    (void)state;
    size_t bytes, last = 2 * SMALL_RECORDS;
    const char *path = small_trace();
    char *data = slurp(path, &bytes);
    struct reading whole = reading_of(path);
    for (long cut = (long)bytes - 1; cut >= 0; cut--) {
        assert_int_equal(truncate(path, cut), 0);
        struct reading r = reading_of(path);
        if (cut < TRACE_HEADER_BYTES) {
            assert_int_equal(r.error, ERR_INPUT);
        } else {
            assert_ok(r.error);
            assert_int_equal(r.damage.truncated_bytes, bytes - (size_t)cut);
            assert_int_equal(r.damage.bad_chunks, 0);
            assert_true(r.count <= last && r.count + 1 >= last);
            assert_true(!r.count ||
                        !memcmp(r.seen, whole.seen, r.count * sizeof *r.seen)); /* not more */
            last = r.count;
        }
        reading_free(&r);
    }
    assert_int_equal(last, 0);
    reading_free(&whole);
    free(data);
}

/* Flips one bit of byte `offset`: data under the CRC is right or left out, and reported. */
static void flip(const char *path, const char *data, long offset, const struct reading *whole)
{
    for (int bit = 0; bit < 8; bit++) {
        char byte = (char)(data[offset] ^ 1 << bit);
        patch(path, offset, &byte, 1);
        struct reading r = reading_of(path);
        if (r.error) {
            assert_int_equal(r.error, ERR_INPUT);
            assert_true(offset < TRACE_HEADER_BYTES);
        } else if (offset < TRACE_HEADER_BYTES) {
            assert_int_equal(r.count, whole->count);
        } else if (offset < SECOND) {
            size_t first = r.damage.bad_chunks ? SMALL_RECORDS : 0; /* left out */
            assert_int_equal(reading_count(&r, 2), SMALL_RECORDS);
            assert_int_equal(r.count, whole->count - first);
            assert_memory_equal(r.seen, whole->seen + first, r.count * sizeof *r.seen);
        } else { /* nothing tells that this one is wrong but its lengths */
            assert_true(r.count >= SMALL_RECORDS && r.count <= whole->count);
            assert_memory_equal(r.seen, whole->seen, SMALL_RECORDS * sizeof *r.seen);
        }
        reading_free(&r);
    }
    patch(path, offset, data + offset, 1);
}

static void a_flipped_bit_is_found_or_harmless(void **state)
{
    (void)state;
    size_t bytes;
    const char *path = small_trace();
    char *data = slurp(path, &bytes);
    struct reading whole = reading_of(path);
    long used = record_at(path, FIRST, SMALL_RECORDS) - FIRST;
    for (long i = 0; i < (long)sizeof(struct trace_header); i++)
        flip(path, data, i, &whole);
    for (long i = 0; i < used; i++) {
        flip(path, data, FIRST + i, &whole);
        flip(path, data, SECOND + i, &whole);
    }
    for (long i = FIRST + used; i < SECOND; i += 61) /* room that nobody used */
        flip(path, data, i, &whole);
    reading_free(&whole);
    free(data);
}

static void a_sealed_chunk_with_a_wrong_byte_is_left_out(void **state)
{
    (void)state;
    const char *path = small_trace();
    patch(path, record_at(path, FIRST, 3) + 20, "\xff", 1);
    struct reading r = reading_of(path);
    assert_ok(r.error);
    assert_int_equal(r.damage.bad_chunks, 1);
    assert_int_equal(reading_count(&r, 1), 0);
    assert_int_equal(reading_count(&r, 2), SMALL_RECORDS);
    reading_free(&r);
}

static void absurd_lengths_end_a_chunk_and_not_the_reader(void **state)
{
    (void)state;
    static const uint16_t words[] = {0, 1, 1000, 0xffff};
    static const uint32_t sizes[] = {0, 7, 4096, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *path = small_trace();
        patch(path, record_at(path, SECOND, 4) + 2, &words[i], 2);
        struct reading r = reading_of(path);
        assert_ok(r.error);
        assert_int_equal(reading_count(&r, 2), 4);
        assert_int_equal(r.damage.torn_records, 1);
        reading_free(&r);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *path = small_trace();
        patch(path, AT(FIRST, bytes), &sizes[i], 4);
        patch(path, AT(SECOND, used), &sizes[i], 4);
        struct reading r = reading_of(path);
        assert_ok(r.error);
        assert_int_equal(r.damage.bad_chunks, sizes[i] && sizes[i] != 4096 ? 2 : 1);
        assert_true(reading_count(&r, 1) == 0 && reading_count(&r, 2) <= SMALL_RECORDS);
        reading_free(&r);
    }
}

static void a_tail_longer_than_its_record_leaves_out_that_record_alone(void **state)
{
    (void)state;
    static const struct {
        int record;
        size_t offset, width;
    } cases[] = {
        {0, offsetof(struct trace_text, bytes), 4},
        {1, offsetof(struct trace_code, file_bytes), 2},
        {1, offsetof(struct trace_code, name_bytes), 2},
        {2, offsetof(struct trace_stack, native), 2},
        {2, offsetof(struct trace_stack, python), 2},
        {3, offsetof(struct trace_module, path_bytes), 2},
        {3, offsetof(struct trace_module, build_id_bytes), 2},
        {4, offsetof(struct trace_thread, name_bytes), 4},
        {5, offsetof(struct trace_process, path_bytes), 4},
        {6, offsetof(struct trace_note, bytes), 4},
        {7, offsetof(struct trace_device, name_bytes), 4},
        {8, offsetof(struct trace_text, bytes), 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = small_trace();
        long at = record_at(path, SECOND, cases[i].record);
        patch(path, at + (long)cases[i].offset, "\xff\xff\xff\xff", cases[i].width);
        struct reading r = reading_of(path);
        assert_ok(r.error);
        assert_int_equal(r.damage.torn_records, 1);
        assert_int_equal(reading_count(&r, 2), SMALL_RECORDS - 1);
        reading_free(&r);
    }
}

static void unknown_and_too_short_records_are_skipped(void **state)
{
    (void)state;
    static const uint16_t unknown[] = {0, 31, 47, 48, 0xffff}, longer = TRACE_API;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const char *path = small_trace();
        patch(path, record_at(path, SECOND, 4), &unknown[i], 2);
        patch(path, record_at(path, SECOND, 5), &longer, 2);
        struct reading r = reading_of(path);
        assert_ok(r.error);
        assert_int_equal(r.damage.unknown_records, 1);
        assert_int_equal(r.damage.torn_records, 1);
        assert_int_equal(reading_count(&r, 2), SMALL_RECORDS - 2);
        reading_free(&r);
    }
}

/* Three chunks of 64 KiB after the first of 8 KiB, all sealed but the last. */
static const char *long_trace(void)
{
    static char path[512];
    struct trace_writer w;
    struct trace_stream s;
    traces_empty();
    assert_int_equal(trace_create(&w, traces_folder, (const uint8_t *)"0123456789abcdef", 0), 0);
    trace_stream_open(&s, &w, 7);
    for (uint64_t i = 0; s.sequence < 4; i++)
        put_text(&s, i, 100);
    memcpy(path, w.path, sizeof path);
    trace_abandon(&w);
    trace_stream_close(&s);
    return path;
}

static void missing_chunks_are_counted(void **state)
{
    (void)state;
    static const char zeros[2 * TRACE_CHUNK_BYTES];
    long second = FIRST + TRACE_CHUNK_FIRST, third = second + TRACE_CHUNK_BYTES;
    const char *path = long_trace();
    struct reading r = reading_of(path);
    assert_true(reading_clean(&r));
    size_t all = r.count;
    reading_free(&r);

    patch(path, AT(third, magic), "?", 1);
    r = reading_of(path);
    assert_true(r.damage.bad_chunks == 1 && r.damage.missing_chunks == 1 && r.count < all);
    reading_free(&r);

    patch(path, second, zeros, 2 * TRACE_CHUNK_BYTES);
    r = reading_of(path);
    assert_true(r.damage.bad_chunks == 0 && r.damage.missing_chunks == 2 && r.count > 0);
    reading_free(&r);

    patch(path, FIRST, zeros, TRACE_CHUNK_FIRST);
    r = reading_of(path);
    assert_true(r.damage.missing_chunks == 3 && r.damage.unsealed == 1);
    reading_free(&r);
}

/* As a kill between two stores of the writer leaves it; with other fields in place it is damage. */
static void a_chunk_without_its_magic_was_never_there(void **state)
{
    (void)state;
    const char *path = small_trace();
    char page[TRACE_PAGE] = {0};
    struct trace_chunk *c = (struct trace_chunk *)page;
    *c = (struct trace_chunk){.bytes = TRACE_CHUNK_BYTES, .tid = 2, .sequence = 1, .first_ns = 5};
    patch(path, SECOND + TRACE_CHUNK_FIRST, page, sizeof page);
    struct reading r = reading_of(path);
    assert_true(reading_clean(&r));
    assert_int_equal(r.count, 2 * SMALL_RECORDS);
    reading_free(&r);
    c->used = 8;
    patch(path, SECOND + TRACE_CHUNK_FIRST, page, sizeof page);
    r = reading_of(path);
    assert_int_equal(r.damage.bad_chunks, 1);
    reading_free(&r);
}

static void a_folder_lists_its_traces_by_start(void **state)
{
    (void)state;
    static const char *const names[] = {"12-ff.tpt", "7-100.tpt", "3-100.tpt",
                                        "x.tpt",     "9-1.tp",    "notes"};
    static const char *const expected[] = {"12-ff.tpt", "3-100.tpt", "7-100.tpt", "x.tpt"};
    char path[256], **paths;
    size_t count;
    traces_empty();
    assert_error(trace_list(traces_folder, &paths, &count), ERR_INPUT, "holds no trace");
    assert_error(trace_list("/nonexistent", &paths, &count), ERR_INPUT, "cannot read the folder");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", traces_folder, names[i]);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    assert_ok(trace_list(traces_folder, &paths, &count));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", traces_folder, expected[i]);
        assert_string_equal(paths[i], path);
    }
    trace_list_free(paths, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_trace_reads_whole),
        cmocka_unit_test(tails_have_the_length_that_their_record_names),
        cmocka_unit_test(what_is_no_trace_is_refused_with_its_reason),
        cmocka_unit_test(a_trace_cut_at_any_byte_reads_up_to_there),
        cmocka_unit_test(a_flipped_bit_is_found_or_harmless),
        cmocka_unit_test(a_sealed_chunk_with_a_wrong_byte_is_left_out),
        cmocka_unit_test(absurd_lengths_end_a_chunk_and_not_the_reader),
        cmocka_unit_test(a_tail_longer_than_its_record_leaves_out_that_record_alone),
        cmocka_unit_test(unknown_and_too_short_records_are_skipped),
        cmocka_unit_test(missing_chunks_are_counted),
        cmocka_unit_test(a_chunk_without_its_magic_was_never_there),
        cmocka_unit_test(a_folder_lists_its_traces_by_start),
    };
    return cmocka_run_group_tests(tests, traces_set_up, traces_tear_down);
}
