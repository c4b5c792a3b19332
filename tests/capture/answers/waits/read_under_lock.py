"""Four threads decode blocks, one at a time: the lock is around the decoding."""

import threading
import zlib

from truth import phase

packed = zlib.compress(bytes(i * i % 253 for i in range(1 << 20)) * 8, 1)
lock = threading.Lock()


def worker():
    for _ in range(16):
        with phase("decode"):
            with lock:  # truth: decode
                block = zlib.decompress(packed)  # truth: decode
        with phase("check"):
            zlib.adler32(block)  # truth: check


threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
