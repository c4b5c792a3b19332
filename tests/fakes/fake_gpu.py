"""Runs fake_app under the capture library and reads the GPU's side of its traces.

By hand, to have a small trace folder (TOMOPROF names the built program):
    TOMOPROF=build/tomoprof python3 tests/fakes/fake_gpu.py FOLDER SCENARIO [COUNT] [FAKE]
leaves trace files, saved device code and truth.jsonl in FOLDER. Scenarios: app.c; FAKE: cupti.c."""

import collections
import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipe"))
from tool import loadable  # noqa: E402

BUILD = pathlib.Path(os.environ["TOMOPROF"]).resolve().parent
LIBRARY = BUILD / "libtomoprof_capture.so"
FAKES = BUILD / "tests/fakes"
APP = FAKES / "fake_app"
LOSSES = "records samples threads frames python allocations gpu_buffers gpu_dropped gpu_unknown gpu_zero strings gpu_samples".split()
CAPTURED, MORE = 1, 2

# number of a kind: name, fields, their struct format, whether a tail follows
KINDS = {
    4: ("stack", "id native python flags", "QHHI", True),
    5: ("module", "start end bias path_bytes build_id_bytes", "QQQHH4x", True),
    1: ("meta", "id bytes reserved", "QII", True),
    2: ("string", "id bytes reserved", "QII", True),
    15: ("range", "domain message stack handle payload op payload_kind category color tid", "5Q5I4x", False),
    7: ("thread", "tid name_bytes flags parent", "4I", True),
    17: ("note", "severity bytes", "II", True),
    18: ("cost", "tid part ns calls", "IIQQ", False),
    19: ("clock", "realtime cupti bracket", "3Q", False),
    32: ("api", "start end stack name symbol bytes tid result api_class context flags used c0 c1 c2 c3", "6QIi8I", False),
    33: (
        "kernel",
        "start end queued submitted name node correlation device context stream graph function gx gy gz bx by bz cx cy cz "
        "registers static dynamic executed local launch_type",
        "6Q19I4xQI4x",
        False,
    ),
    34: (
        "copy",
        "start end bytes node correlation device context stream graph kind source target asynchronous copies peer",
        "4Q11I4x",
        False,
    ),
    35: ("set", "start end bytes node correlation device context stream graph memory_kind", "4Q6I", False),
    36: ("sync", "start end correlation context stream type", "2Q4I", False),
    37: (
        "memory",
        "at address bytes pool reserved used correlation device context stream operation memory_kind",
        "6Q6I",
        False,
    ),
    38: ("overhead", "start end kind correlation", "2QII", False),
    39: (
        "device",
        "memory bandwidth id major minor sms clock memory_clock bus threads blocks registers shared shared_block warp name_bytes uuid",
        "2Q14I16s",
        True,
    ),
    40: ("context", "id device null_stream", "3I4x", False),
    41: ("stream", "name id context priority flags", "Q4I", False),
    42: ("node", "node stack graph cloned original", "QQIIQ", False),
    44: ("fault", "start end value address kind source target process", "4Q4I", False),
    43: ("cubin", "hash bytes module saved", "QQII", False),
    46: ("samples", "cubin name offset stalls reserved", "QQQII", True),
}


class Trace:
    """One file. .kernel, .copy, ..: lists of records; .strings; .notes {key: sentence}; .meta; .lost"""

    def __init__(self, path, only=None):
        self.path = pathlib.Path(path)
        data = self.path.read_bytes()
        self.pid, self.parent = struct.unpack_from("<ii", data, 16)
        self.end = struct.unpack_from("<I", data, 48)[0]
        self.lost = {k: v for k, v in zip(LOSSES, struct.unpack_from("<32Q", data, 64)) if v}
        self.counts = collections.Counter()
        for name, *_ in KINDS.values():
            setattr(self, name, [])
        kinds = {
            k: (getattr(self, n), collections.namedtuple(n, "time " + f), struct.Struct("<Q" + s), tail, n)
            for k, (n, f, s, tail) in KINDS.items()
            if only is None or n in only
        }
        self.strings, self.meta, self.notes, self.stacks, self.modules = {0: ""}, {}, {}, {}, []
        self.thread_names = collections.defaultdict(list)
        at = 4096
        while at + 40 <= len(data):
            magic, _, _, size, _, _, used = struct.unpack_from("<7I", data, at)
            if magic != 0x4B435054:
                at += 4096
                continue
            self._records(data, at + 40, at + 40 + used, kinds)
            at += max(size, 4096)

    def _records(self, data, at, end, kinds):
        header = struct.Struct("<HH")
        while at + 16 <= end:
            kind, words = header.unpack_from(data, at)
            if not words:
                break
            self.counts[kind] += 1
            if kind in kinds:
                records, make, layout, tail, name = kinds[kind]
                record = make(*layout.unpack_from(data, at + 8))
                records.append(record)
                if tail:
                    self._tail(name, record, data[at + 8 + layout.size : at + 8 * words])
            at += 8 * words

    def _tail(self, kind, record, tail):
        if kind == "string":
            self.strings[record.id] = tail[: record.bytes].decode(errors="replace")
        elif kind == "thread":
            self.thread_names[record.tid].append(tail[: record.name_bytes].decode(errors="replace"))
        elif kind == "stack":
            self.stacks[record.id] = struct.unpack_from(f"<{record.native}Q", tail)
        elif kind == "samples":
            self.samples[-1] = (record, list(struct.iter_unpack("<II", tail[: 8 * record.stalls])))
        elif kind == "module":
            self.modules.append((record, tail[: record.path_bytes].decode(errors="replace")))
        elif kind in ("meta", "note"):
            key, _, value = tail[: record.bytes].decode(errors="replace").partition("\0")
            (self.meta if kind == "meta" else self.notes).setdefault(key, value)

    def lines(self, stacks, program="fake_app"):
        """{stack: line of the innermost frame in the source of `program`, NVTX's headers apart}; None without addr2line"""
        wanted = []
        for stack in stacks:
            for pc in self.stacks.get(stack, ()):
                module = next((r for r, path in self.modules if path.endswith("/" + program) and r.start <= pc < r.end), None)
                if module:
                    wanted.append((stack, pc - 1 - module.bias))
        words = ["addr2line", "-a", "-i", "-e", str(FAKES / program), *(hex(pc) for _, pc in wanted)]
        try:
            out = subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout
        except FileNotFoundError:
            return None
        found, turn = {}, iter(wanted)
        for row in out.splitlines():  # an address, then its inlined frames, innermost first
            if row.startswith("0x"):
                stack, _ = next(turn)
            elif "?" not in row and "/nvtx3/" not in row:
                found.setdefault(stack, int(row.rpartition(":")[2].split()[0]))
        return found

    def apis(self):
        """{correlation id: API record}, the ids of continuations with those of their record"""
        found, more = {}, []
        for a in sorted(self.api, key=lambda a: a.time):
            ids = [a.c0, a.c1, a.c2, a.c3][: a.used]
            if a.flags & MORE:
                more += [(a, i) for i in ids]
                continue
            mine = [i for b, i in more if b.tid == a.tid and b.start == a.start]
            for i in ids + mine:
                found[i] = a
        return found


def environment(folder, fake="", **more):
    e = {k: v for k, v in os.environ.items() if not k.startswith(("TOMOPROF_", "FAKE", "CUDA_", "NVTX_"))}
    e.update(
        LD_PRELOAD=loadable(LIBRARY),
        CUDA_INJECTION64_PATH=str(LIBRARY),
        TOMOPROF_CAPTURE_DIR=str(folder),
        TOMOPROF_CAPTURE_CUPTI=str(FAKES / "fake_cupti.so"),
        FAKE=fake,
        TRUTH=str(pathlib.Path(folder) / "truth.jsonl"),
    )
    e.update({k: str(v) for k, v in more.items()})
    return {k: v for k, v in e.items() if v != "-"}


def run(folder, scenario, count=100, fake="", timeout=300, **more):
    """Exit status of the app; its trace files lie in `folder`."""
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    words = [str(APP), scenario, str(count)]
    return subprocess.run(words, env=environment(folder, fake, **more), timeout=timeout).returncode


def files(folder):
    return sorted(pathlib.Path(folder).glob("*.tpt"))


def truth(folder):
    return [json.loads(row) for row in (pathlib.Path(folder) / "truth.jsonl").read_text().splitlines()]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(run(sys.argv[1], sys.argv[2], *sys.argv[3:5]))
