"""The main thread naps for half a second at a time; three threads decompress under the lock of a class."""

import threading
import time
import zlib

from truth import phase


class Store:
    def __init__(self):
        self.lock, self.blocks = threading.RLock(), [zlib.compress(bytes([k]) * 16000000, 1) for k in range(8)]

    def block(self, k):
        with self.lock:
            return zlib.decompress(self.blocks[k % 8])  # truth: block


def reader(store, sums):
    for k in range(40):
        with phase("block"):
            b = store.block(k)  # truth: block
        with phase("hash"):
            sums.append(zlib.crc32(b))  # truth: hash


store, sums = Store(), []
threads = [threading.Thread(target=reader, args=(store, sums)) for _ in range(3)]
for t in threads:
    t.start()
while any(t.is_alive() for t in threads):
    time.sleep(0.5)
    print(len(sums))
