"""Programs of targets/ run bare and with the capture library preloaded by hand, without the launcher."""

import os
import pathlib
import shutil

from recorded import LIBRARY, LONG, SANITIZED, compiled, loadable, main, need_library, of_samples, run  # noqa: F401
from trace_file import traces

TARGETS = pathlib.Path(__file__).parent / "targets"


def target(folder, name, *flags):
    return compiled(folder, name, (TARGETS / f"{name}.c").read_text(), "-O1", "-pthread", f"-I{TARGETS}", *flags)


def environment(folder, **more):
    e = {k: v for k, v in os.environ.items() if not k.startswith("TOMOPROF_CAPTURE")}
    e["LD_PRELOAD"] = " ".join(filter(None, [loadable(LIBRARY), e.get("LD_PRELOAD", "")]))
    e["TOMOPROF_CAPTURE_DIR"] = str(folder)
    e.update({f"TOMOPROF_CAPTURE_{k}": str(v) for k, v in more.items()})
    return e


def captured(folder, words, keep=False, **more):
    """The finished process and its traces."""
    to = folder / "trace"
    if to.exists() and not keep:
        shutil.rmtree(to)
    to.mkdir(exist_ok=True)
    done = run(words, timeout=300, env=environment(to, **more))
    return done, traces(to)


def same(check, folder, what, words, **more):
    """Runs it bare and captured: output and exit status must be the same. The traces."""
    bare = run(words, timeout=300)
    done, files = captured(folder, words, **more)
    check.must(done.returncode == bare.returncode, f"{what}: exit {done.returncode}, bare {bare.returncode}")
    check.must(done.stdout == bare.stdout, f"{what}: output {done.stdout[-500:]!r}, bare {bare.stdout[-500:]!r}")
    for f in files:
        check.must(not f.damage, f"{what}: {f.path.name}: {f.damage}")
    return files
