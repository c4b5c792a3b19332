"""docs/howto/loading-stories.md: five questions of people whose data load slowly, each worked through from the command line. `--write` records it;
without it the commands run again, end as on the page, and print the words that answer the question."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from terminal import ROOT, of_page, work_through, write
from tool import SANITIZED, main

PAGE = ROOT / "docs/howto/loading-stories.md"
HEAD = """# Five stories of slow loading

Each story begins with a question and ends with an answer or a change. A terminal shows the commands and what they print.
`tests/pipe/docs/test_stories.py --write` records this page, and the test works through the commands again.
[Loading a file](../load.md) explains the tables. `tiles.py` makes the mosaic of the last four."""

SECTIONS = '''import time

import numpy
import tomoprof

scan = numpy.random.default_rng(1).integers(0, 4096, (32, 256, 256)).astype("u2")


def until(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        yield


with tomoprof.region("ingest"):
    for _ in until(0.6):
        numpy.savez_compressed("scan.npz", scan=scan)
with tomoprof.region("full read"):
    for _ in until(0.6):
        numpy.load("scan.npz")["scan"]
numpy.save("scan.npy", scan)
with tomoprof.region("axial slice"):
    for _ in until(0.6):
        for z in range(32):
            numpy.load("scan.npy", mmap_mode="r")[z].sum()
with tomoprof.region("box of 64"):
    for _ in until(0.6):
        for at in range(32):
            numpy.ascontiguousarray(numpy.load("scan.npy", mmap_mode="r")[:, at:at + 64, 64:128]).sum()
'''
TILES = '''import struct
import sys

import numpy

# A mosaic as a microscope leaves it: 100 tiles of 512 x 512, 32 pixels of overlap, in a random order.


def segment(name, data):
    size = -(-len(data) // 32) * 32
    return struct.pack("<16s2q", name, size, len(data)) + data.ljust(size, b"\\0")


def entry(place, x, y, number):
    dims = ((b"X", x, 512, 512), (b"Y", y, 512, 512), (b"C", 0, 1, 1), (b"M", number, 1, 1))
    head = struct.pack("<2siqii6xi", b"DV", 1, place, 0, 0, len(dims))
    return head + b"".join(struct.pack("<4siifi", n, at, size, 0, stored) for n, at, size, stored in dims)


random = numpy.random.default_rng(1)
entries, blocks, place = [], [], 544
for number in random.permutation(100):
    x, y = 480 * (number % 10), 480 * (number // 10)
    tile = (1000 + x // 4 + y // 2 + random.integers(0, 64, (512, 512))).astype("<u2").tobytes()
    entries.append(entry(place, x, y, number))
    blocks.append(segment(b"ZISRAWSUBBLOCK", (struct.pack("<2iq", 0, 0, len(tile)) + entries[-1]).ljust(256, b"\\0") + tile))
    place += len(blocks[-1])
head = struct.pack("<2i8x32xi2qiq", 1, 0, 0, place, 0, 0, 0).ljust(512, b"\\0")
with open(sys.argv[1], "wb") as out:
    out.write(segment(b"ZISRAWFILE", head) + b"".join(blocks))
    out.write(segment(b"ZISRAWDIRECTORY", struct.pack("<i124x", len(entries)) + b"".join(entries)))
'''
MADE = "python3 tiles.py tiles.czi"

# Gains are an affair of the machine: with 45 MiB in the page cache and other programs on its processors, none does.
RECOMMENDED = re.compile(r"^(tomoprof load tiles\.czi --fetch \w+ --threads \d|Recommended: nothing; )", re.M)

# (title, what for, {file: text} that the page shows, commands, words that each prints)
STORIES = (
    ("Which operation of my reader is slow?", "You read volumes, slices and boxes, and want the hot path of each. The first command times tomoprof's own stores, the next ones are "
     "about a program of yours: each region has its answer.", {"sections.py": SECTIONS},
     ("build/tomoprof run --ops 'storage_ingest_blocks,storage_read_full_blocks,storage_read_slice_*,storage_read_batch_*' --sizes 96 --no-trace --set \"batches=5 subjects=2\"",
      "PYTHONPATH=python build/tomoprof record --paused python3 sections.py", "build/tomoprof report latest --top 3"),
     (("storage_ingest_blocks", "amplification"), (), ("Lines, by their CPU time", "mean ms", "region"))),
    ("Where does the time of loading go?", "A mosaic has 100 tiles. Ten of them estimate the whole before you wait for it; reading all of it shows whether the estimate held.", {"tiles.py": TILES},
     (MADE, "build/tomoprof info tiles.czi", "build/tomoprof load tiles.czi --tiles 10", "build/tomoprof load tiles.czi"),
     ((), ("4832 x 4832",), ("whole array", "estimated (95 %", "one chunk: p5"), ("100 of 100 chunks", "measured", "overlapping by 32 x 32", "throughput"))),
    ("Which way of loading is fastest here?", "The sweep tries numbers of workers, batches and orders, ranks them, and measures the winner again beside the sequential way. `--tune` ends in the options "
     "to use.", {}, (MADE, "build/tomoprof load tiles.czi --sweep quick", "build/tomoprof load tiles.czi --tune --budget 30"),
     ((), ("fetch   workers", "speed-up", "threads over one chunk after the other"), ("pread", "mmap", RECOMMENDED))),
    ("Why are my tests fast and the real load slow?", "A test loads a few tiles, which lie in memory. The real load finds the disk.", {},
     (MADE, "build/tomoprof load tiles.czi --cache cold --explain"), ((), ("4 cached chunks", "In the page cache before"))),
    ("What should I change?", "From the causes to a change that is measured: smaller versions, a copy in another format, and the run before beside the run after. Every value of the copy was compared.", {},
     (MADE, "build/tomoprof load tiles.czi --cache cold --sweep quick", "sed -n '1,30s/^#* *//p' tomoprof-runs/latest/rootcause.md",
      "grep '^- \\[' tomoprof-runs/latest/rootcause.md", "build/tomoprof load tiles.czi --scaling 2,4",
      "build/tomoprof load tiles.czi --copy tiles.zarr", "build/tomoprof load tiles.zarr", "build/tomoprof compare previous latest"),
     ((), ("fetch   workers",), ("Root causes: scene0",), ("seams (does not hold)", "[x] memory"), ("PSNR",), ("tiles.zarr",), ("Zarr 3",), ("B/A",))),
)


def lacks(text, wanted):
    return [w for w in wanted if not (w.search(text) if isinstance(w, re.Pattern) else w in text)]


def the_page_has_the_stories(check, folder):
    text, page = PAGE.read_text(), of_page(PAGE)
    check.that(list(page) == [s[0] for s in STORIES] and text.startswith(HEAD), f"titles: {list(page)}")
    for title, why, files, commands, words in STORIES:
        rows = page.get(title, [])
        check.that([row[0] for row in rows] == list(commands) and len(words) == len(commands), f"{title}: {rows}")
        check.that(why in text and all(content.strip() in text for content in files.values()), f"{title}: its text or files")
        for (command, lines, code), wanted in zip(rows, words):
            check.that(code == 0 and not lacks("\n".join(lines), wanted), f"{title}: {command}: {wanted}")


def one_story(story):
    def test(check, folder):
        full = (*story[:2], {"tiles.py": TILES, **story[2]}, story[3])
        for (command, text, code, _), wanted in zip(work_through(full, folder), story[4]):
            check.that(code == 0 and not lacks(text, wanted), f"{command}: exit {code}, without {lacks(text, wanted)}: {text[-2500:]}")
    test.__name__ = story[0].rstrip("?").lower().replace(" ", "_")
    return test


if __name__ == "__main__":
    if SANITIZED:
        print("skipped: the stories are those of the program as it is used, not of the sanitised one")
        raise SystemExit(77)
    if "--write" in sys.argv:
        write(PAGE, HEAD, [(*s[:2], s[2], s[3]) for s in STORIES], {"tiles.py": TILES})
    else:
        main(the_page_has_the_stories, *map(one_story, STORIES))
