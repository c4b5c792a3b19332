/* Text attributes of HDF5. Those of variable length lie in a global heap, whose references libhdf5
 * 1.10 follows unchecked: one changed byte crashes it. They are read here. */
#ifdef TP_HDF5
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/store/reader/hdf5_parts.h"

#define REFERENCE 16 /* bytes: length (4), address of the collection (8), index (4) */
#define TEXT_MOST 1024

static uint64_t little_number(const unsigned char *b, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | b[i];
    return v;
}

static enum err text_variable(struct store *s, const struct hdf5_file *f, hid_t attribute,
                              char text[TEXT_MOST])
{
    unsigned char reference[REFERENCE] = {0};
    int64_t place = 0;
    const hid_t raw = h5_reference_type();
    text[0] = 0;
    FAIL_IF(raw < 0 || H5Aread(attribute, raw, reference) < 0, ERR_INPUT,
            "its text cannot be read");
    const uint64_t length = little_number(reference, 4), at = little_number(reference + 4, 8);
    uint64_t bytes = 0;
    if (!length || !at || at == UINT64_MAX) /* an empty one lies nowhere */
        return ERR_OK;
    const enum err e =
        h5_heap_find(&f->bytes, at, little_number(reference + 12, 4), 0, &place, &bytes);
    if (e)
        return err_prefix(e, "its text");
    FAIL_IF(length > bytes, ERR_INPUT, "its text claims %" PRIu64 " bytes of an object of %" PRIu64,
            length, bytes);
    const size_t n = length < TEXT_MOST ? (size_t)length : TEXT_MOST - 1;
    TRY(store_object_read(s, f->object, place + f->base, text, n));
    text[n] = 0;
    return ERR_OK;
}

static enum err text_read(struct store *s, int file, hid_t attribute, char text[TEXT_MOST])
{
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const size_t bytes = H5Tget_size(type);
    enum err e = ERR_OK;
    text[0] = 0;
    if (type < 0 || space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Tget_class(type) != H5T_STRING)
        e = FAIL(ERR_INPUT, "it is not one text");
    else if (H5Tis_variable_str(type) > 0)
        e = text_variable(s, hdf5_file(s, file), attribute, text);
    else if (bytes < 1 || bytes >= TEXT_MOST || H5Aread(attribute, type, text) < 0)
        e = FAIL(ERR_INPUT, "its text of %zu bytes cannot be read", bytes);
    else
        text[bytes] = 0;
    H5Sclose(space);
    H5Tclose(type);
    return e;
}

int hdf5_text(struct store *s, int file, hid_t object, const char *name, char *out, size_t room)
{
    char text[TEXT_MOST];
    const htri_t there = H5Aexists(object, name);
    out[0] = 0;
    if (!there)
        return 0;
    const hid_t attribute = there > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    const enum err e = attribute < 0 ? FAIL(ERR_INPUT, "the attribute is damaged")
                                     : text_read(s, file, attribute, text);
    snprintf(out, room, "%s", e ? err_text() : text);
    if (attribute >= 0)
        H5Aclose(attribute);
    return e ? -1 : 1;
}
#endif
