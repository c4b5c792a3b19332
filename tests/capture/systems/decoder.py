"""The same decoder with and without Python's lock: decoder.py PyDLL|CDLL THREADS; zlib by ctypes. The seconds by its own clock go to stdout."""

import ctypes
import random
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

raw = bytes(b & 15 for b in random.Random(0).randbytes(1 << 20))
packed = zlib.compress(raw)
library = getattr(ctypes, sys.argv[1])("libz.so.1")


def decode(_):
    out, size = ctypes.create_string_buffer(1 << 20), ctypes.c_ulong(1 << 20)
    for _ in range(25):
        library.uncompress(out, ctypes.byref(size), packed, ctypes.c_ulong(len(packed)))


start = time.perf_counter()
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    list(pool.map(decode, range(16)))
print(time.perf_counter() - start)
