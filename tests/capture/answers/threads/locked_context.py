"""Four threads share a lock that a context manager of the program's own takes; they decompress inside."""

import contextlib
import threading
import zlib

from truth import phase

gate = threading.Lock()
packed = zlib.compress(bytes(range(256)) * 20000, 1)


@contextlib.contextmanager
def exclusive():
    gate.acquire()
    try:
        yield
    finally:
        gate.release()


def unpack():
    return [zlib.decompress(packed) for _ in range(6)]


def worker():
    for _ in range(12):
        with phase("critical"):
            with exclusive():  # truth: critical
                blocks = unpack()  # truth: critical
        with phase("alone"):
            zlib.adler32(blocks[0])  # truth: alone


threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
