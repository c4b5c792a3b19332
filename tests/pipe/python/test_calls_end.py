"""Calls of the operators in threads and processes, with progress, Ctrl-C and handlers of signals."""

import multiprocessing
import subprocess
import sys
import threading

import numpy as np
from module import raised
from small_models import cone, noise
from tool import main

import tomoprof


def project_in_child(pair):
    model, x = pair
    return model.forward_project(x).sum()


def processes_and_threads(check, folder):
    model = cone()
    x = noise(model.get_params("recon_shape"))
    expected = model.forward_project(x)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            sums = pool.map_async(project_in_child, [(model, x)] * 4).get(120)
        check.that(sums == [expected.sum()] * 4, f"{method}: {sums}")
    wrong = []

    def work():
        own = cone()
        for i in range(20):
            wrong.extend([m for m in (model, own) if (m.forward_project(x) != expected).any()])
            if i % 5 == 0:
                model.set_params(verbose=0)  # drops the plans of all threads

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check.that(not wrong, "threads disturb each other")


def progress_and_its_end(check, folder):
    model = cone()
    y = model.forward_project(noise(model.get_params("recon_shape")))
    seen = []
    volume, _ = model.recon(y, max_iterations=4, stop_threshold_change_pct=0, logfile_path=None, callback=lambda done, total: seen.append((done, total)))
    check.that(seen == [(i, 4.0) for i in (1.0, 2.0, 3.0, 4.0)], f"{seen}")
    check.that(raised(tomoprof.Cancelled, model.recon, y, logfile_path=None, callback=lambda done, total: done >= 2), "a callback that ends the call")

    def stumble(done, total):
        raise LookupError("mine")

    check.that(raised(LookupError, model.recon, y, logfile_path=None, callback=stumble) == "mine", "the callback's exception")
    check.that(np.isfinite(model.recon(y, max_iterations=1, logfile_path=None)[0]).all(), "a call after a cancelled one")


INTERRUPTED = """
import sys, time, threading, os, signal
import numpy, numpy.random, tomoprof  # an interrupt while NumPy loads its part for random numbers becomes its ImportError
n, call = int(sys.argv[1]), sys.argv[2]
model = tomoprof.ConeBeamModel((n, n, n), numpy.linspace(0, 6, n), 4 * n, 2 * n)
model.set_params(verbose=0)
shape = model.get_params("recon_shape")
y = numpy.ones((n, n, n), numpy.float32)
out = numpy.zeros((n, n, n), numpy.float32) if call == "forward_project" else numpy.zeros(shape, numpy.float32)
calls = {"forward_project": lambda: model.forward_project(numpy.ones(shape, numpy.float32), out=out), "direct_recon": lambda: model.direct_recon(y, out=out),
         "recon": lambda: model.recon(y, max_iterations=1000, stop_threshold_change_pct=0, logfile_path=None, out=out)}
sent = []
def interrupt():
    time.sleep(float(sys.argv[3]))
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=interrupt)
try:
    thread.start()
    while True:
        calls[call]()
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
before = out.copy()
time.sleep(0.1)
print("quiet" if (before == out).all() and numpy.isfinite(out).all() else "still written")
print(model.forward_project(numpy.ones(shape, numpy.float32)).shape == (n, n, n))
"""


def ctrl_c(check, folder):
    """Nothing writes to the arrays after an interrupt, and they are finite. How soon a call ends is printed and no matter of pass or fail
    beside other work."""
    for call, after in (("forward_project", 0.3), ("direct_recon", 0.3), ("recon", 0.2), ("recon", 1.5)):
        done = subprocess.run([sys.executable, "-c", INTERRUPTED, "128", call, str(after)], text=True, capture_output=True, timeout=300)
        lines = done.stdout.splitlines()
        check.that(done.returncode == 0 and lines[1:] == ["quiet", "True"] and not done.stderr, f"{call}: {done.stdout} {done.stderr}")
        print(f"  after Ctrl-C {call} goes on for {lines[0] if lines else None} s")


STORM = """
import os, random, signal, sys, threading, time
import numpy, tomoprof
from tomoprof import _library
n, _library.INTERVAL = int(sys.argv[1]), 1
model = tomoprof.ParallelBeamModel((n, n, n), numpy.linspace(0, 3, n))
x = numpy.ones(model.get_params("recon_shape"), numpy.float32)
expected = model.forward_project(x)
going, began = True, time.monotonic()
model.forward_project(x)
pause = max(2e-4, 3 * (time.monotonic() - began))
def storm():
    while going:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(random.random() * pause)
interrupted = returned = 0
thread = threading.Thread(target=storm)
def work():
    global interrupted, returned, pause
    while interrupted < 50 or returned < 50:
        if interrupted > 3 * returned + 20:
            pause *= 1.01  # beside other work a call takes longer than it did alone
        try:
            assert (model.forward_project(x) == expected).all()
            returned += 1
        except KeyboardInterrupt:
            interrupted += 1
while True:
    try:
        if not thread.ident:
            thread.start()
        work()
        break
    except KeyboardInterrupt:
        continue
signal.signal(signal.SIGINT, signal.SIG_IGN)
going = False
thread.join()
assert (model.forward_project(x) == expected).all()
print(interrupted >= 50, returned >= 50)
"""


def storm_of_signals(check, folder):
    """Interrupts at any step of a call: none hangs, and those that return are right."""
    for size in ("8", "96"):
        done = subprocess.run([sys.executable, "-c", STORM, size], text=True, capture_output=True, timeout=300)
        check.that(done.returncode == 0 and done.stdout == "True True\n" and not done.stderr, f"{done.returncode} {done.stdout} {done.stderr[-600:]}")


HANDLED = """
import signal
import numpy, tomoprof
from tomoprof import _library
_library.INTERVAL = 1
model = tomoprof.ConeBeamModel((96, 96, 96), numpy.linspace(0, 6, 96), 400, 200)
model.set_params(verbose=0)
small = tomoprof.ParallelBeamModel((8, 2, 8), numpy.linspace(0, 3, 8))
ones, large = numpy.ones(small.get_params("recon_shape")), numpy.ones(model.get_params("recon_shape"), numpy.float32)
expected, inner, median = model.forward_project(large), small.forward_project(ones), tomoprof.median_filter3d(large)
seen = []
def handler(*_):
    seen.append((small.forward_project(ones) == inner).all())
    if len(seen) % 3 == 0:
        seen.append((tomoprof.median_filter3d(large) == median).all() and (model.forward_project(large) == expected).all())
    signal.setitimer(signal.ITIMER_REAL, 0.01)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
same = []
while len(seen) < 10:
    same.append((model.forward_project(large) == expected).all())
signal.setitimer(signal.ITIMER_REAL, 0)
print(all(seen), all(same))
"""


def handlers_that_return(check, folder):
    """A handler of signals runs during a call, calls the library itself, and the call goes on."""
    done = subprocess.run([sys.executable, "-c", HANDLED], text=True, capture_output=True, timeout=120)
    check.that(done.returncode == 0 and done.stdout == "True True\n" and not done.stderr, f"{done.returncode} {done.stdout} {done.stderr[-600:]}")


CLEARED = """
import sys
import numpy, tomoprof
from tomoprof import _library, _open
model = tomoprof.ParallelBeamModel((8, 2, 8), numpy.linspace(0, 3, 8))
model.forward_project(numpy.ones(model.get_params("recon_shape")))
file = tomoprof.open(sys.argv[1])
_library.os = _library.lib = _open.os = _open.lib = None
del _library.main_pool[:], model, file
"""


def modules_that_are_cleared(check, folder):
    """What is dropped when Python has set the names of modules to None, as free-threaded Python does at its end, says nothing."""
    import numpy
    numpy.save(folder / "a.npy", numpy.zeros((2, 3, 4), numpy.float32))
    done = subprocess.run([sys.executable, "-c", CLEARED, folder / "a.npy"], text=True, capture_output=True, timeout=120)
    check.that(done.returncode == 0 and not done.stdout + done.stderr, f"{done.returncode} {done.stdout} {done.stderr[-600:]}")


if __name__ == "__main__":
    main(processes_and_threads, progress_and_its_end, ctrl_c, storm_of_signals, handlers_that_return, modules_that_are_cleared)
