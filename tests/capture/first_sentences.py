"""The first sentence of a recording beside the program's own clocks, for the programs of answers/:

    TOMOPROF=build/tomoprof python3 tests/capture/first_sentences.py --venv FOLDER [NAME...]

FOLDER is a virtual environment with what the programs need; it is made and filled where it is not there. A program whose tools are
absent is skipped with the reason. The clocks tell how long each marked phase took in the recorded run itself; the sentence is right
where it names a line of the longest phase, or of one that lasted nine tenths as long. `--before OTHER` records with another tomoprof
as well, `--docs FILE` puts the table between that file's marks."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS, NATIVE, SCRIPTS = HERE / "answers", HERE / "truth" / "native", HERE / "truth" / "scripts"
CLOSE = 0.9


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--venv", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="run in this folder and leave it")
    return parser.parse_args()


class Answer:
    """A program, the clock that weighs its phases (wall where they follow each other, thread where threads are idle between them), what
    runs beside it unrecorded, and the phases that may lead (None: all)."""

    def __init__(self, program, clock="wall", beside=None, lead=None):
        self.program, self.clock, self.beside, self.lead = program, clock, beside, lead


def catalogue(python):
    from programs import Program
    from truth_programs import built

    def script(name, file, *, words=(), modules=(), pip=(), commands=(), needs=(), **options):
        made = Program(name, "", [python, *words, file], needs=needs, modules=modules, pip=pip, sources=[ANSWERS / file],
                       prepare=built(["cp", ANSWERS / file, "."], *commands))
        return Answer(made, **options)

    def native(name, file, compiler, *words, clock="thread", **options):
        """Its own clocks are an object without lines."""
        clocks = ["cc", "-O2", "-g0", "-c", NATIVE / "truth.c", "-o", "truth.o"]
        make = built(["cp", ANSWERS / file, "."], clocks, [compiler, file, *words, "-o", "a.out"])
        return Answer(Program(name, "", ["{a.out}"], needs=(compiler, "cc"), prepare=make, sources=[ANSWERS / file]), clock=clock, **options)

    c = ["-O2", f"-I{NATIVE}", "truth.o", "-pthread"]
    cython = ["sh", "-c", f"cp {ANSWERS}/fast.pyx . && {python} -m cython fast.pyx && cc -O2 -g -shared -fPIC fast.c -o fast.so "
              f"-I$({python} -c \"print(__import__('sysconfig').get_path('include'))\")"]
    return [
        script("RTK, FDK script", "rtkfdk.py", modules=["itk"], pip=["itk-rtk"]),
        script("scikit-image, `iradon`", "skradon.py", modules=["skimage"], pip=["scikit-image"]),
        script("script that sleeps, then works", "sleeps.py"),
        script("two workers that sleep", "two_sleep.py"),
        script("imports and work", "imports.py", modules=["numba", "skimage"], pip=["numba", "scikit-image"]),
        script("Flask server, a client beside it", "flask_app.py", modules=["flask"], pip=["flask"], clock="thread", beside="flask_client.py"),
        script("Cython module", "cython_run.py", commands=[cython], clock="thread", needs=["cc"], modules=["Cython"], pip=["cython"]),
        script("pytest", "test_slow.py", words=["-m", "pytest", "-q", "-p", "no:cacheprovider"], clock="thread", modules=["pytest"], pip=["pytest"]),
        native("C without -g", "plain.c", "cc", "-g0", *c, "-lm"),
        native("Rust with -g", "words.rs", "rustc", "-O", "-g", "-C", "link-arg=truth.o"),
        script("joblib, two processes", "joblib_cells.py", modules=["joblib"], pip=["joblib"], clock="thread"),
        script("dask graph on threads", "dask_graph.py", modules=["dask", "numpy"], pip=["dask", "numpy"], clock="thread"),
        script("shared memory, one waits", "shared_blocks.py", lead=["make"]),
        native("pthread barrier, one is slow", "barrier.c", "cc", "-g", *c, clock="wall", lead=["work", "barrier"]),
        native("OpenMP tasks", "omp_tasks.c", "cc", "-g", *c, "-fopenmp"),
        native("C++, 16 threads, one queue", "pool.cpp", "g++", "-g", *c),
        script("sqlite3 WAL, readers and a writer", "wal.py"),
        script("tarfile as a stream", "tar_stream.py"),
        script("hashlib of a large file", "big_hash.py"),
        script("requests, slow server", "slow_get.py", modules=["requests"], pip=["requests"], beside="slow_server.py"),
        script("numba, first call", "numba_first.py", modules=["numba"], pip=["numba"]),
        script("numexpr and NumPy", "numexpr_eval.py", modules=["numexpr"], pip=["numexpr"]),
    ]


def clocks(folder, clock):
    """Phase -> seconds, over all processes and threads."""
    sums = {}
    for path in folder.iterdir():
        for name, phase in json.loads(path.read_text())["phases"].items():
            sums[name] = sums.get(name, 0) + phase[clock + "_s"]
    return sums


def places(sources):
    """Phase -> {(file, line)}, by the marks in the sources."""
    found = {}
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for names in re.findall(r"(?:#|//) truth: ([a-z]+)", line):
                found.setdefault(names, set()).add((path.name, number))
    return found


def names_phase(sentence, phase, lines):
    """Whether the sentence names a line of the phase, the imports, or the function of that name."""
    named = {(file, int(line)) for file, line in re.findall(r"([\w.]+):(\d+)", sentence)}
    return bool(named & lines) or sentence.startswith((f"{phase} (", f"{phase}.")) or (phase == "import" and sentence.startswith("Start-up"))


def is_right(answer, sums, sentence):
    at = places(answer.program.sources)
    most = max(sums.values())
    lead = answer.lead or [name for name, seconds in sums.items() if seconds >= CLOSE * most]
    return any(names_phase(sentence, name, at.get(name, set())) for name in lead)


def recorded(answer, folder, tomoprof):
    """Clocks and headline's first sentence of one recording, without the line's source; a text where it failed."""
    from programs import absolute, ready

    program = answer.program
    folder.mkdir(parents=True)
    place, truth = ready(program, folder / "x"), folder / "truth"
    truth.mkdir()
    words = [w.strip("{}") for w in program.words]
    env = {**os.environ, **program.env, "TRUTH": str(truth), "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": os.pathsep.join([*filter(None, [program.env.get("PYTHONPATH")]), str(SCRIPTS)])}
    beside = answer.beside and subprocess.Popen([program.words[0], ANSWERS / answer.beside], cwd=place, env={**env, "TRUTH": ""})
    try:
        done = subprocess.run([tomoprof, "record", "--out", folder / "runs", "--", *absolute(program, place, words)], cwd=place, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800)
    finally:
        if beside:
            beside.kill()
            beside.wait()
    if done.returncode:
        return None, f"ended with {done.returncode}: {done.stderr[-300:]}"
    profile = json.loads(max((folder / "runs").glob("*Z/profile.json")).read_text())  # an older one's `latest` is a text
    headline = profile.get("headline") or re.sub(r"^tomoprof: .*?: ", "", done.stderr.splitlines()[-1])  # once the terminal alone had it
    first = re.split(r"(?<=\.) (?=[A-Z])", headline)[0]
    return clocks(truth, answer.clock), re.sub(r"(:\d+) `[^`]*`", r"\1", first)


def told(answer, sums):
    """The truth in words: the three longest phases, with their lines."""
    at, unit = places(answer.program.sources), {"wall": "s", "thread": "s of CPU time"}[answer.clock]

    def where(name):
        lines = sorted(at.get(name, ()))
        return name + (f", {lines[0][0]}:{lines[0][1]}" + (f" to {lines[-1][1]}" if lines[-1] != lines[0] else "") if lines else "")

    longest = sorted(sums.items(), key=lambda x: -x[1])[:3]
    return "; ".join(f"{where(name)}: {seconds:.1f}" for name, seconds in longest) + f" {unit}"


def row_of(answer, folder, asked):
    absent = answer.program.absent()
    if absent:
        return f"| {answer.program.name} | skipped: {absent} | | |", True
    sums, now = recorded(answer, folder / "now", os.environ["TOMOPROF"])
    if not sums:
        return f"| {answer.program.name} | failed | {now} | no |", False
    right, before = is_right(answer, sums, now), ""
    if asked.before:
        then, said = recorded(answer, folder / "before", asked.before.resolve())
        before = f" {said} ({'right' if then and is_right(answer, then, said) else 'wrong'}) |"
    text = f"| {answer.program.name} | {told(answer, sums)} |{before} {now} | {'yes' if right else 'no'} |"
    return text, right


def main():
    asked = options()
    os.environ["TOMOPROF"] = str(pathlib.Path(os.environ["TOMOPROF"]).resolve())  # runs start in folders of their own
    if asked.venv:
        os.environ["TP_MATRIX_PYTHON"] = str(asked.venv.resolve() / "bin/python")
    sys.path.insert(0, str(HERE / "truth"))
    from matrix import virtual_environment

    answers = catalogue(os.environ.get("TP_MATRIX_PYTHON", sys.executable))
    answers = [a for a in answers if not asked.names or a.program.name in asked.names or a.program.sources[0].name in asked.names]
    if asked.venv:
        virtual_environment(asked.venv.resolve(), [a.program for a in answers])
    head = ["program", "truth by its own clocks", *(["first sentence before"] if asked.before else []), "first sentence", "right"]
    lines, wrong = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"], 0
    print(*lines, sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as temporary:
        for i, answer in enumerate(answers):
            line, right = row_of(answer, (asked.keep or pathlib.Path(temporary)).resolve() / str(i), asked)
            print(line, flush=True)
            lines.append(line)
            wrong += not right
    if asked.docs:
        text = asked.docs.read_text()
        table = "\n".join(lines)
        asked.docs.write_text(re.sub(r"(<!-- answers -->\n).*?(<!-- answers end -->)", lambda m: m[1] + table + "\n" + m[2], text, flags=re.S))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
