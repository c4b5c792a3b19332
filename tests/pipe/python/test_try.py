"""`tomoprof try`: programs whose truth is known, with small packages of the names that tomoprof replaces."""

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap

import module
from tool import main, tomoprof



PYTHON = sys.executable
MEDIAN = '''
import os, sys, time
import numpy

print("the original was loaded", file=sys.stderr)

def shift(input):
    return "shifted"

def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        padded = numpy.pad(input, 1, mode="edge")
        parts = [padded[z:z + input.shape[0], y:y + input.shape[1], x:x + input.shape[2]] for z in range(3) for y in range(3) for x in range(3)]
        result = numpy.median(parts, axis=0)
    return result.astype(input.dtype) + float(os.environ.get("WRONG", 0))
'''
MBIRJAX = '''
import time
import numpy

class ParallelBeamModel:
    def __init__(self, sinogram_shape, angles):
        self.shape, self.angles = sinogram_shape, angles

    def forward_project(self, recon, output_sharded=False):
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            sum(range(300000))
        return numpy.zeros(self.shape, numpy.float32)

def build_model(required_params, optional_params=None, regularization=None):
    required_params = dict(required_params)
    required_params.pop("geometry_type")
    return ParallelBeamModel(**required_params)

def recon_plastic_metal(*volumes):
    return "original"
'''
SCRIPT = """
    import numpy as np
    from scipy.ndimage import median_filter

    volume = np.random.default_rng(0).random((33, 32, 34)).astype("{dtype}")
    for _ in range(2):
        smooth = median_filter(volume, size={size})
    print(f"{{smooth.sum():.6f}}", median_filter.__name__)
"""


def packages(folder):
    """Packages that are slow, in a folder named as an installation's."""
    site = folder / "site-packages"
    for name, version, text in (("scipy", "1.17.1", ""), ("scipy/ndimage", None, MEDIAN), ("mbirjax", "0.7.3", MBIRJAX)):
        (site / name).mkdir(parents=True, exist_ok=True)
        (site / name / "__init__.py").write_text(text)
        if version:
            info = site / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}


def tried(folder, env, text, *words, name="program.py", options=(), beside=None):
    """try.json of a program, and what was printed."""
    place = folder / name.removesuffix(".py")
    place.mkdir()
    for file, content in {name: text, **(beside or {})}.items():
        (place / file).write_text(textwrap.dedent(content))
    done = tomoprof("try", *options, "--out", folder / "out", "--", PYTHON, name, *words, env=env, cwd=place)
    newest = max((folder / "out").iterdir(), default=None) if (folder / "out").is_dir() else None
    path = newest and newest / "try.json"
    return done, json.loads(path.read_text()) if path and path.is_file() else None, place, newest


def files(place):
    return {p.relative_to(place): hashlib.sha256(p.read_bytes()).hexdigest() for p in place.rglob("*") if p.is_file()}


def replaced(check, folder):
    env = packages(folder)
    done, result, place, out = tried(folder, env, SCRIPT.format(dtype="float32", size=3))
    check.that(done.returncode == 0 and result, f"ends with {done.returncode}: {done.stderr[-300:]}")
    call = result["calls"][0]
    check.that(len(result["calls"]) == 1 and call["calls"] == 2 and call["checked"] == 1, f"calls are {result['calls']}")
    check.that(call["line"] == 7 and call["file"] == str(place / "program.py") and call["name"] == "median_filter", "the line of the call")
    check.that(call["relative_l2"] == 0 and call["largest"] == 0 and call["tolerance"] == 0, f"equal to the bit: {call}")
    before, after = result["runs"]
    check.that(after["wall_s"] < before["wall_s"] - 0.6, f"{before['wall_s']} s before, {after['wall_s']} s after, of which 1.2 can be saved")
    check.that(before["output"] is None and after["output"] is None, f"the same output: {result['runs']}")
    check.that("program.py:7" in result["sentence"] and "equal to the bit" in result["sentence"], result["sentence"])
    check.that(done.stdout.startswith(result["sentence"]), "the sentence comes first")
    check.that(set(files(place)) == {(place / "program.py").relative_to(place)}, f"nothing is written beside it: {set(files(place))}")
    check.that((out / "compare.html").is_file() and (out / "before/profile.json").is_file() and (out / "after/profile.json").is_file(), "page and recordings")
    check.that(list((out / "hook/__pycache__").glob("sitecustomize*.pyc")), "the hook's bytecode is kept for the timed run, although the program keeps none")
    loaded = [name for name in ("before", "check", "after") if "the original was loaded" in (out / name / "stderr").read_text()]
    check.that(loaded == ["before", "check"], f"the original is loaded in {loaded}")
    latest = [p for p in (place / "tomoprof-runs", folder / "out/latest") if os.path.lexists(p)]
    check.that(not latest, f"no run is the latest one: {latest}")

    patch = subprocess.run(["git", "apply", result["patch"]], cwd=result["root"], capture_output=True, text=True)
    text = (place / "program.py").read_text()
    check.that(patch.returncode == 0 and "from tomoprof.instead.ndimage import median_filter\n" in text, f"the patch: {patch.stderr}{text}")
    plain = {**os.environ, **env, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + env["PYTHONPATH"]}
    edited = subprocess.run([PYTHON, "program.py"], cwd=place, env=plain, capture_output=True, text=True)
    check.that("was loaded" not in edited.stderr, "nor does the patched program load it")
    check.that(edited.stdout == (out / "before/stdout").read_text(), f"the patched program prints {edited.stdout}{edited.stderr}")


def several_files_and_functions(check, folder):
    """One patch for all sources; names in full are changed where they are called. Each package alone, and both."""
    text = """
        import numpy as np
        import scipy.ndimage  # in full
        import helper

        volume = np.random.default_rng(0).random((33, 32, 34)).astype("float32")
        a = scipy.ndimage.median_filter(volume, size=3)
        print("scipy.ndimage.median_filter", scipy.ndimage.shift(volume))  # scipy.ndimage.median_filter
        print(f"{a.sum() - helper.smooth(volume).sum():.3f}", helper.project(volume).shape)
    """
    helper = """
        import mbirjax as mj
        from scipy import __name__ as name, ndimage as nd

        def smooth(volume):
            return nd.median_filter(volume, size=3)

        def project(volume):
            return mj.ParallelBeamModel((8, 4, 16), np.linspace(0, np.pi, 8)).forward_project(volume[:16, :16, :4])

        import numpy as np
    """
    env = packages(folder)
    done, result, place, out = tried(folder, env, text, beside={"helper.py": helper})
    check.that(done.returncode == 0, f"ends with {done.returncode}: {done.stderr[-300:]}")
    check.that([run["name"] for run in result["runs"]][:2] == ["before", "after"] and
               sorted(run["name"] for run in result["runs"][2:]) == ["after-mbirjax", "after-scipy.ndimage.median_filter"], f"{result['runs']}")
    alone = {run["replaced"] for run in result["runs"][2:]}
    check.that(alone == {"mbirjax replaced alone", "scipy.ndimage.median_filter replaced alone"}, f"{alone}")
    patch = subprocess.run(["git", "apply", result["patch"]], cwd=result["root"], capture_output=True, text=True)
    lines = (place / "program.py").read_text().splitlines()
    check.that(patch.returncode == 0 and lines[2:4] == ["import scipy.ndimage  # in full", "import tomoprof.instead.ndimage"]
               and "a = tomoprof.instead.ndimage.median_filter(volume, size=3)" in lines
               and lines[8].startswith('print("scipy.ndimage.median_filter", scipy.ndimage.shift') and lines[8].endswith("# scipy.ndimage.median_filter"),
               f"{patch.stderr}{lines}")
    lines = (place / "helper.py").read_text().splitlines()
    check.that(lines[1:4] == ["import tomoprof.mbirjax as mj", "from scipy import __name__ as name", "from tomoprof.instead import ndimage as nd"], f"{lines}")
    plain = {**os.environ, **env, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + env["PYTHONPATH"]}
    edited = subprocess.run([PYTHON, "program.py"], cwd=place, env=plain, capture_output=True, text=True)
    check.that(edited.stdout == (out / "before/stdout").read_text(), f"the patched program prints {edited.stdout}{edited.stderr}")


def parents_are_loaded_late(check, folder):
    """The package that holds a replaced module runs when something else of it is used, once, and before what is in it."""
    env = packages(folder)
    (folder / "site-packages/scipy/__init__.py").write_text('import sys\nprint("scipy itself", file=sys.stderr)\nwhole = 7\n')
    (folder / "site-packages/scipy/other.py").write_text("from scipy import whole\n")
    done, result, _, out = tried(folder, env, SCRIPT.format(dtype="float32", size=3))
    loads = [(out / name / "stderr").read_text().count("scipy itself") for name in ("before", "check", "after")]
    check.that(loads == [1, 1, 0], f"the package is loaded {loads} times")
    for number, use in enumerate(("import scipy.other", "from scipy import whole", "import scipy; scipy.whole", "from scipy import other, whole")):
        done, result, _, out = tried(folder, env, SCRIPT.format(dtype="float32", size=3) + f"    {use}\n", name=f"used{number}.py")
        loads = [(out / name / "stderr").read_text().count("scipy itself") for name in ("before", "check", "after")]
        check.that(done.returncode == 0 and loads == [1, 1, 1] and result["runs"][1]["output"] is None, f"{use}: loaded {loads} times, {result['sentence']}")
    with open(folder / "site-packages/scipy/__init__.py", "a") as package:
        package.write("import scipy.other\n")
    with open(folder / "site-packages/scipy/other.py", "a") as module_:
        module_.write('import sys\nprint("the other", file=sys.stderr)\n')
    done, result, _, out = tried(folder, env, SCRIPT.format(dtype="float32", size=3) + "    import scipy.other\n", name="inner.py")
    loads = [(out / name / "stderr").read_text().count("the other") for name in ("before", "check", "after")]
    check.that(done.returncode == 0 and loads == [1, 1, 1], f"a module that its package imports is loaded {loads} times")


def original_is_loaded_late(check, folder):
    """Other names of a module, and calls without an equal, are the original's."""
    done, result, _, out = tried(folder, packages(folder), """
        import numpy as np
        import scipy.ndimage
        from scipy import ndimage

        volume = np.random.default_rng(0).random((32, 32, 32)).astype("float32")
        smooth = ndimage.median_filter(volume, size=3)
        print(f"{smooth.sum():.6f}", scipy.ndimage.shift(volume), ndimage.shift(volume))
        print(f"{scipy.ndimage.median_filter(volume.astype(float), size=3).sum():.6f}", scipy.ndimage.__name__)
    """)
    check.that(result["runs"][1]["output"] is None and "shifted shifted" in (out / "after/stdout").read_text(),
               f"{result['runs'][1]['output']} {(out / 'after/stderr').read_text()[-300:]}")
    calls = {call["line"]: call for call in result["calls"]}
    check.that(calls[7]["refused"] is None and "float64" in calls[9]["refused"], f"one of two is replaced: {result['calls']}")
    check.that((out / "after/stderr").read_text().count("was loaded") == 1, "the original is loaded once")


def results_that_differ(check, folder):
    env = packages(folder)
    done, result, _, _ = tried(folder, {**env, "WRONG": "0.5"}, SCRIPT.format(dtype="float32", size=3))
    call = result["calls"][0]
    check.that(done.returncode == 0 and abs(call["largest"] - 0.5) < 1e-6 and 0.4 < call["relative_l2"] < 1, f"differs by a half: {call}")
    check.that(re.match(r"scipy.ndimage.median_filter at program.py:7 differs by 0\.\d+ \(relative l2\), more than the 0 ", result["sentence"]) is not None
               and "single values differ by 0.5," in result["sentence"], result["sentence"])
    output = result["runs"][1]["output"]
    check.that(output and output.startswith("line 1 is `") and "program.py" not in output, f"the output differs: {output}")


def lines_of_output(check, folder):
    """Lines that are changed, missing or new are told apart, and the others stay in step."""
    env = packages(folder)
    cases = {  # (printed before, printed with tomoprof's functions): the difference
        (("a", "pad", "b", "c"), ("a", "b", "c")): "line 3 is missing: `pad`",
        (("a", "b"), ("a", "x y", "b")): "a line is new after line 2: `x y`",
        (("a", "b", "c"), ("a", "B", "c")): "line 3 is `B` in place of `b`",
        (("p", "a", "b", "c", "3 s", "d"), ("a", "b", "c", "2 s", "d", "e", "f")): "line 2 is missing: `p`; 1 line is changed, 1 is missing, 2 are new",
        (("a", "b", "1", "c"), ("2", "3", "c")): "line 2 is `2` in place of `a`; 2 lines are changed, 1 is missing",
        ((), ("a",)): "a line is new after line 1: `a`",
    }
    for number, ((before, after), says) in enumerate(cases.items()):
        text = SCRIPT.format(dtype="float32", size=3) + f"""    import sys
    for line in {after!r} if "tomoprof" in sys.modules else {before!r}:
        print(line)
"""
        done, result, _, _ = tried(folder, env, text, name=f"lines{number}.py", options=("--check", "0"))
        check.that(done.returncode == 0 and result["runs"][1]["output"] == says, f"{before} and {after}: {result and result['runs'][1]['output']} {done.stderr[-200:]}")


def not_replaced(check, folder):
    env = packages(folder)
    for number, (dtype, size, why) in enumerate((("float64", 3, "dtype is float64"), ("float32", 5, "size is 5"))):
        done, result, _, out = tried(folder, env, SCRIPT.format(dtype=dtype, size=size), name=f"refused{number}.py")
        check.that(done.returncode == 0 and result["sentence"].startswith("Nothing was replaced: scipy.ndimage.median_filter at ")
                   and why in result["sentence"], result["sentence"])
        check.that(len(result["runs"]) == 1 and result["patch"] is None, "there is nothing to run again, and no patch")
        check.that((out / "check/stdout").read_text() == (out / "before/stdout").read_text(), "the program goes on with the original")
    (folder / "site-packages/jax.py").write_text(textwrap.dedent("""
        class Device:
            platform = "gpu"

        class Array:
            def __init__(self, data):
                self.data, self.shape, self.dtype = data, data.shape, data.dtype

            def devices(self):
                return {Device()}

            def __array__(self, dtype=None, copy=None):
                return self.data
    """))
    text = SCRIPT.format(dtype="float32", size=3).replace("median_filter(volume", "median_filter(jax.Array(volume)").replace("import numpy", "import jax\n    import numpy", 1)
    done, result, _, out = tried(folder, env, text, name="gpu.py")
    check.that("an argument is an array on a GPU; tomoprof would copy it to the host" in result["sentence"] and done.returncode == 0, result["sentence"])
    done, result, _, out = tried(folder, env, """
        import json, sys
        print(json.dumps({"tomoprof": "tomoprof" in sys.modules, "path": [p for p in sys.path if "tomoprof" in p and "hook" in p]}))
    """, name="none.py")
    check.that(result["sentence"].startswith("Nothing was replaced: the program calls no function"), result["sentence"])
    check.that(json.loads((out / "check/stdout").read_text()) == {"tomoprof": False, "path": []}, "the hook loads nothing and leaves sys.path")
    (folder / "site-packages/scipy-1.17.1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: scipy\nVersion: 1.2\n")
    done, result, _, _ = tried(folder, env, SCRIPT.format(dtype="float32", size=3), name="older.py")
    check.that("scipy 1.2 is not replaced: tomoprof knows versions from 1.6 up to 2" in result["sentence"], result["sentence"])


def whole_package(check, folder):
    """MBIRJAX is not loaded where nothing needs it; its result here is wrong (zeros), which is said first."""
    env = packages(folder)
    text = """
        import sys
        import mbirjax as mj
        import numpy as np

        model = mj.ParallelBeamModel((8, 4, 16), np.linspace(0, np.pi, 8, endpoint=False))
        y = model.forward_project(np.ones((16, 16, 4), np.float32))
        print(type(model).__module__, y.shape)
    """
    done, result, place, out = tried(folder, env, text)
    call = result["calls"][0]
    check.that(call["name"] == "ParallelBeamModel.forward_project" and call["mismatch"] == "values in place of zeros", f"{call}")
    check.that("returns values in place of zeros: the results are not the same" in result["sentence"], result["sentence"])
    check.that("tomoprof" in (out / "after/stdout").read_text() and "mbirjax" in (out / "before/stdout").read_text(), "whose model it is")
    check.that(not result["notes"], f"the original was not loaded: {result['notes']}")
    check.that("+import tomoprof.mbirjax as mj\n" in open(result["patch"]).read(), "the patch")
    done, result, _, _ = tried(folder, env, text.rstrip() + "\n        print(mj.recon_plastic_metal(y))\n", name="viewer.py")
    check.that(any("mbirjax.recon_plastic_metal has no equal in tomoprof" in note for note in result["notes"]), f"{result['notes']}")
    patch = subprocess.run(["git", "apply", result["patch"]], cwd=result["root"], capture_output=True, text=True)
    plain = {**os.environ, **env, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + env["PYTHONPATH"]}
    edited = subprocess.run([PYTHON, "viewer.py"], cwd=place.parent / "viewer", env=plain, capture_output=True, text=True)
    check.that(patch.returncode == 0 and edited.returncode == 0 and edited.stdout.endswith("original\n") and "tomoprof" in edited.stdout,
               f"the patched program has the names that tomoprof lacks: {edited.stdout}{edited.stderr[-300:]}")
    failing = text.replace("np.ones((16, 16, 4), np.float32)", "np.ones((16, 16, 5), np.float32)")
    done, result, _, out = tried(folder, env, failing, name="failing.py")
    check.that("failed in tomoprof: ValueError" in result["sentence"], f"ours fails, the original computes: {result['sentence']}")
    check.that((out / "check/stdout").read_text().endswith("(8, 4, 16)\n"), "the program goes on with the original")


def failures_and_no_gain(check, folder):
    """A line whose call failed is the original's from then on, and no patch changes it. A program that is not faster is told so."""
    env = packages(folder)
    text = """
        import mbirjax as mj
        import numpy as np

        model = mj.ParallelBeamModel((8, 4, 16), np.linspace(0, np.pi, 8, endpoint=False))
        for slices in (4, 5, 4):
            y = model.forward_project(np.zeros((16, 16, slices), np.float32))
        print(y.shape, float(y.sum()))
    """
    done, result, place, out = tried(folder, env, text, name="fails.py")
    call = result["calls"][0]
    check.that(call["calls"] == 3 and call["failed"].startswith("ValueError") and call["original_s"] > 0.9, f"the last two calls are the original's: {call}")
    check.that(call["relative_l2"] == 0 and "at fails.py:7 failed in tomoprof; from then on the original computed there." in result["sentence"], result["sentence"])
    check.that("failed, so that the original was called from then on: ValueError" in done.stdout, done.stdout)
    check.that(result["patch"] is None and not result["runs"][1]["output"], f"no patch, the same output: {result['patch']}")
    (folder / "site-packages/scipy/ndimage/__init__.py").write_text(MEDIAN.replace("0.6", "0.001"))
    slower = "import sys, time\ntime.sleep(2 * ('tomoprof' in sys.modules))\n"
    done, result, _, _ = tried(folder, env, textwrap.dedent(SCRIPT.format(dtype="float32", size=3)) + slower, name="same.py")
    check.that("nothing is gained" in result["sentence"], f"a program that is not faster: {result['sentence']}")


def runs_and_errors(check, folder):
    env = packages(folder)
    place = folder / "recorded"
    place.mkdir()
    (place / "program.py").write_text(textwrap.dedent(SCRIPT.format(dtype="uint8", size=3)))
    recorded = tomoprof("record", "--out", "output", "--", PYTHON, "program.py", env=env, cwd=place)
    check.that(recorded.returncode == 0, recorded.stderr[-300:])
    headline = json.loads((place / "output/latest/profile.json").read_text())["answers"][0]["text"]
    check.that(headline.endswith("tomoprof.median_filter3d computes the same to the bit; try it: tomoprof try latest"), headline)
    done = tomoprof("try", "--json", "--check", "2", "--out", folder / "again", "output/latest", env=env, cwd=place)
    check.that(done.returncode == 0, done.stderr[-300:])
    result = json.loads(done.stdout)
    check.that(result["command"] == [PYTHON, "program.py"] and result["calls"][0]["checked"] == 2, f"the recorded command: {result['command']}")
    for words, code, says in (([], 2, "try needs"), (["--", "no-such-program"], 2, "no-such-program"), (["--check", "-1", "--", "x"], 2, "--check"),
                              (["--", PYTHON, "-c", "raise SystemExit(3)"], 1, "exit code 3 before anything was replaced"),
                              (["--", PYTHON, "-I", "-c", "pass"], 2, "reads PYTHONPATH"), (["--", "true"], 2, "reads PYTHONPATH")):
        done = tomoprof("try", "--out", folder / "errors", *words, env=env, cwd=place)
        check.that(done.returncode == code and says in done.stderr.splitlines()[-1], f"try {' '.join(words)}: {done.returncode}, {done.stderr[-200:]}")


def next_sitecustomize(check, folder):
    """The hook's module hides no other of its name."""
    other = folder / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys\nsys.other_was_loaded = True\n")
    text = "import sys\nprint(getattr(sys, 'other_was_loaded', False), 'sitecustomize' in sys.modules)\n"
    done, result, _, out = tried(folder, {"PYTHONPATH": str(other)}, text)
    check.that((out / "check/stdout").read_text() == (out / "before/stdout").read_text() == "True True\n", (out / "check/stderr").read_text()[-300:])


main(replaced, several_files_and_functions, parents_are_loaded_late, original_is_loaded_late, results_that_differ, lines_of_output, not_replaced, whole_package, failures_and_no_gain, runs_and_errors, next_sitecustomize)
