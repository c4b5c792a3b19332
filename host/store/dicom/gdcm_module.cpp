/* DICOM by GDCM: headers, and pixels in each of the standard's compressions. A shared object of its own,
 * the only file in C++: GDCM has no other interface. */
#include <gdcmAttribute.h>
#include <gdcmImageChangePlanarConfiguration.h>
#include <gdcmImageHelper.h>
#include <gdcmImageReader.h>
#include <gdcmTrace.h>
#include <gdcmVersion.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/store/dicom/dicom.h"

namespace
{

void text_of(const gdcm::DataSet &d, const gdcm::Tag &tag, char *out, size_t room)
{
    *out = 0;
    if (!d.FindDataElement(tag))
        return;
    const gdcm::ByteValue *v = d.GetDataElement(tag).GetByteValue();
    if (!v || !v->GetPointer())
        return;
    const size_t n = v->GetLength() < room - 1 ? size_t(v->GetLength()) : room - 1;
    std::memcpy(out, v->GetPointer(), n);
    out[n] = 0;
    for (size_t end = std::strlen(out); end && out[end - 1] == ' '; end--)
        out[end - 1] = 0;
    for (char *c = out; *c; c++)
        *c = static_cast<unsigned char>(*c) < 32 ? ' ' : *c;
}

int refuse(char *why, size_t room, const char *text)
{
    std::snprintf(why, room, "%s", text);
    return 1;
}

int format_of(const gdcm::File &f, dicom_file *out, char *why, size_t room)
{
    const gdcm::PixelFormat p = gdcm::ImageHelper::GetPixelFormatValue(f);
    const gdcm::PhotometricInterpretation colours =
        gdcm::ImageHelper::GetPhotometricInterpretationValue(f);
    const unsigned short bits = p.GetBitsAllocated();
    out->samples = p.GetSamplesPerPixel();
    out->bytes = bits / 8;
    out->is_signed = p.GetPixelRepresentation() == 1;
    if (bits != 8 && bits != 16 && bits != 32)
        return std::snprintf(why, room, "has %d bits allocated; 8, 16 and 32 are read", bits), 1;
    const bool grey = colours == gdcm::PhotometricInterpretation::MONOCHROME1 ||
                      colours == gdcm::PhotometricInterpretation::MONOCHROME2 ||
                      colours == gdcm::PhotometricInterpretation::PALETTE_COLOR;
    if (!(grey && out->samples == 1) &&
        !(colours == gdcm::PhotometricInterpretation::RGB && out->samples == 3))
        return std::snprintf(why, room,
                             "has the colours %s with %d samples; grey values and RGB are read",
                             gdcm::PhotometricInterpretation::GetPIString(colours), out->samples),
               1;
    return 0;
}

/* "0.5\\0.25": at most two numbers, the rows' first. */
void spacing_of(const gdcm::DataSet &d, dicom_file *out)
{
    const gdcm::Tag tags[] = {{0x0028, 0x0030}, {0x0018, 0x1164}, {0x0018, 0x2010}};
    char text[80] = "";
    for (size_t i = 0; i < 3 && !*text; i++)
        text_of(d, tags[i], text, sizeof text);
    if (std::sscanf(text, "%lf\\%lf", &out->spacing[1], &out->spacing[0]) != 2)
        out->spacing[0] = out->spacing[1] = 0;
    text_of(d, gdcm::Tag(0x0018, 0x0088), text, sizeof text);
    if (std::sscanf(text, "%lf", &out->spacing[2]) != 1)
        out->spacing[2] = 0;
}

/* GDCM takes 1 for what is not there, and knows the groups of files with several frames. */
void place_of(const gdcm::File &f, dicom_file *out)
{
    const std::vector<double> at = gdcm::ImageHelper::GetOriginValue(f),
                              way = gdcm::ImageHelper::GetDirectionCosinesValue(f);
    const gdcm::DataSet &d = f.GetDataSet();
    const bool grouped = d.FindDataElement(gdcm::Tag(0x5200, 0x9229)),
               placed = d.FindDataElement(gdcm::Tag(0x0020, 0x0032)) || grouped;
    if (grouped) {
        const std::vector<double> step = gdcm::ImageHelper::GetSpacingValue(f);
        for (size_t i = 0; i < 3 && i < step.size(); i++)
            out->spacing[i] = step[i];
    } else {
        spacing_of(d, out);
    }
    for (size_t i = 0; i < 3; i++) {
        out->spacing[i] = out->spacing[i] > 0 && out->spacing[i] < 1e9 ? out->spacing[i] : 0;
        out->position[i] = placed && i < at.size() ? at[i] : 0;
    }
    if (placed && way.size() == 6)
        for (size_t i = 0; i < 3; i++) {
            const size_t j = (i + 1) % 3, k = (i + 2) % 3;
            out->normal[i] = way[j] * way[3 + k] - way[k] * way[3 + j];
        }
}

int describe_file(const char *path, dicom_file *out, char *why, size_t room)
{
    gdcm::Reader reader;
    reader.SetFileName(path);
    if (!reader.ReadUpToTag(gdcm::Tag(0x7fe0, 0x0008)))
        return refuse(why, room, "GDCM does not read its header");
    const gdcm::File &f = reader.GetFile();
    const gdcm::DataSet &d = f.GetDataSet();
    if (!d.FindDataElement(gdcm::Tag(0x0028, 0x0010)))
        return refuse(why, room, "holds no image"), DICOM_NO_IMAGE;
    const std::vector<unsigned> size = gdcm::ImageHelper::GetDimensionsValue(f);
    if (size.size() < 2 || !size[0] || !size[1])
        return refuse(why, room, "holds no image"), DICOM_NO_IMAGE;
    out->columns = size[0];
    out->rows = size[1];
    out->frames = size.size() > 2 && size[2] > 0 ? size[2] : 1;
    if (format_of(f, out, why, room))
        return 1;
    const std::vector<double> scale = gdcm::ImageHelper::GetRescaleInterceptSlopeValue(f);
    out->intercept = scale.size() == 2 ? scale[0] : 0;
    out->slope = scale.size() == 2 && scale[1] != 0 ? scale[1] : 1;
    place_of(f, out);
    if (d.FindDataElement(gdcm::Tag(0x0020, 0x0013))) {
        gdcm::Attribute<0x0020, 0x0013> number;
        number.SetFromDataSet(d);
        out->number = number.GetValue();
    }
    text_of(d, gdcm::Tag(0x0020, 0x000e), out->series, sizeof out->series);
    text_of(d, gdcm::Tag(0x0008, 0x103e), out->description, sizeof out->description);
    std::snprintf(out->syntax, sizeof out->syntax, "%s",
                  gdcm::TransferSyntax::GetTSString(f.GetHeader().GetDataSetTransferSyntax()));
    return 0;
}

template <typename T>
void scale_values(const std::vector<char> &from, double slope, double intercept, float *out)
{
    const size_t n = from.size() / sizeof(T);
    for (size_t i = 0; i < n; i++) {
        T v;
        std::memcpy(&v, from.data() + i * sizeof v, sizeof v);
        out[i] = float(slope * double(v) + intercept);
    }
}

int scale_all(const gdcm::Image &image, const std::vector<char> &raw, void *out)
{
    const double slope = image.GetSlope(), intercept = image.GetIntercept();
    float *const to = static_cast<float *>(out);
    switch (image.GetPixelFormat().GetScalarType()) {
    case gdcm::PixelFormat::UINT8:
        scale_values<uint8_t>(raw, slope, intercept, to);
        return 0;
    case gdcm::PixelFormat::INT8:
        scale_values<int8_t>(raw, slope, intercept, to);
        return 0;
    case gdcm::PixelFormat::UINT12:
    case gdcm::PixelFormat::UINT16:
        scale_values<uint16_t>(raw, slope, intercept, to);
        return 0;
    case gdcm::PixelFormat::INT12:
    case gdcm::PixelFormat::INT16:
        scale_values<int16_t>(raw, slope, intercept, to);
        return 0;
    case gdcm::PixelFormat::UINT32:
        scale_values<uint32_t>(raw, slope, intercept, to);
        return 0;
    case gdcm::PixelFormat::INT32:
        scale_values<int32_t>(raw, slope, intercept, to);
        return 0;
    default:
        return 1;
    }
}

/* GDCM fills what is missing with whatever memory holds: what a frame says of its size is compared. */

uint32_t number_at(const unsigned char *p, int bytes, bool big)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= uint32_t(p[big ? bytes - 1 - i : i]) << (8 * i);
    return v;
}

/* Finds the sizes in a stream of JPEG, JPEG-LS or JPEG 2000; false: there are none, as in RLE. */
bool stream_size(const unsigned char *p, size_t n, uint32_t *columns, uint32_t *rows)
{
    static const unsigned char siz[] = {0xff, 0x4f, 0xff, 0x51};
    for (size_t at = 0; at + 16 <= n && at < 256; at++)
        if (!std::memcmp(p + at, siz, sizeof siz)) {
            *columns = number_at(p + at + 8, 4, true);
            *rows = number_at(p + at + 12, 4, true);
            return true;
        }
    for (size_t at = 2; at + 9 <= n && p[0] == 0xff && p[1] == 0xd8 && p[at] == 0xff;) {
        const unsigned char mark = p[at + 1];
        const bool is_frame =
            mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc;
        if (is_frame || mark == 0xf7) {
            *rows = number_at(p + at + 5, 2, true);
            *columns = number_at(p + at + 7, 2, true);
            return true;
        }
        at += 2 + number_at(p + at + 2, 2, true);
    }
    return false;
}

/* Counts what a segment of RLE (PackBits) decodes to. */
size_t segment_size(const unsigned char *p, size_t n)
{
    size_t size = 0;
    for (size_t at = 0; at < n;) {
        const int control = static_cast<signed char>(p[at]);
        const size_t count = control >= 0 ? size_t(control) + 1 : size_t(1 - control);
        if (control != -128) {
            at += control >= 0 ? count : 1;
            size += at < n ? count : 0;
        }
        at++;
    }
    return size;
}

/* Each segment holds one byte of all samples, and one to make it even. */
bool segments_fit(const unsigned char *p, size_t n, size_t pixels)
{
    const uint32_t count = n >= 64 ? number_at(p, 4, false) : 0;
    for (uint32_t i = 0; i < count && count <= 15; i++) {
        const size_t from = number_at(p + 4 + 4 * i, 4, false),
                     to = i + 1 < count ? number_at(p + 8 + 4 * i, 4, false) : n;
        const size_t size = from <= to && to <= n ? segment_size(p + from, to - from) : 0;
        if (size < pixels || size > pixels + 1)
            return false;
    }
    return count > 0 && count <= 15;
}

bool fragments_fit(const gdcm::SequenceOfFragments &all, const unsigned *size, bool is_rle)
{
    for (size_t i = 0; i < all.GetNumberOfFragments(); i++) {
        const gdcm::ByteValue *v = all.GetFragment(i).GetByteValue();
        if (!v)
            return false;
        const unsigned char *p = reinterpret_cast<const unsigned char *>(v->GetPointer());
        uint32_t columns, rows;
        if (is_rle ? !segments_fit(p, v->GetLength(), size_t(size[0]) * size[1])
                   : stream_size(p, v->GetLength(), &columns, &rows) &&
                         (columns != size[0] || rows != size[1]))
            return false;
    }
    return true;
}

/* The element of the pixels, with its length, is in the file from begin to end. */
bool values_are_whole(const unsigned char *file, size_t n, size_t length)
{
    static const unsigned char little[] = {0xe0, 0x7f, 0x10, 0}, big[] = {0x7f, 0xe0, 0, 0x10};
    for (size_t at = 0; at + 12 <= n; at++) {
        const bool is_big = !std::memcmp(file + at, big, sizeof big);
        if (!is_big && std::memcmp(file + at, little, sizeof little) != 0)
            continue;
        for (size_t head = 8; head <= 12; head += 4) /* without and with the type's name */
            if (number_at(file + at + head - 4, 4, is_big) == length && length <= n - at - head)
                return true;
    }
    return false;
}

/* The element's fragments follow each other to its end mark: GDCM takes what there is of a cut one. */
bool fragments_are_whole(const unsigned char *file, size_t n, size_t count)
{
    static const unsigned char head[] = {0xe0, 0x7f, 0x10, 0};
    for (size_t at = 0; at + 20 <= n; at++) {
        if (std::memcmp(file + at, head, sizeof head) != 0 ||
            number_at(file + at + 8, 4, false) != UINT32_MAX)
            continue;
        size_t next = at + 12, found = 0;
        for (; next + 8 <= n && number_at(file + next, 4, false) == 0xe000fffe; found++) {
            const size_t length = number_at(file + next + 4, 4, false);
            if (length > n - next - 8)
                break;
            next += 8 + length;
        }
        const bool ends =
            next == n || (next + 8 <= n && number_at(file + next, 4, false) == 0xe0ddfffe);
        if (ends && found == count + 1)
            return true; /* one more: the table of offsets */
    }
    return false;
}

bool pixels_are_whole(const gdcm::File &f, const gdcm::Image &image, const void *file, size_t n)
{
    const gdcm::TransferSyntax syntax = f.GetHeader().GetDataSetTransferSyntax();
    const gdcm::DataElement &e = f.GetDataSet().GetDataElement(gdcm::Tag(0x7fe0, 0x0010));
    if (const gdcm::SequenceOfFragments *all = e.GetSequenceOfFragments())
        return fragments_are_whole(static_cast<const unsigned char *>(file), n,
                                   all->GetNumberOfFragments()) &&
               fragments_fit(*all, image.GetDimensions(),
                             syntax == gdcm::TransferSyntax::RLELossless);
    const gdcm::ByteValue *v = e.GetByteValue();
    return v && v->GetLength() >= image.GetBufferLength() &&
           v->GetLength() - image.GetBufferLength() < 2 &&
           (syntax == gdcm::TransferSyntax::DeflatedExplicitVRLittleEndian ||
            values_are_whole(static_cast<const unsigned char *>(file), n, v->GetLength()));
}

int decode_file(const void *file, size_t n, int scaled, void *out, size_t bytes, char *why,
                size_t room)
{
    std::istringstream stream(std::string(static_cast<const char *>(file), n));
    gdcm::ImageReader reader;
    reader.SetStream(stream);
    if (!reader.Read())
        return refuse(why, room, "GDCM does not read its pixels");
    const gdcm::Image *image = &reader.GetImage();
    gdcm::ImageChangePlanarConfiguration planes;
    if (image->GetPixelFormat().GetSamplesPerPixel() > 1 && image->GetPlanarConfiguration()) {
        planes.SetInput(*image);
        planes.SetPlanarConfiguration(0);
        if (!planes.Change())
            return refuse(why, room, "GDCM does not order its colours");
        image = &planes.GetOutput();
    }
    if (!pixels_are_whole(reader.GetFile(), *image, file, n))
        return refuse(why, room, "its pixels are not as many as its rows and columns have");
    std::memset(out, 0, bytes);
    const size_t has = image->GetBufferLength();
    const size_t wanted = scaled ? has / image->GetPixelFormat().GetPixelSize() * sizeof(float) *
                                       image->GetPixelFormat().GetSamplesPerPixel()
                                 : has;
    if (wanted != bytes)
        return refuse(why, room, "it has another size than its header says");
    if (!scaled)
        return image->GetBuffer(static_cast<char *>(out))
                   ? 0
                   : refuse(why, room, "GDCM does not decode its pixels");
    std::vector<char> raw(has);
    if (!image->GetBuffer(raw.data()))
        return refuse(why, room, "GDCM does not decode its pixels");
    return scale_all(*image, raw, out) ? refuse(why, room, "its type cannot be scaled") : 0;
}

/* Calls `work`, which GDCM may leave by an exception. */
template <typename F> int guarded(char *why, size_t room, F work)
{
    try {
        return work();
    } catch (const std::exception &e) {
        return std::snprintf(why, room, "GDCM: %s", e.what()), 1;
    } catch (...) {
        return refuse(why, room, "GDCM gave up");
    }
}

int dicom_describe(const char *path, dicom_file *out, char *why, size_t room)
{
    std::memset(out, 0, sizeof *out);
    return guarded(why, room, [=] { return describe_file(path, out, why, room); });
}

int dicom_decode(const void *file, size_t n, int scaled, void *out, size_t bytes, char *why,
                 size_t room)
{
    return guarded(why, room, [=] { return decode_file(file, n, scaled, out, bytes, why, room); });
}

} // namespace

extern "C" __attribute__((visibility("default"))) const dicom_library *tomoprof_dicom()
{
    static char name[64];
    static const dicom_library library = {sizeof library, name, dicom_describe, dicom_decode};
    gdcm::Trace::DebugOff();
    gdcm::Trace::WarningOff();
    gdcm::Trace::ErrorOff();
    gdcm::ImageHelper::SetForceRescaleInterceptSlope(true);
    std::snprintf(name, sizeof name, "GDCM %s", gdcm::Version::GetVersion());
    return &library;
}
