"""Progress of calls: as an iterator, on bars of tqdm, in a kernel of Jupyter; a slice as a picture in its notebook."""

import io
import os
import re
import struct
import subprocess
import sys
import threading
import zlib

import module
import numpy as np
from module import raised
from tool import main

import tomoprof

PAGE = (module.ROOT / "docs/howto/jupyter.md").read_text()


def scan(n=8):
    model = tomoprof.ParallelBeamModel((n, n, n), np.linspace(0, 3, n))
    model.set_params(verbose=0)
    return model, model.forward_project(np.random.default_rng(1).random(model.get_params("recon_shape"), "float32"))


def steps(check, folder):
    model, y = scan()
    np.random.seed(5)
    expected = model.recon(y, max_iterations=4, stop_threshold_change_pct=0)[0]
    np.random.seed(5)
    run = tomoprof.progress(model.recon, y, max_iterations=4, stop_threshold_change_pct=0)
    check.that("has not begun" in str(raised(RuntimeError, lambda: run.result)), "the result before the call")
    seen = list(run)
    check.that(seen == [(i, 4.0) for i in (1.0, 2.0, 3.0, 4.0)], f"{seen}")
    check.that(np.array_equal(run.result[0], expected), "the result is that of the call")
    check.that("begun already" in str(raised(RuntimeError, lambda: list(run))), "a second loop")
    seen = list(tomoprof.progress(model.back_project, y))
    check.that(seen and seen[-1] == (1.0, 1.0), f"a projection: {seen}")
    # The loop gets what the call raises, and leaving it ends the call.
    check.that("shape is" in str(raised(ValueError, lambda: list(tomoprof.progress(model.recon, y[1:])))), "a wrong sinogram")
    check.that(raised(TypeError, tomoprof.progress, 3) and raised(TypeError, tomoprof.progress, model.recon, y, callback=print), "what is not a call")
    for call in (model.recon, lambda y, callback: model.recon(y, max_iterations=100000, compute_prior_loss=True, stop_threshold_change_pct=0, callback=callback)):
        run = tomoprof.progress(call, y, **({"max_iterations": 100000, "stop_threshold_change_pct": 0} if call == model.recon else {}))
        for done, _ in run:
            if done >= 3:
                break
        check.that("cancelled" in str(raised(tomoprof.Cancelled, lambda: run.result)), "the result of a call that was ended")
    check.that(not [thread for thread in threading.enumerate() if thread is not threading.main_thread()], f"{threading.enumerate()}")
    check.that(np.isfinite(model.recon(y, max_iterations=1)[0]).all(), "a call after all")
    several = [tomoprof.progress(model.recon, y, max_iterations=3, stop_threshold_change_pct=0) for _ in range(4)]
    check.that([len(list(zip(*several))), [np.isfinite(run.result[0]).all() for run in several]] == [3, [True] * 4], "four calls at once")


INTERRUPTED = """
import numpy, os, signal, sys, threading, tomoprof
model = tomoprof.ConeBeamModel((96, 96, 96), numpy.linspace(0, 6, 96), 400, 200)
model.set_params(verbose=0)
y = numpy.ones((96, 96, 96), numpy.float32)
steps = tomoprof.progress(model.recon, y, max_iterations=100000, stop_threshold_change_pct=0)
count = 0
try:
    for step in steps:
        count += 1
        if count == 2: os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted", count, threading.active_count())
try: steps.result
except tomoprof.Cancelled: print("cancelled")
"""


def interrupted(check, folder):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], text=True, capture_output=True, timeout=300)
    check.that(re.fullmatch(r"interrupted \d+ 1\ncancelled\n", done.stdout) and not done.stderr, f"Ctrl-C: {done}")


class Made:
    """What is used of a bar of tqdm."""

    def __init__(self):
        self.n, self.total, self.seen = 0, None, []

    def update(self, more):
        self.n += more
        self.seen.append((self.n, self.total))


def bars(check, folder):
    model, y = scan()
    bar = Made()
    model.recon(y, max_iterations=3, stop_threshold_change_pct=0, callback=bar)
    check.that(bar.seen == [(1, 3), (2, 3), (3, 3)], f"iterations: {bar.seen}")
    model.recon(y, max_iterations=2, stop_threshold_change_pct=0, compute_prior_loss=True, callback=bar)
    check.that(bar.seen[3:] == [(1, 2), (2, 2)], f"the same bar again: {bar.seen}")
    bar = Made()
    model.direct_recon(y, callback=bar)
    check.that(bar.seen[-1] == (100, 100) and all(isinstance(n, int) for n, _ in bar.seen), f"percent: {bar.seen}")
    check.that("expected a function" in str(raised(TypeError, lambda: model.back_project(y, callback=3))), "a number as callback")
    try:
        from tqdm import tqdm
    except ImportError:
        print("  tqdm is not installed")
        return
    text = io.StringIO()
    model.set_params(verbose=1)
    with tqdm(desc="mine", file=text, mininterval=0) as bar:
        model.recon(y, max_iterations=3, stop_threshold_change_pct=0, callback=bar)
    check.that("mine: 100%" in text.getvalue() and "3/3" in text.getvalue(), f"tqdm: {text.getvalue()!r}")


def png(data):
    """(columns, rows, gray levels) of a PNG file."""
    check = data[:8] == b"\x89PNG\r\n\x1a\n"
    columns, rows, depth, colour = struct.unpack(">IIBB", data[16:26])
    begin = data.index(b"IDAT") + 4
    length = struct.unpack(">I", data[begin - 8:begin - 4])[0]
    lines = np.frombuffer(zlib.decompress(data[begin:begin + length]), np.uint8).reshape(rows, columns + 1)
    return lines[:, 1:] if check and (depth, colour) == (8, 0) and not lines[:, 0].any() else None


def pictures(check, folder):
    volume = np.arange(4 * 5 * 6, dtype="float32").reshape(4, 5, 6)
    shown = png(tomoprof.picture(volume, index=2).png())
    check.that(shown.shape == (4, 5) and shown[0, 0] == 0 and shown[-1, -1] == 255, f"{shown}")
    plane = volume[:, :, 2]
    check.that((shown == np.rint(255 * (plane - plane.min()) / np.ptp(plane))).all(), f"{shown}")
    check.that(png(tomoprof.picture(volume, axis=0).png()).shape == (5, 6), "another axis")
    for shape, size in (((4, 5), (320, 256)), ((100, 50), (200, 400)), ((400, 2), (2, 400)), ((320, 320), (320, 320)), ((0, 3), (321, 0))):
        data, shown = tomoprof._picture.Picture(np.zeros(shape, np.uint8), "")._repr_png_()
        check.that((shown["width"], shown["height"]) == size and data[:4] == b"\x89PNG", f"{shape} is shown as {shown}")


KERNEL = """
import nbformat, sys
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in sys.argv[1:]])
NotebookClient(notebook, timeout=250, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.outputs:
        print(cell.execution_count, output.output_type, *sorted(output.get("data", {})), repr(output.get("text", ""))[:300])
        if "image/png" in output.get("data", {}): print("picture", output["data"]["image/png"][:11], output["metadata"]["image/png"])
"""


def page(check, folder):
    """The cell of docs/howto/jupyter.md, executed: its last line is a picture. In a kernel, that is what the notebook shows, beside a bar."""
    cell = re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    names = {}
    *lines, last = cell.strip().split("\n")
    exec("\n".join(lines), names)
    check.that(png(eval(last, names).png()).shape == (64, 64), "the page's picture")
    try:
        import ipykernel, nbclient, nbformat  # noqa: E401, F401
    except ImportError:
        print("  nbclient, nbformat or ipykernel is not installed")
        return
    kernel = folder / "kernels/python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(f'{{"argv": ["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"], "display_name": "p", "language": "python"}}')
    done = subprocess.run([sys.executable, "-c", KERNEL, cell], text=True, capture_output=True, timeout=300, env={**os.environ, "JUPYTER_PATH": str(folder)})
    check.that(done.returncode == 0 and "picture iVBORw0KGgo {'width': 320, 'height': 320}" in done.stdout, f"{done}")
    try:
        import ipywidgets, tqdm  # noqa: E401, F401
    except ImportError:
        print("  tqdm or ipywidgets is not installed")
        return
    check.that("application/vnd.jupyter.widget-view+json" in done.stdout, f"no bar of the reconstruction: {done.stdout}")


main(steps, interrupted, bars, pictures, page)
