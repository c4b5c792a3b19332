"""What must be equal: same.py bits|slabs|reference PROGRAM CELL FOLDER. One line per comparison; exit 1 when one differs.
bits: two processes, and VCD without graphs, byte by byte. slabs: --device-memory against one piece. reference: what the
timing of this cell left in FOLDER against the CPU back end."""

import filecmp
import os
import pathlib
import sys

import cells

SINGLE, ITERATED, SLABS = 1e-5, 1e-4, 1e-6  # relative l2; docs/internals/numerics.md, docs/internals/cuda.md
GROUPS = 0.1  # MBIR in groups of slices after few iterations: another way to the same minimum (tests/device/test_mbir_groups.c)
# Shares of the device memory that one piece took: the first that the thinnest slab fits; MBIR's includes lists that it
# can do without.
SHARES, REFUSED = (0.6, 0.8, 0.95), 0.25
STREAMED = 1e-5  # MBIR of cones with the error sinogram in host memory: the whole's steps, sums rounded by blocks of views
TOO_LARGE = {"parallel": ["mbir_recon of one slice at a time needs"],
             "cone": ["every subset of cone beams", "mbir_recon of one view at a time needs"]}


def bits(program, operation, folder):
    """Equal files from two processes."""
    outs = [folder / f"bits_{i}.npy" for i in (0, 1)]
    other = {"TOMOPROF_CUDA_GRAPHS": "0"} if "mbir" in operation else {}
    for out, variables in zip(outs, ({}, other)):
        cells.call(cells.words(program, operation, folder, "cuda", "--out", out), {**os.environ, **variables})
    same = filecmp.cmp(*outs, shallow=False)
    return same, ("equal bits" if same else "the bits differ") + (", the second without graphs" if other else "")


def in_slabs(program, operation, folder, parts, peak):
    """(bytes allowed, bytes taken)"""
    for share in SHARES:
        limit = int(share * peak)
        try:
            words = cells.words(program, operation, folder, "cuda", "--out", parts, "--device-memory", limit)
            return limit, cells.call(words)["peak_device_bytes"]
        except cells.Failed as failed:
            if share == SHARES[-1] or "thinnest slab" not in str(failed):
                raise


def mbir_in_parts(words, operation, whole, parts):
    try:
        cells.call(words)
    except cells.Failed as refused:
        said = TOO_LARGE[cells.beam_of(operation)]
        return any(text in str(refused) for text in said), str(refused)
    error = cells.distance(parts, whole)
    return error <= (GROUPS if cells.beam_of(operation) == "parallel" else STREAMED), f"off by {error:.2g}"


def slabs(program, operation, folder):
    """Less memory gives the same. MBIR of cones takes the same steps, or is refused with its numbers; parallel beams go another way to the
    same minimum."""
    whole, parts = folder / "whole.npy", folder / "parts.npy"
    peak = cells.call(cells.words(program, operation, folder, "cuda", "--out", whole))["peak_device_bytes"]
    if "mbir" in operation:
        words = cells.words(program, operation, folder, "cuda", "--out", parts, "--device-memory", int(REFUSED * peak))
        return mbir_in_parts(words, operation, whole, parts)
    limit, took = in_slabs(program, operation, folder, parts, peak)
    equal, error = filecmp.cmp(whole, parts, shallow=False), cells.distance(parts, whole)
    fits = equal if cells.beam_of(operation) == "parallel" else error <= SLABS
    return fits and took <= limit < peak, f"{took} of {peak} bytes: " + ("equal bits" if equal else f"off by {error:.2g}")


def reference(program, operation, folder):
    """The CPU's result of the same arrays."""
    found, expected = folder / f"{operation}.npy", folder / "cpu.npy"
    if not found.exists():
        return False, "the timing left no result"
    cells.call(cells.words(program, operation, folder, "cpu", "--out", expected))
    error = cells.distance(found, expected)
    return error <= (ITERATED if "mbir" in operation else SINGLE), f"off by {error:.2g} from the CPU"


def main():
    what, program, cell, folder = sys.argv[1:]
    compare = {"bits": bits, "slabs": slabs, "reference": reference}[what]
    folder, wrong = cells.make(pathlib.Path(folder), tuple(int(n) for n in cell.split("x"))), []
    for operation in cells.OPERATIONS:
        try:
            ok, text = compare(program, operation, folder)
        except cells.Failed as failed:
            ok, text = False, str(failed)
        print(f"{'ok' if ok else 'WRONG':6} {operation:28} {text}", flush=True)
        wrong += [] if ok else [f"{operation}: {text}"]
    if wrong:
        print(f"{len(wrong)} of {len(cells.OPERATIONS)} differ, first {wrong[0]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
