"""Functions that were sent to another process by value, as cloudpickle sends them (joblib, dask, ray): their code names no file any more,
and the first sentence names their line all the same."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, main, need_library, profile, run

SENDS = """import marshal, subprocess, sys
def named(f): return f
@named
def cell(n):
    s = 0
    for i in range(n):
        s += i & 7                                             # works
    return s
RECEIVES = "import marshal, sys; code = marshal.load(sys.stdin.buffer); exec('def f(): 0'); f.__code__ = code; print(f(16000000))"
code = cell.__code__.replace(co_filename="<dynamic-code>")
done = subprocess.run([sys.executable, "-c", RECEIVES], input=marshal.dumps(code), stdout=subprocess.PIPE, check=True)
print(int(done.stdout))
"""


def sent_to_a_child(check, folder):
    (folder / "sends.py").write_text(SENDS)
    at = next(i for i, line in enumerate(SENDS.splitlines(), 1) if "# works" in line)
    done = run(command(folder / "runs", "--", sys.executable, "sends.py"), cwd=folder)
    check.must(done.returncode == 0, done)
    made = profile(folder / "runs")
    print(f"  {made['headline']}")
    check.that(f"sends.py:{at}" in made["headline"] or f"sends.py:{at - 1} to {at}" in made["headline"], made["headline"])
    check.that("dynamic-code" not in made["headline"], made["headline"])



need_library()
main(sent_to_a_child)
