#!/usr/bin/env python3
"""Predicted ceilings of the projections in 10^9 updates (voxel x view) per second, from counted instructions and bytes
(docs/internals/cuda.md has the formulas and says what each number assumes): tests/gpu/ceilings.py prints them as JSON, to be
set beside what check.sh measures."""

import json

# Multiprocessors, boost GHz, GB/s of L2 and of memory. L2 rates are recalled from published measurements of the same
# chips or their siblings, that of the RTX 5080 is a guess: no specification states them.
CARDS = {"H200": ("sm_90", 132, 1.98, 5600, 4800), "RTX 4090": ("sm_89", 128, 2.52, 5000, 1008),
         "RTX 5080": ("sm_120", 84, 2.62, 3500, 960)}

# Lanes per clock and multiprocessor. fma: float32 multiply-add, integer multiply; alu: other integer, compare, min, max;
# special: reciprocal root, conversion; memory: loads and stores, global and shared, 128 bytes a clock.
LANES = {"issue": 128, "fma": 128, "alu": 64, "special": 16, "memory": 32}

# Instructions per turn of the inner loop (8 updates a lane), as cuda/sass.py --walk counts them. Whole images of parallel beams:
# a view of a tile (32 updates a lane) takes 178 instructions where 4 of 7 steps are one channel, a warp's share of 13 channels 14 and
# of 64 weights 16; 16 bytes a lane are four of memory. Cones: the mean of pixels whose slices have at most one row (forward: rows one slice) and
# of those that have more, within the detector and the volume.
TILE = (52, 27, 7, 0, 12)
CONE = {"sm_90": (254.5, 97, 59, 8, 62), "sm_89": (249.5, 95.5, 56, 8, 62), "sm_120": (251, 96.5, 55, 9, 62)}
COUNTS = {
    "parallel_back_project": {"sm_90": TILE, "sm_89": TILE, "sm_120": TILE},
    "parallel_back_subset": {"sm_90": (41, 16.5, 5, 0, 18), "sm_89": (41.5, 17, 4.5, 0, 18), "sm_120": (39.5, 17, 2, 0, 18)},
    "parallel_forward_project": {"sm_90": (41, 17, 7, 0, 12), "sm_89": (41, 16, 8, 0, 12), "sm_120": (41, 17, 7, 0, 12)},
    "cone_back_project": CONE, "cone_back_subset": CONE,
    "cone_voxel_back_project": {"sm_90": (142, 79, 24, 2, 35), "sm_89": (142, 82, 22, 2, 35), "sm_120": (136, 68, 28, 2, 35)},
    "cone_forward_project": {"sm_90": (236.5, 95, 56, 12, 44), "sm_89": (228.5, 94.5, 53, 12, 44),
                             "sm_120": (225, 95.5, 48, 12, 44)}}
UPDATES = 8
# Bytes per update from L2 (warps of a block share what they read) and, at N = 1024, from memory: a number, or for back
# projection the blocks of 4 warps that share a multiprocessor.
BYTES = {"parallel_back_project": (0.81, 64), "parallel_back_subset": (3.9, 8), "parallel_forward_project": (1.2, None), "cone_back_project": (3.2, 6), "cone_back_subset": (5.5, 6),
         "cone_voxel_back_project": (1.5, 8), "cone_forward_project": (1.4, None)}


# Whose blocks go through the image in strips, so that the pixels on the card lie in a square.
SQUARES = {"cone_back_project", "cone_voxel_back_project"}


def memory_bytes(operation, multiprocessors, n=1024):
    """Back: each set of resident pixels (4 a block) reads the channels under it anew; forward: a pixel stays for 20 views."""
    blocks = BYTES[operation][1]
    pixels = multiprocessors * blocks * 4 if blocks else 0
    if operation in SQUARES:
        return 4 * 1.27 * pixels ** 0.5 / pixels
    return 4 * n * 0.637 / pixels if pixels else 0.2


def ceilings(card):
    """{operation: {"limits": {...}, "ceiling": G/s, "bound": name}}"""
    arch, multiprocessors, clock, l2, memory = CARDS[card]
    found = {}
    for operation, counts in COUNTS.items():
        limits = {name: multiprocessors * clock * lanes * UPDATES / count
                  for (name, lanes), count in zip(LANES.items(), counts[arch]) if count}
        limits["l2"] = l2 / BYTES[operation][0]
        limits["dram"] = memory / memory_bytes(operation, multiprocessors)
        bound = min(limits, key=limits.get)
        found[operation] = {"limits": {name: round(value) for name, value in limits.items()},
                            "ceiling": round(limits[bound]), "bound": bound}
    return found


def main():
    print(json.dumps({card: ceilings(card) for card in CARDS}, indent=1))


if __name__ == "__main__":
    main()
