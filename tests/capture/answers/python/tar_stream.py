"""tarfile as a stream, written with gzip and read again."""

import io
import random
import tarfile

from truth import phase

data = random.Random(1).randbytes(1 << 20) * 2
with phase("pack"):
    with tarfile.open("out.tar.gz", "w|gz") as tar:
        for k in range(16):
            entry = tarfile.TarInfo(f"slice{k}.raw")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))  # truth: pack
with phase("unpack"):
    with tarfile.open("out.tar.gz", "r|gz") as tar:
        print(sum(len(tar.extractfile(entry).read()) for entry in tar))  # truth: unpack
