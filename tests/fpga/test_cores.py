"""The Verilog cores in Verilator against integer models and float64, with gaps in the stream and a reset in the middle."""

import math
import pathlib
import sys
import tempfile

import numpy as np

import tools

CHANNELS, X, Y, Z, WIDTH = 24, 11, 9, 7, 12
SCALE = 1 << 18
VERILATOR = "5.006"  # Debian 12's; others warn of other things, which then is no failure


def build(core, folder, flags, parameters):
    own = f"Verilator {VERILATOR}" in tools.call(["verilator", "--version"])
    words = ["verilator", "--cc", "--exe", "--build", "-O3", "-Wall", "-Wno-DECLFILENAME", *([] if own else ["-Wno-fatal"]), "--top-module", core, "--Mdir", folder / core,
             "-CFLAGS", f"-DCORE=V{core} -DCORE_HEADER='\"V{core}.h\"' {flags}"]
    words += [f"-G{name}={value}" for name, value in parameters.items()]
    tools.call(words + tools.sources(core) + [pathlib.Path(__file__).with_name("drive.cpp")])
    return folder / core / f"V{core}"


def run(program, folder, lines):
    (folder / "in").write_text("\n".join(lines) + "\n")
    tools.call([program, folder / "in", folder / "out"])
    return (folder / "out").read_text().split("\n")[:-1]


def volumes(random):
    yield "random", random.integers(0, 1 << WIDTH, (Z, Y, X))
    yield "two values", random.integers(0, 2, (Z, Y, X)) * ((1 << WIDTH) - 1)
    yield "constant", np.full((Z, Y, X), 1234)
    yield "ramp", (np.arange(X) * 3 + np.arange(Y)[:, None] * 50 + np.arange(Z)[:, None, None] * 500) % (1 << WIDTH)


def medians(volume):
    windows = np.lib.stride_tricks.sliding_window_view(volume, (3, 3, 3))
    return np.sort(windows.reshape(*windows.shape[:3], 27))[..., 13].ravel().tolist()


def check_median(folder, random):
    program = build("median", folder, "", {"W": WIDTH, "X": X + 2, "Y": Y + 2})
    for name, volume in volumes(random):
        padded = np.pad(volume, 1, mode="edge")
        lines = ["R", *map(str, padded.ravel()[:400]), "R"]  # a volume cut short leaves nothing behind
        for value in padded.ravel():
            lines += ["B"] * int(random.integers(0, 3) == 0) + [str(value)]
        want = medians(padded)
        got = list(map(int, run(program, folder, lines)))[-len(want):]
        differ = [i for i, (a, b) in enumerate(zip(got, want)) if a != b]
        assert got == want, f"median of {name}: {len(got)} voxels of {len(want)}, wrong ones {differ[:5]}"
        print(f"median {name}: {len(got)} voxels equal")


def model(count, dark, white):
    """flat_log.v in integers."""
    signal = abs(count - dark)
    if signal == 0:
        return None
    exponent = signal.bit_length() - 1
    mantissa = (signal << (15 - exponent)) & 0x7fff
    logs = [round(math.log1p(i / 256) * SCALE) for i in (mantissa >> 7, (mantissa >> 7) + 1)]
    return white - round(exponent * math.log(2) * SCALE) - logs[0] - ((logs[1] - logs[0]) * (mantissa & 127) >> 7)


def check_flat_log(folder, random):
    program = build("flat_log", folder, "-DHAS_LOAD", {"CHANNELS": CHANNELS})
    dark = random.integers(90, 130, CHANNELS)
    flat = random.integers(40000, 65000, CHANNELS)
    white = [round(math.log(f - d) * SCALE) for f, d in zip(flat, dark)]
    counts = np.concatenate([random.integers(0, 65536, (400, CHANNELS)), [dark], [dark + 1], [np.full(CHANNELS, 65535)], [flat]])
    lines = [f"L {c} {dark[c]} {white[c]}" for c in range(CHANNELS)] + ["R"]
    for value in counts.ravel():
        lines += ["B"] * int(random.integers(0, 4) == 0) + [str(value)]
    got = run(program, folder, lines)
    want = [model(int(i), int(dark[c % CHANNELS]), white[c % CHANNELS]) for c, i in enumerate(counts.ravel())]
    assert len(got) == len(want), f"flat_log: {len(got)} samples of {len(want)}"
    worst = 0
    for at, (a, b) in enumerate(zip(got, want)):
        c = at % CHANNELS
        assert a.startswith("bad ") == (b is None), f"flat_log: sample {at}: {a}, the model says {b}"
        if b is None:
            continue
        assert int(a) == b, f"flat_log: sample {at} is {a}, the model says {b}"
        exact = math.log(flat[c] - dark[c]) - math.log(abs(int(counts.ravel()[at]) - dark[c]))
        worst = max(worst, abs(b / SCALE - exact))
    # Chord under the logarithm: (1/256)^2/8 = 1.9e-6; roundings of table, octave, white and rise: 2.5 steps of 2^-18.
    limit = 1.9e-6 + 2.5 / SCALE
    assert worst <= limit, f"flat_log: off by {worst:.2e} from float64, the limit is {limit:.2e}"
    print(f"flat_log: {len(want)} samples equal to the model, off by {worst:.2e} at most from float64 (limit {limit:.2e})")


def check_generated(folder):
    tools.call([sys.executable, tools.CORES / "generate.py", folder])
    for name in ("median_networks.v", "flat_log_table.v"):
        assert (folder / name).read_text() == (tools.CORES / name).read_text(), f"fpga/{name} is not what generate.py writes"


def main():
    tools.need("verilator", "g++", "make")
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as name:
        folder = pathlib.Path(name)
        check_generated(folder)
        check_flat_log(folder, random)
        check_median(folder, random)


if __name__ == "__main__":
    main()
