"""TIFF files whose directories are odd: types of tags, thumbnails, SubIFDs, damaged pages. What is read is right, and a stack is never shorter than the file."""

import json
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, main, tomoprof

BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
CODES = {1: "B", 2: "B", 3: "H", 4: "I", 6: "b", 7: "B", 8: "h", 9: "i", 13: "I", 16: "Q", 17: "q", 18: "Q"}


class Tiff:
    """Pages of tags: {tag: (type, values)}; values of other types than CODES are bytes."""

    def __init__(self, big=False, end="<"):
        self.big, self.end, self.word = big, end, "Q" if big else "I"
        self.data = bytearray((b"II" if end == "<" else b"MM") + struct.pack(end + ("HHHQ" if big else "HI"), *((43, 8, 0, 0) if big else (42, 0))))
        self.link = len(self.data) - struct.calcsize(self.word)
        self.entries = []  # of each page: {tag: offset of its entry}

    def put(self, data):
        self.data += bytes(-len(self.data) % 8)
        self.data += data
        return len(self.data) - len(data)

    def directory(self, tags, chained=True):
        room = struct.calcsize(self.word)
        rows, places = [], {}
        for tag, (kind, values) in sorted(tags.items()):
            raw = bytes(values) if kind not in CODES else struct.pack(f"{self.end}{len(values)}{CODES[kind]}", *values)
            count = len(raw) // BYTES.get(kind, 1)
            rows.append((tag, kind, count, raw.ljust(room, b"\0") if len(raw) <= room else struct.pack(self.end + self.word, self.put(raw))))
        at = self.put(b"")
        self.data += struct.pack(self.end + ("Q" if self.big else "H"), len(rows))
        for tag, kind, count, value in rows:
            places[tag] = len(self.data)
            self.data += struct.pack(self.end + "HH" + self.word, tag, kind, count) + value
        if chained:
            struct.pack_into(self.end + self.word, self.data, self.link, at)
            self.link = len(self.data)
        self.data += bytes(room)
        self.entries.append(places)
        return at

    def page(self, array, chained=True, types={}, **more):
        """Uncompressed, in strips of five rows; `types`: tag to type; `more`: t330=(4, [..])."""
        raw = array.astype(array.dtype.newbyteorder(self.end))
        strips = [raw[i:i + 5].tobytes() for i in range(0, len(raw), 5)]
        offsets = [self.put(s) for s in strips]
        tags = {256: (3, [array.shape[1]]), 257: (3, [array.shape[0]]), 258: (3, [8 * array.itemsize]), 259: (3, [1]), 262: (3, [1]), 273: (4, offsets),
                277: (3, [1]), 278: (3, [5]), 279: (4, [len(s) for s in strips]), 339: (3, [{"u": 1, "i": 2, "f": 3}[array.dtype.kind]])}
        for tag, kind in types.items():
            tags[tag] = (kind, tags[tag][1])
        tags |= {int(k[1:]): v for k, v in more.items()}
        return self.directory(tags, chained)

    def save(self, path):
        path.write_bytes(self.data)
        return path


def stack(pages=6, dtype="u2", shape=(17, 12)):
    return (np.arange(pages * shape[0] * shape[1]) % 50021).astype(dtype).reshape(pages, *shape)


def of_pages(pages, **kwargs):
    t = Tiff(**kwargs)
    for p in pages:
        t.page(p)
    return t


def reads(check, path, wanted, text, *args):
    out = path.parent / "out.npy"
    out.unlink(missing_ok=True)
    done = tomoprof("convert", path, out, *args)
    there = np.load(out) if done.returncode == 0 else None
    check.that(there is not None and there.dtype == wanted.dtype and there.shape == wanted.shape and np.array_equal(there, wanted),
               f"{text}: {done.stderr if there is None else (there.dtype, there.shape)}")
    return done.stderr


def refuses(check, path, words, text):
    done = tomoprof("convert", path, path.parent / "never.npy")
    check.that(done.returncode in (1, 2) and all(w in done.stderr for w in words) and not (path.parent / "never.npy").exists(), f"{text}: {done.returncode}, {done.stderr}")


def types_of_needed_tags(check, folder):
    """Any integer type will do; another one is an error that names page and tag, and never a default value."""
    x = stack(2)
    for big in (False, True):
        for end in "<>":
            for kind in (1, 3, 4, 6, 8, 9, 13) + ((16, 17, 18) if big else ()):
                t = Tiff(big, end)
                for p in x:
                    t.page(p, types={tag: kind for tag in (256, 257, 258, 259, 277, 278, 339)} | ({273: kind, 279: kind} if BYTES[kind] >= 4 else {279: kind} if kind != 6 else {}))
                reads(check, t.save(folder / "x.tif"), x, f"type {kind}, big {big}, {end}")
    for tag in (256, 258, 259, 273, 277, 278, 279, 339):
        for kind in (0, 2, 5, 7, 11, 12, 14, 99, 65535):
            t = of_pages(stack())
            struct.pack_into("<H", t.data, t.entries[3][tag] + 2, kind)
            refuses(check, t.save(folder / "x.tif"), ("page 4", f"tag {tag}"), f"tag {tag} of type {kind}")


def types_of_other_tags(check, folder):
    """Tags that are not needed may be of any type, count and place."""
    x = stack(2)
    for kind in (*range(0, 20), 99, 65535):
        t = of_pages(x)
        for page in t.entries:
            struct.pack_into("<HHII", t.data, page[262], 700, kind, 2**32 - 1, 2**32 - 1)
        reads(check, t.save(folder / "x.tif"), x, f"tag 700 of type {kind}")


def damaged_pages(check, folder):
    """A page that is there and cannot be read is an error."""
    x = stack()
    for tag, value, words in ((256, 0, "256"), (257, 0, "257"), (258, 7, "page 4"), (259, 8, "tag 259"), (277, 0, "277"), (278, 3, "tag 278"), (284, 9, "284")):
        t = Tiff()
        for p in x:
            t.page(p, t284=(3, [1]))
        struct.pack_into("<HH", t.data, t.entries[3][tag] + 8, value, 0)
        if tag != 258:
            refuses(check, t.save(folder / "x.tif"), ("page 4", words), f"tag {tag} is {value}")
        else:  # a page of other numbers is another array, and listed: but it may be one of the stack
            check.that("page3" in json.dumps(json.loads(tomoprof("info", "--json", t.save(folder / "x.tif")).stdout)), "a page of 7 bits is not listed")
            refuses(check, folder / "x.tif", ("page3", "7 bits", "largest array is not known"), "a page of 7 bits")
            said = reads(check, folder / "x.tif", np.delete(x, 3, 0), "a page of 7 bits", "--array", "data")
            check.that("unreadable" in said, "a page of 7 bits is not listed as lost")
    for tag, becomes in ((257, 256), (258, 256), (259, 258), (279, 278)):
        t = of_pages(x)
        struct.pack_into("<H", t.data, t.entries[3][tag], becomes)
        refuses(check, t.save(folder / "x.tif"), ("page 4", f"tag {becomes} stands twice"), f"tag {tag} is a second {becomes}")
    t = of_pages(x)
    struct.pack_into("<I", t.data, t.entries[3][273] + 8, len(t.data) + 100)
    refuses(check, t.save(folder / "x.tif"), ("page 4",), "strips beyond the file")
    t = of_pages(x)
    struct.pack_into("<I", t.data, t.entries[2][339] + 12, len(t.data) + 100)
    refuses(check, t.save(folder / "x.tif"), ("page 4",), "a directory beyond the file")
    t = Tiff()
    for p in x:
        t.page(p, **({"t270": (2, b"ImageJ=1.53\nimages=6\0")} if not t.entries else {}))
    struct.pack_into("<I", t.data, t.entries[2][339] + 12, 0)
    refuses(check, t.save(folder / "x.tif"), ("6 images", "3 pages"), "a chain that ends early")


def planes_of_ome(check, folder):
    """OME-XML names how many planes there are, in all images of a file; samples of a pixel are channels of one plane."""
    x = stack()
    one = '<OME><Image><Pixels DimensionOrder="XYCZT" SizeC="{}" SizeT="{}" SizeX="12" SizeY="17" SizeZ="{}"><TiffData{}/></Pixels></Image>'

    def of_text(text, cut, samples=1):
        t = Tiff()
        for p in x:
            t.page(p if samples == 1 else np.repeat(p.astype("u1"), 3, 1), **({"t270": (2, text.encode() + b"\0")} if not t.entries else {}),
                   **({"t277": (3, [3]), "t256": (3, [12])} if samples == 3 else {}))
        if cut:
            struct.pack_into("<I", t.data, t.entries[2][339] + 12, 0)
        return t.save(folder / "x.tif")

    for sizes in ((1, 1, 6), (6, 1, 1), (2, 3, 1)):
        text = one.format(*sizes, "") + "</OME>"
        shape = [n for n in (sizes[1], sizes[0], sizes[2]) if n > 1]  # t, c, z of XYCZT, where each has its planes
        reads(check, of_text(text, False), x.reshape(shape + [17, 12]), f"whole, of {sizes} planes")
        refuses(check, of_text(text, True), ("6 planes", "3 pages", "tiffset -u 270"), f"cut, of {sizes} planes")
    two = one.format(1, 2, 1, "") + one.format(1, 1, 4, "")[5:] + "</OME>"
    reads(check, of_text(two, False), x, "two images")
    refuses(check, of_text(two, True), ("6 planes", "3 pages"), "two images, cut")
    colours = one.format(3, 1, 6, "") + "</OME>"
    done = tomoprof("info", "--json", of_text(colours, False, 3))
    check.that(done.returncode == 0 and json.loads(done.stdout)["arrays"]["data"]["shape"] == [6, 17, 12, 3], f"planes of colours: {done.stderr}")
    refuses(check, of_text(colours, True, 3), ("6 planes", "3 pages"), "planes of colours, cut")
    others = one.format(1, 1, 60, ' FirstZ="6"><UUID FileName="other.tif">urn:uuid:1</UUID></TiffData><TiffData') + "</OME>"
    reads(check, of_text(others, False), x, "planes of other files")
    reads(check, of_text(one.format(0, "x", 99999999999999999999, "") + "</OME>", False), x, "sizes that are none")


def largest_array(check, folder):
    """Thumbnails before the stack, after it and below it; a stack below its thumbnail."""
    x, small = stack(20, shape=(34, 32)), stack(1, "u1", (8, 8))[0]
    t = of_pages([small, *x])
    told = reads(check, t.save(folder / "first.tif"), x, "a thumbnail before the stack")
    check.that("array page0" in told, f"not listed: {told}")
    reads(check, folder / "first.tif", small, "the thumbnail by its name", "--array", "page0")
    reads(check, of_pages([*x, small]).save(folder / "x.tif"), x, "a thumbnail after the stack")
    for big in (False, True):
        t = Tiff(big)
        for p in x:
            sub = [t.page(p[::k, ::k], chained=False) for k in (2, 4)]
            t.page(p, t330=(18 if big else 13, sub))
        told = reads(check, t.save(folder / "x.tif"), x, "a pyramid")
        check.that("page0.1" in told and "page0.2" in told, told)
        reads(check, folder / "x.tif", x[:, ::2, ::2], "its first level", "--array", "page0.1")
    t = Tiff()
    t.page(small, t330=(4, [t.page(x[0], chained=False)]), t254=(4, [1]))
    reads(check, t.save(folder / "x.tif"), x[0], "an image below its thumbnail")
    t = Tiff()
    t.page(x[0], t330=(4, [2**31 - 9]))
    refuses(check, t.save(folder / "x.tif"), ("page 1", "tag 330"), "a SubIFD beyond the file")
    t = Tiff()
    at = t.page(x[0], t330=(4, [8]))
    struct.pack_into("<I", t.data, t.entries[0][330] + 8, at)
    refuses(check, t.save(folder / "x.tif"), ("page 1", "circle"), "a SubIFD that is its own page")


def numbered_files(check, folder):
    """One page of each: the largest. Two of one size are refused."""
    x, small = stack(3), stack(1, "u1", (4, 4))[0]
    (folder / "views").mkdir()
    for i, p in enumerate(x):
        of_pages([small, p] if i else [p]).save(folder / f"views/v_{i}.tif")
    reads(check, folder / "views", x, "thumbnails in a folder of files")
    of_pages([x[1], x[1]]).save(folder / "views/v_1.tif")
    refuses(check, folder / "views", ("v_1.tif", "2 pages of one size"), "two pages in one of the files")


def jpeg_tables(check, folder):
    """Tables apart from the strips, of type UNDEFINED, as libtiff writes them; colours by the page, not by JPEG's markers."""
    for name, samples in (("grey", 1), ("colour", 3)):
        data = (DATA / f"store/tiff/jpeg_{name}.tif").read_bytes()
        wanted = np.load(DATA / f"store/tiff/jpeg_{name}.npy")
        wanted = wanted[0] if wanted.ndim > samples // 3 + 2 else wanted
        before, found = tags_of(data), list(segments_of(data))
        for kind, colours in ((7, 6), (1, 6), (7, 2)) if samples == 3 else ((7, 1), (1, 1)):
            t = Tiff()
            tags = {tag: (4, before[tag]) for tag in (256, 257, 278, 322, 323) if tag in before}
            tiles = 322 in before
            tags |= {258: (3, [8] * samples), 259: (3, [7]), 262: (3, [colours]), 277: (3, [samples]), 347: (kind, b"\xff\xd8" + found[0][0] + b"\xff\xd9"),
                     324 if tiles else 273: (4, [t.put(rest) for _, rest in found]), 325 if tiles else 279: (4, [len(rest) for _, rest in found])}
            t.directory(tags)
            t.save(folder / "x.tif")
            if colours != 2:
                reads(check, folder / "x.tif", wanted, f"{name}, tables of type {kind}")
                continue
            done = tomoprof("convert", folder / "x.tif", folder / "rgb.npy")  # what is stored, which is Y, Cb and Cr here
            check.that(done.returncode == 0, f"colours as they are stored: {done.stderr}")
            y, cb, cr = np.moveaxis(np.load(folder / "rgb.npy").astype(float), -1, 0)
            back = np.stack([y + 1.402 * (cr - 128), y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128), y + 1.772 * (cb - 128)], -1).clip(0, 255)
            check.that(np.abs(back - wanted).max() < 2, f"colours as they are stored: {np.abs(back - wanted).max()} off")


def segments_of(data):
    """Tables and the rest of each strip's JPEG of the first page."""
    tags = tags_of(data)
    for at, n in zip(tags[273 if 273 in tags else 324], tags[279 if 279 in tags else 325]):
        jpeg, k, tables, rest = data[at:at + n], 2, b"", b"\xff\xd8"
        while jpeg[k + 1] != 0xDA:
            length = 2 + struct.unpack_from(">H", jpeg, k + 2)[0]
            if jpeg[k + 1] in (0xDB, 0xC4):
                tables += jpeg[k:k + length]
            else:
                rest += jpeg[k:k + length]
            k += length
        yield tables, rest + jpeg[k:]


def tags_of(data):
    """Integers of the first directory of a little-endian classic file."""
    at, tags = struct.unpack_from("<I", data, 4)[0], {}
    for i in range(struct.unpack_from("<H", data, at)[0]):
        tag, kind, n = struct.unpack_from("<HHI", data, at + 2 + 12 * i)
        if kind not in CODES:
            continue
        place = at + 10 + 12 * i
        if n * BYTES[kind] > 4:
            place = struct.unpack_from("<I", data, place)[0]
        tags[tag] = struct.unpack_from(f"<{n}{CODES[kind]}", data, place)
    return tags


def refused_with_a_sentence(check, folder):
    """Layouts that are not read are named, with a way to convert them."""
    x = stack(1)[0]
    for more, words in (({"t259": (3, [6])}, "old-style JPEG"), ({"t259": (3, [34712])}, "JPEG 2000"), ({"t259": (3, [34887])}, "LERC"),
                        ({"t258": (3, [20])}, "20 bits"), ({"t258": (3, [24]), "t339": (3, [3])}, "floats of 24 bits"), ({"t258": (3, [12]), "t339": (3, [2])}, "signed samples of 12 bits"),
                        ({"t339": (3, [6])}, "sample format 6"), ({"t262": (3, [6]), "t277": (3, [3]), "t258": (3, [8, 8, 8]), "t530": (3, [2, 2])}, "subsampled"),
                        ({"t277": (3, [3]), "t258": (3, [8, 16, 8])}, "several types")):
        t = Tiff()
        t.page(x, **more)
        refuses(check, t.save(folder / "x.tif"), (words,), str(more))


if __name__ == "__main__":
    main(types_of_needed_tags, types_of_other_tags, damaged_pages, planes_of_ome, largest_array, numbered_files, jpeg_tables, refused_with_a_sentence)
