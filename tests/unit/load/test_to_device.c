/* links: tp_load */
/* Parts of an array go to the device while the next ones are read: a device that copies a part when
 * it is told to, and at no other time, has the array's bytes in the end. */
#include <stdlib.h>
#include <string.h>

#include "host/load/load.h"
#include "tests/unit/check.h"

struct device {
    unsigned char *bytes;
    size_t room, at;
    int sends, waits;
    int partial; /* sends while the end of the array was not yet read */
};

static enum err pin(void *self, void *host, size_t bytes)
{
    (void)self, (void)host, (void)bytes;
    return ERR_OK;
}

static void unpin(void *self, void *host)
{
    (void)self, (void)host;
}

static enum err reserve(void *self, size_t bytes)
{
    struct device *d = self;
    d->bytes = calloc(1, bytes);
    d->room = bytes;
    return d->bytes ? ERR_OK : FAIL(ERR_MEMORY, "no memory left");
}

static enum err send(void *self, const void *pinned, size_t at, size_t bytes)
{
    struct device *d = self;
    const unsigned char *last = (const unsigned char *)pinned + d->room - 64;
    static const unsigned char none[64];
    assert_true(at == d->at && bytes <= d->room - at);
    memcpy(d->bytes + at, (const unsigned char *)pinned + at, bytes);
    d->at += bytes;
    d->sends++;
    d->partial += !memcmp(last, none, sizeof none); /* no element of the test's arrays is 0 there */
    return ERR_OK;
}

static enum err sent(void *self)
{
    ((struct device *)self)->waits++;
    return ERR_OK;
}

static enum err check(void *self, const void *pinned, size_t bytes)
{
    struct device *d = self;
    assert_int_equal(d->at, bytes);
    assert_memory_equal(d->bytes, pinned, bytes);
    return ERR_OK;
}

static void load(const char *path, const char *array, int64_t chunks, struct device *d)
{
    const struct load_device device = {d, pin, unpin, reserve, send, sent, check};
    const struct load_request r = {.path = path,
                                   .array = array,
                                   .chunks = chunks,
                                   .options.threads = 2,
                                   .to = TO_DEVICE,
                                   .device = &device};
    struct load_session s;
    struct loading *l;
    *d = (struct device){0};
    assert_ok(loading_create(&l));
    assert_ok(load_begin(&r, &s));
    assert_ok(load_profile(&s, l));
    assert_string_equal(l->to, "device");
    assert_true(d->waits >= 1 && d->at == s.out_bytes);
    assert_int_equal(s.boxes, 1); /* later runs read it at once */
    load_end(&s);
    loading_free(l);
    free(d->bytes);
}

static void parts_are_sent_while_others_are_read(void **state)
{
    (void)state;
    struct device d;
    const size_t usual = load_piece_bytes;
    load_piece_bytes = 1000;
    load(TP_DATA "/store/zarr/zarr2", "zlib", 0, &d); /* two layers of chunks */
    assert_int_equal(d.sends, 2);
    assert_int_equal(d.partial, 1);
    load(TP_DATA "/store/npy/f4.npy", NULL, 0, &d); /* no codec: parts of any size */
    assert_true(d.sends > 2 && d.partial == d.sends - 1);
    load(TP_DATA "/store/npy/i4_fortran.npy", NULL, 0, &d); /* the last dimension is the slowest */
    assert_true(d.sends > 2 && d.partial == d.sends - 1);
    load(TP_DATA "/store/zarr/zarr2", "zlib", 2, &d); /* a sample of the chunks: all at the end */
    assert_int_equal(d.sends, 1);
    load_piece_bytes = usual;
    load(TP_DATA "/store/npy/f4.npy", NULL, 0, &d);
    assert_int_equal(d.sends, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_sent_while_others_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
