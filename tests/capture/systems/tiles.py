"""Tiles of a mosaic of 100 by aicspylibczi: tiles.py FILE.czi threads|processes N, or FILE.czi make (pylibCZIrw); seconds by its own clock to stdout."""

import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

path, how = sys.argv[1:3]


def make():
    import numpy as np
    from pylibCZIrw import czi

    draw = np.random.default_rng(0)
    with czi.create_czi(path, compression_options="zstd1:ExplicitLevel=2") as out:
        for i in range(10):
            for j in range(10):
                tile = draw.normal(1000, 60, (1024, 1024)).astype(np.uint16)[..., None]
                out.write(tile, location=(j * 1000, i * 1000), plane={"C": 0, "T": 0, "Z": 0})


def read(box):
    from aicspylibczi import CziFile

    return CziFile(path).read_mosaic(box, C=0)


def main():
    from aicspylibczi import CziFile

    boxes = [(b.x, b.y, b.w, b.h) for b in CziFile(path).get_all_mosaic_tile_bounding_boxes(C=0).values()]
    start = time.perf_counter()
    with (ThreadPoolExecutor if how == "threads" else ProcessPoolExecutor)(int(sys.argv[3])) as pool:
        tiles = list(pool.map(read, boxes))
    print(time.perf_counter() - start)
    return 0 if len(tiles) == 100 else 1


if __name__ == "__main__":
    sys.exit(make() if how == "make" else main())
