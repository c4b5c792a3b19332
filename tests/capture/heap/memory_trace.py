"""ALLOC, FREE and COPY records of a trace folder with the source lines of their stacks, read without the analysis:
its sums are what the analysis must find."""

import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from trace_file import members  # noqa: E402

STRING, CODE, STACK, MODULE, ALLOC, FREE, COPY, NOTE = 2, 3, 4, 5, 11, 12, 14, 17
MALLOC, NEW, MMAP, PYTHON = range(4)
LOST_AT, LOST_ALLOCATIONS = 64, 5  # trace_header.lost[], its index


class Process:
    """One trace."""

    def __init__(self, path, data=None):
        self.data = pathlib.Path(path).read_bytes() if data is None else data
        self.pid = struct.unpack_from("<i", self.data, 16)[0]
        self.lost = struct.unpack_from("<32Q", self.data, LOST_AT)
        self.stacks, self.codes, self.modules, self.notes = {}, {}, [], []
        self.allocs, self.frees, self.copies = [], [], []
        for start, end in self._chunks():
            self._records(start, end)
        self.allocs.sort()
        self.frees.sort()

    def _chunks(self):
        at = 4096
        while at + 40 <= len(self.data):
            magic, _, _, size, _, _, used = struct.unpack_from("<7I", self.data, at)
            if magic != 0x4B435054:
                at += 4096
                continue
            yield at + 40, at + 40 + used
            at += max(size, 4096)

    def _records(self, at, end):
        data = self.data
        while at + 16 <= end:
            kind, words, _, time = struct.unpack_from("<HHIQ", data, at)
            if not words:
                break
            body = at + 16
            if kind == CODE:
                key, first, files, names = struct.unpack_from("<QiHH", data, body)
                tail = body + 16
                self.codes[key] = data[tail : tail + files].decode(), data[tail + files : tail + files + names].decode()
            elif kind == STACK:
                key, native, python, _ = struct.unpack_from("<QHHI", data, body)
                words_of = struct.unpack_from(f"<{native + 2 * python}Q", data, body + 16)
                self.stacks[key] = words_of[:native], list(zip(words_of[native::2], words_of[native + 1 :: 2]))
            elif kind == MODULE:
                start, stop, bias, length = struct.unpack_from("<QQQH", data, body)
                self.modules.append((start, stop, bias, data[body + 32 : body + 32 + length].decode()))
            elif kind == ALLOC:
                address, size, stack, weight, heap, tid = struct.unpack_from("<QQQdII", data, body)
                self.allocs.append((time, address, size, stack, weight, heap, tid))
            elif kind == FREE:
                address, size, stack, heap, tid = struct.unpack_from("<QQQII", data, body)
                self.frees.append((time, address, size, heap))
            elif kind == COPY:
                stack, weight = struct.unpack_from("<Qd", data, body)
                self.copies.append((stack, weight))
            elif kind == NOTE:
                severity, length = struct.unpack_from("<II", data, body)
                self.notes.append(data[body + 8 : body + 8 + length].decode(errors="replace"))
            at += 8 * words

    def python_line(self, stack, file):
        """Line of the innermost frame in `file` (end of its name), None without."""
        for line, code in self.stacks.get(stack, ((), ()))[1]:
            if self.codes.get(code, ("", ""))[0].endswith(file):
                return line & 0xFFFFFFFF
        return None

    def native_lines(self, stacks, program):
        """{stack: line of the innermost frame, inlined ones too, in the C source of `program`}"""
        ours = [m for m in self.modules if m[3].endswith(f"/{program}")]
        wanted = {}
        for stack in stacks:
            pcs = self.stacks.get(stack, ((), ()))[0]
            wanted[stack] = [pc - 1 - m[2] for pc in pcs for m in ours if m[0] <= pc < m[1]]
        places = sorted({pc for pcs in wanted.values() for pc in pcs})
        if not places:
            return {}
        out = subprocess.run(["addr2line", "-a", "-i", "-e", ours[0][3]], input="\n".join(map(hex, places)), text=True,
                             capture_output=True, check=True, timeout=300)
        line_at, at = {}, None
        for row in out.stdout.splitlines():
            if row.startswith("0x"):
                at = int(row, 16)
            elif row.rsplit(":", 1)[0].endswith(f"/{program}.c"):
                line_at.setdefault(at, int(row.rsplit(":", 1)[1].split()[0]))
        return {s: next((line_at[pc] for pc in pcs if pc in line_at), None) for s, pcs in wanted.items()}

    def events(self):
        """ALLOC and FREE in order of time: [(time, is_alloc, address, bytes, heap, stack, weight)]"""
        found = [(t, 0, address, size, heap, 0, 0.0) for t, address, size, heap in self.frees]
        found += [(t, 1, address, size, heap, stack, w) for t, address, size, stack, w, heap, _ in self.allocs]
        return sorted(found, key=lambda e: e[:2])

    def live(self, until=1 << 64):
        """Sampled blocks alive after `until`, mappings cut to what is left of them: [(stack, weight)]"""
        blocks, maps = {}, []
        for time, is_alloc, address, size, heap, stack, weight in self.events():
            if time > until:
                break
            if heap != MMAP and is_alloc:
                blocks[address, heap] = stack, weight
            elif heap != MMAP:
                blocks.pop((address, heap), None)
            elif is_alloc:
                maps.append((address, address + size, stack))
            else:
                parts = [((a, min(b, address)), (max(a, address + size), b), s) for a, b, s in maps]
                maps = [(*part, s) for low, high, s in parts for part in (low, high) if part[0] < part[1]]
        return list(blocks.values()) + [(s, float(b - a)) for a, b, s in maps]

    def peak(self):
        """The time at which the sampled malloc blocks weigh most."""
        blocks, total, best = {}, 0.0, (0.0, 0)
        for time, is_alloc, address, _, heap, _, weight in self.events():
            total -= blocks.pop((address, heap), 0.0)
            if is_alloc and heap != MMAP:
                blocks[address, heap] = weight
                total += weight
            best = max(best, (total, time))
        return best[1]


def processes(folder):
    found = [Process(p) for p in sorted(pathlib.Path(folder).rglob("*.tpt"))]
    return found + [Process(p, d) for p in sorted(pathlib.Path(folder).rglob("*.tpb")) for d in members(p)]
