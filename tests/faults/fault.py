"""One fault: the program of target.c bare and recorded, and what differs between the two."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "pipe"), str(HERE.parent / "capture")]
from recorded import LIBRARY, TOMOPROF, compiled, loadable  # noqa: E402, F401
from trace_file import traces  # noqa: E402

PATIENCE = 300  # s: what is not done then waits for something that never comes
OWN_WORDS = re.compile(rb"tomoprof: |warning: |error: |[0-9.e-]+ s recorded, ")


class Done:
    """How a run ended."""

    def __init__(self, code, out, err, result):
        self.code, self.out, self.err, self.result = code, out, err, result


class Tools:
    """Built once for all faults."""

    def __init__(self, folder):
        self.target = compiled(folder, "target", (HERE / "target.c").read_text(), "-O1", "-pthread")
        self.sandbox = compiled(folder, "sandbox", (HERE.parent / "capture/targets/sandbox.c").read_text(), "-O1", "-pthread")
        self.shim = compiled(folder, "shim.so", (HERE / "shim.c").read_text(), "-O1", "-shared", "-fPIC")
        self.filters = subprocess.run([self.sandbox], stdout=subprocess.PIPE, text=True, check=True).stdout.split()


class Fault:
    def __init__(self, tools, seed, folder):
        self.tools, self.dice, self.folder = tools, random.Random(seed), folder
        self.program_seed = self.dice.randrange(1, 1000)
        self.differences = []
        self.out = folder / "runs"

    def that(self, condition, text):
        if not condition:
            self.differences.append(text)
        return bool(condition)

    def pick(self, *values):
        return self.dice.choice(values)

    def target(self, flags, name="result"):
        return [str(self.tools.target), str(self.folder / name), str(self.program_seed), flags or "-"]

    def command(self, words, analysis=None, bare_too=False):
        """The words that record `words`; one in five analyses, which costs most."""
        analysis = self.dice.random() < 0.2 if analysis is None else analysis
        how = self.pick([], ["--rate", "1000"], ["--rate", "10000"], ["--modes", "cpu,wait"], ["--measure-overhead"] if bare_too else [])
        return [TOMOPROF, "record", *how, *([] if analysis else ["--no-analysis"]), "--out", str(self.out), "--", *words]

    def start(self, words, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(list(map(str, words)), cwd=options.pop("cwd", self.folder), start_new_session=True, bufsize=0, **options)  # what one line leaves unread stays in the pipe

    def end(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.differences.append("hangs")
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        result = self.folder / "result"
        text = result.read_bytes() if result.exists() else None
        result.unlink(missing_ok=True)
        return Done(process.returncode, out, err, text)

    def run(self, words, **options):
        return self.end(self.start(words, **options))

    def compare(self, words, prefix=(), analysis=None, **options):
        """Runs them bare and recorded: exit code, output and result are to be the same. Both runs."""
        bare = self.run([*prefix, *words], **options)
        done = self.run([*prefix, *self.command(words, analysis, bare_too=True)], **options)
        self.same(bare, done)
        return bare, done

    def same(self, bare, done):
        self.that(done.code == bare.code, f"exit {done.code}, bare {bare.code}: {(done.err or b'')[-300:]!r}")
        self.that(done.out == bare.out, f"output {done.out!r}, bare {bare.out!r}")
        said = b"".join(line for line in (done.err or b"").splitlines(True) if not OWN_WORDS.match(line))
        self.that(done.err is None or said == bare.err, f"errors {said!r}, bare {bare.err!r}")
        self.that(done.result == bare.result, f"result {done.result!r}, bare {bare.result!r}")
        self.tidy()

    def tidy(self, killed=False):
        """Nothing half-made is left; every trace reads."""
        left = [p.name for p in self.folder.rglob("*.tmp")]
        self.that(killed or not left, f"left behind: {left}")
        for path in self.out.glob("*/*.json"):
            try:
                json.loads(path.read_bytes())
            except ValueError as why:
                self.differences.append(f"{path.name}: {why}")
        for f in self.traces():
            self.that(not f.damage or f.damage == ["no magic"] and killed, f"{f.path.name}: {f.damage}")

    def traces(self):
        """`latest` is a link to the run."""
        return [t for folder in self.out.glob("*/trace") if not folder.parent.is_symlink() for t in traces(folder)]

    def run_folder(self):
        return max((p for p in self.out.iterdir() if p.is_dir() and not p.is_symlink()), key=lambda p: p.stat().st_mtime_ns)

    def program_of(self, launcher):
        """The pid of the recorded program, once it is there; None: it has ended."""
        end = time.monotonic() + PATIENCE
        while launcher.poll() is None and time.monotonic() < end:
            for child in children(launcher.pid):
                if runs(child, self.tools.target):
                    return child
            time.sleep(0.001)
        return None

    def ready(self, process):
        """The first line of the program, which has its handlers then; goes back to the output."""
        return process.stdout.readline()

    def pause(self, most=0.06):
        time.sleep(self.dice.random() * most)


def children(pid):
    try:
        return list(map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def runs(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
