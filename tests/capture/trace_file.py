"""Trace files read without the C reader: what it finds must be what was written."""

import pathlib
import struct

META, STRING, CODE, STACK, MODULE, THREAD, THREAD_END, SAMPLE, WAIT = 1, 2, 3, 4, 5, 7, 8, 9, 10
FOOTPRINT, COPY, PROCESS, NOTE, COST, CLOCK = 13, 14, 16, 17, 18, 19
RUNNING, EXIT, QUICK, EXEC, SIGNAL, LEFT, FILTERED = range(7)
FORKED, EXECED, SPAWNED, NOT_SPAWNED = range(4)
ON_CPU, RUNNABLE, SLEEP, DISK, IN_CUDA, STOPPED = range(6)
LOSSES = ("records", "samples", "threads", "frames", "python", "allocations")

SIMPLE = {  # the fields after the record's header, up to the tail
    THREAD: ("<IIII", "tid name_bytes flags parent"),
    THREAD_END: ("<IIQQQ", "tid start user system sampled"),
    SAMPLE: ("<QQII", "stack weight tid mode"),
    WAIT: ("<QQIhh", "stack weight tid state syscall"),
    FOOTPRINT: ("<QQ", "rss heap_live"),
    PROCESS: ("<iIII", "child op tid path_bytes"),
    COST: ("<IIQQ", "tid part ns calls"),
    CLOCK: ("<QQQ", "realtime cupti bracket"),
    STACK: ("<QHHI", "id native python flags"),
}


class Record:
    def __init__(self, kind, time, writer, fields, tail):
        self.kind, self.time, self.writer, self.tail = kind, time, writer, tail
        self.__dict__.update(fields)


class Trace:
    """One file, or a member of one of brief traces (brief.h); `damage` lists what is not as the format says."""

    def __init__(self, path, data=None):
        self.path, self.records, self.damage = pathlib.Path(path), [], []
        data = self.path.read_bytes() if data is None else data
        self.pid = self.parent = self.end = None
        if data[:8] != b"tptrace\n":
            self.damage.append("no magic")
            return
        _, self.pid, self.parent = struct.unpack_from("<I2i", data, 12)
        self.start, _, self.end_ns, self.end, self.detail = struct.unpack_from("<3QIi", data, 24)
        self.lost = dict(zip(LOSSES, struct.unpack_from("<32Q", data, 64)))
        self.memory, = struct.unpack_from("<Q", data, 64 + 256)
        at = 4096
        while at + 40 <= len(data):
            magic, _, _, size, tid, _, used = struct.unpack_from("<7I", data, at)
            if magic != 0x4B435054:
                at += 4096
                continue
            if 40 + used > size or at + size > len(data) or size % 4096:
                self.damage.append(f"chunk at {at}: {used} used of {size}")
                break
            self._chunk(data, at + 40, at + 40 + used, tid)
            at += size

    def _chunk(self, data, at, end, writer):
        while at < end:
            kind, words, _, time = struct.unpack_from("<HHIQ", data, at)
            if words < 2 or at + 8 * words > end:
                self.damage.append(f"record at {at}: kind {kind}, {words} words")
                return
            body, fields = at + 16, {}
            if kind in SIMPLE:
                form, names = SIMPLE[kind]
                fields = dict(zip(names.split(), struct.unpack_from(form, data, body)))
                body += struct.calcsize(form)
            self.records.append(Record(kind, time, writer, fields, data[body : at + 8 * words]))
            at += 8 * words

    def of(self, kind):
        return [r for r in self.records if r.kind == kind]

    def facts(self):
        return dict(pair(r.tail[16:]) for r in self.of(META))

    def notes(self):
        return [pair(r.tail[8:]) for r in self.of(NOTE)]

    def leaves(self):
        """{stack id: first program counter}"""
        return {r.id: struct.unpack_from("<Q", r.tail)[0] if r.native else 0 for r in self.of(STACK)}


def pair(tail):
    key, _, value = tail.partition(b"\0")
    return key.decode(errors="replace"), value.rstrip(b"\0").decode(errors="replace")


HEADER, CHUNK = 416, 40  # struct trace_header, struct trace_chunk


def members(path):
    """The traces of a file of brief ones, each as its own file would be."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        used, = struct.unpack_from("<I", data, at + HEADER + 24)
        end = at + HEADER + CHUNK + used
        yield data[at : at + HEADER].ljust(4096, b"\0") + data[at + HEADER : end].ljust(8192, b"\0")
        at = end


def traces(folder, kind=None):
    kind, folder = kind or Trace, pathlib.Path(folder)
    found = [kind(p) for p in folder.glob("*.tpt")] + [kind(p, d) for p in folder.glob("*.tpb") for d in members(p)]
    last = {(t.pid, getattr(t, "start", 0)): t for t in sorted(found, key=lambda t: t.path.suffix)}
    return sorted(last.values(), key=lambda t: (getattr(t, "start", 0), t.pid or 0))
