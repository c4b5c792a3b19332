"""fsspec reads blocks of a file over HTTP: its event loop's thread fetches them, the main thread waits."""

import os
import time

from truth import phase

with phase("import"):
    import fsspec  # truth: import


def blocks(file, count):
    for k in range(count):
        file.seek(k * 65536)
        with phase("read"):
            block = file.read(65536)  # truth: read
        yield block


while not os.path.exists("port"):
    time.sleep(0.01)
url = f"http://127.0.0.1:{open('port').read()}/scan.raw"
with fsspec.open(url, block_size=65536, cache_type="none") as f:
    total = 0
    for data in blocks(f, 400):
        with phase("sum"):
            total += sum(data[::64])  # truth: sum
print(total)
