"""Each block of Python in docs/python.md runs, in its order, where its imports are installed."""

import re
import warnings

import module
import numpy  # noqa: F401
from tool import main

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


main(blocks)
