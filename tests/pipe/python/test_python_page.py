"""Each block of Python in docs/python.md runs, in its order, where its imports are installed; so do README's and the page on Dask."""

import json
import re
import sys
import warnings

import module
import numpy  # noqa: F401
from tool import main, newest, tomoprof

FOUND = re.findall(r"```python\n(.*?)```", (module.ROOT / "docs/python.md").read_text(), re.S)


def blocks(check, folder):
    names, ran = {}, 0
    for text in FOUND:
        packages = re.findall(r"^(?:import|from) (.*?)(?: import.*)?$", text, re.M)
        wanted = {word.strip().split(".")[1 if word.strip().startswith("tomoprof.") else 0] for line in packages for word in line.split(",")}
        missing = []
        for name in wanted - {"tomoprof"}:
            try:
                __import__(name)
            except ImportError:
                missing.append(name)
        if missing:
            print(f"  not run, {', '.join(missing)} is not installed: {text.strip().splitlines()[0]}")
            continue
        text = text.replace('"tests/data/', f'"{module.ROOT}/tests/data/')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "docs/python.md", "exec"), names)
        ran += 1
    check.that(ran >= 4 and len(FOUND) >= 9, f"{ran} of {len(FOUND)} blocks ran")
    if "tooth" in names:
        readme_lines(check, names["tooth"])


def readme_lines(check, tooth):
    """README's block gives the same tooth as the page."""
    text, names = re.search(r"```python\n(.*?)```", (module.ROOT / "README.md").read_text(), re.S)[1], {}
    exec(compile(text.replace('"tests/data/', f'"{module.ROOT}/tests/data/'), "README.md", "exec"), names)
    check.that((names["tooth"] == tooth).all() and tooth.max() > 10 * abs(tooth.mean()), "the tooth of README.md differs from that of docs/python.md")


def slabs_on_a_cluster(check, folder):
    """docs/howto/dask.md: the volume is the one of a single process, and one recording has the workers."""
    try:
        import dask.distributed  # noqa: F401
    except ImportError:
        print("  not run, dask.distributed is not installed")
        return
    text = re.search(r"```python\n(.*?)```", (module.ROOT / "docs/howto/dask.md").read_text(), re.S)[1]
    (folder / "slabs.py").write_text(text)
    done = tomoprof("record", "--out", folder / "runs", "--", sys.executable, "slabs.py", cwd=folder, env={"TOMOPROF_LIBRARY": str(module.LIBRARY)})
    check.must(done.returncode == 0 and done.stdout == "(256, 256, 64) 0.0\n", f"{done}")
    profile = json.loads((newest(folder / "runs") / "profile.json").read_text())
    workers = [p for p in profile["processes"] if p["python"] and p["parent"] == profile["processes"][0]["pid"]]
    check.that(len(workers) >= 2, f"{profile['processes']}")


main(blocks, slabs_on_a_cluster)
