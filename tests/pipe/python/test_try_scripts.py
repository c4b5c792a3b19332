"""`tomoprof try` with the real packages: scripts whose slow call is known, and scripts of which nothing may be replaced. All of them in
long runs; what they gain: try_scripts.py."""

import importlib.util
import subprocess
import sys

import module

module.need("scipy", "skimage")
import try_scripts  # noqa: E402
from tool import LONG, main  # noqa: E402

SHORT = ("median_function", "iradon", "sart", "nifti", "median_5", "iradon_hann")


def wanted(table):
    names = [name for name in table if LONG or name in SHORT]
    return [name for name in names if importlib.util.find_spec(try_scripts.PACKAGES.get(name, "mbirjax" if name.startswith(("cone_", "parallel_")) else "numpy"))]


def is_offered_and_equal(check, folder):
    for name in wanted(try_scripts.OFFERED):
        place = folder / name
        place.mkdir()
        result, out, offers = try_scripts.tried(place, try_scripts.OFFERED[name], name)
        wrong = try_scripts.offered_wrong(result, offers)
        check.that(not wrong, f"{name}: {wrong}")
        if result["patch"]:
            edited = try_scripts.patched(place, result)
            done = subprocess.run([sys.executable, edited], cwd=place, capture_output=True, text=True)
            check.that(done.stdout == (out / "before/stdout").read_text(), f"{name}, patched: {done.stdout}{done.stderr[-300:]}")


def nothing_is_offered(check, folder):
    for name in wanted(try_scripts.NOTHING):
        place = folder / name
        place.mkdir()
        result, _, offers = try_scripts.tried(place, try_scripts.NOTHING[name])
        check.that(not try_scripts.nothing_wrong(result, offers), f"{name}: {try_scripts.nothing_wrong(result, offers)}")


main(is_offered_and_equal, nothing_is_offered)
