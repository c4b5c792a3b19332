"""fsspec reads blocks of a file over HTTP: its event loop's thread fetches them, the main thread waits."""

import os
import time

from truth import phase

with phase("import"):
    import fsspec  # truth: import


def blocks(file, count):
    with phase("read"):
        for k in range(count):
            file.seek(k * 65536)
            yield file.read(65536)  # truth: read


while not os.path.exists("port"):
    time.sleep(0.01)
url = f"http://127.0.0.1:{open('port').read()}/scan.raw"
with fsspec.open(url, block_size=65536, cache_type="none") as f:
    parts = list(blocks(f, 400))
with phase("sum"):
    total = sum(sum(part[::64]) for part in parts)  # truth: sum
print(total)
