"""The threshold of .nii.gz files, 500 MB/s of voxels, judged by what the data allow; exit 1 where a case is missed.

    python3 tests/peers/gz_gate.py BUILD/tests/peers/peers_load [--pairs 9]

- clean: an object without noise, float32, compressed 20 times and more, one member: on one processor.
- bgzf: counts with noise, int16, compressed about twice, in members of 64 KiB: on four processors and more.
- member: the same counts in one member, where only one thread can decode: at least twice zlib's rate, read by Python's zlib in turn. libdeflate alone,
  into memory that is there already, runs in turn as well where ctypes finds it: its rate is the limit of this case.

A case that this machine cannot measure is `unknown`, with the reason, and passes nothing: exit 1 unless --unknown-passes. Needs numpy."""
import argparse
import ctypes
import ctypes.util
import gzip
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np

SHAPE, LEAST = (160, 224, 224), 500.0


def header(dtype):
    h = bytearray(352)
    struct.pack_into("<i", h, 0, 348)
    struct.pack_into("<8h", h, 40, 3, *SHAPE[::-1], 1, 1, 1, 1)
    struct.pack_into("<2h", h, 70, {"f4": 16, "i2": 4}[dtype], {"f4": 32, "i2": 16}[dtype])
    struct.pack_into("<8f", h, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<f", h, 108, 352)
    h[344:348] = b"n+1\0"
    return bytes(h)


def bgzf(raw, size=65280):
    """Members that say how long they are."""
    out = []
    for at in range(0, len(raw), size):
        part = raw[at:at + size]
        z = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = z.compress(part) + z.flush()
        out.append(b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25) + body +
                   struct.pack("<2I", zlib.crc32(part), len(part)))
    return b"".join(out) + bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def make(folder):
    z, y, x = np.ogrid[-1:1:SHAPE[0] * 1j, -1:1:SHAPE[1] * 1j, -1:1:SHAPE[2] * 1j]
    r = x * x + y * y + z * z
    clean = ((r < 0.7) + 0.5 * (r < 0.2)).astype("<f4")
    noisy = (1000 * clean + np.random.default_rng(0).normal(0, 10, SHAPE)).astype("<i2")
    raw = {"clean": header("f4") + clean.tobytes(), "noisy": header("i2") + noisy.tobytes()}
    files = {"clean": gzip.compress(raw["clean"], 6), "bgzf": bgzf(raw["noisy"]), "member": gzip.compress(raw["noisy"], 6)}
    for name, data in files.items():
        (folder / f"{name}.nii.gz").write_bytes(data)
    return {name: (len(raw["clean" if name == "clean" else "noisy"]), len(data)) for name, data in files.items()}


def reader(program, processors):
    return subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))


def ask(process, path):
    process.stdin.write(f"{path} - - -\n")
    process.stdin.flush()
    said = process.stdout.readline().split()
    if not said or said[0] == "error":
        sys.exit(f"gz_gate.py: {path}: {' '.join(said)}")
    return float(said[0])


def inflate(path):
    data = path.read_bytes()
    begin = time.perf_counter()
    zlib.decompress(data, 31)
    return time.perf_counter() - begin


def libdeflate(path, decoded):
    """Seconds of libdeflate's own call; None where libdeflate is absent."""
    name = ctypes.util.find_library("deflate")
    if not name:
        return None
    lib = ctypes.CDLL(name)
    lib.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    data, out = path.read_bytes(), ctypes.create_string_buffer(decoded)
    d = ctypes.c_void_p(lib.libdeflate_alloc_decompressor())
    ctypes.memset(out, 1, decoded)
    begin = time.perf_counter()
    failed = lib.libdeflate_gzip_decompress(d, data, ctypes.c_size_t(len(data)), out, ctypes.c_size_t(decoded), None)
    took = time.perf_counter() - begin
    lib.libdeflate_free_decompressor(d)
    return None if failed else took


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--pairs", type=int, default=9)
    p.add_argument("--unknown-passes", action="store_true")
    o = p.parse_args()
    mine = sorted(os.sched_getaffinity(0))
    missed = 0
    with tempfile.TemporaryDirectory() as t:
        folder = pathlib.Path(t)
        sizes = make(folder)
        for name, processors in (("clean", mine[:1]), ("bgzf", mine if len(mine) >= 4 else []), ("member", mine)):
            path, (decoded, stored) = folder / f"{name}.nii.gz", sizes[name]
            said = f"{name:7} {decoded / 1e6:6.1f} MB, compressed {decoded / stored:5.1f} times:"
            if not processors:
                print(said, f"unknown: needs 4 processors, has {len(mine)}")
                missed += not o.unknown_passes
                continue
            with reader(o.program, processors) as ours:
                member = name == "member"
                runs = [(ask(ours, path), inflate(path) if member else None, libdeflate(path, decoded) if member else None) for _ in range(o.pairs + 1)][1:]
                ours.stdin.close()
            rate = decoded / statistics.median(r[0] for r in runs) / 1e6
            if name == "member":
                ratio = statistics.median(r[1] / r[0] for r in runs)
                good, what = ratio >= 2, f"{rate:.0f} MB/s, {ratio:.2f} times zlib's rate in pairs, at least 2"
                if runs[0][2]:
                    limit, share = (statistics.median(r[k] / r[m] for r in runs) for k, m in ((1, 2), (2, 0)))
                    what += f" (libdeflate alone: {limit:.2f} times; tomoprof's share of it {100 * share:.0f} %)"
            else:
                good, what = rate >= LEAST, f"{rate:.0f} MB/s on {len(processors)} processors, at least {LEAST:.0f}"
            missed += not good
            print(said, what, "ok" if good else "MISSED")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
