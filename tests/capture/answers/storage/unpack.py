"""numcodecs: frames are decompressed with Zstandard, then averaged."""

from truth import phase

with phase("import"):
    import numpy as np  # truth: import
    from numcodecs import Zstd  # truth: import

codec = Zstd(level=1)


def unpack(packed):
    with phase("unpack"):
        return np.frombuffer(codec.decode(packed), np.uint16)  # truth: unpack


def mean(frame):
    with phase("mean"):
        return float(frame[::16].mean())  # truth: mean


with phase("pack"):
    frame = (np.random.default_rng(0).random(1 << 22) * 300).astype(np.uint16)
    packed = codec.encode(frame)  # truth: pack
print(sum(mean(unpack(packed)) for _ in range(250)))
