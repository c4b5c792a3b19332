"""Programs that nobody here wrote, run bare and recorded: what they say, write and return must be the same. Those with
clocks of their own: truth/truth_programs.py."""

import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

from recorded import LONG, command, newest, run

PYTHON = os.environ.get("TP_MATRIX_PYTHON", sys.executable)  # with NumPy, SciPy and MBIRJAX for the rows that need them
HERE = pathlib.Path(__file__).resolve().parent


def much(n):
    """n, half of it where TP_LONG is off."""
    return n if LONG else n // 2


class Program:
    """`words` are run in a folder of their own, made by `prepare(folder)`; "{x}" is file x there. `modules` are Python's,
    `pip` and `apt` the packages that bring what it needs. `sources` hold the marked lines of its phases, which are counted
    by `clock`: thread where phases overlap, else process."""

    def __init__(self, name, kind, words, needs=(), modules=(), prepare=None, results=(), end=0, hot=None, ci=False, env=None,
                 kill_after=None, volatile=False, brief=False, pip=(), apt=(), sources=(), clock="process"):
        self.name, self.kind, self.words, self.needs, self.modules = name, kind, words, needs, modules
        self.prepare, self.results, self.end, self.hot, self.ci = prepare, results, end, hot, ci
        self.pip, self.apt, self.sources, self.clock = pip, apt, sources, clock
        self.env, self.kill_after = env or {}, kill_after
        self.volatile, self.brief = volatile, brief  # stderr holds times; most CPU time is the starting of processes

    def absent(self):
        """Why it cannot run here, or None."""
        for program in (self.words[0], *self.needs):
            if not program.startswith("{") and not shutil.which(program):
                return f"{program} is not installed"
        for module in self.modules:
            if run([self.words[0], "-c", f"import {module}"]).returncode:
                return f"this Python has no {module}"
        return None


def bytes_to_pack(folder):
    """12 MB (much) that compress by half, the same everywhere."""
    block = b"".join(hashlib.sha256(str(i).encode()).digest() + b"tomography " * 3 for i in range(20000))
    (folder / "data").write_bytes(block * much(9))


def lines_to_sort(folder):
    with open(folder / "lines", "w") as f:
        for i in range(much(600000)):
            f.write(f"{i * 2654435761 % 4294967296} {i}\n")


def text(name, content):
    return lambda folder: (folder / name).write_text(content)


CMAKE = """set(s 0)
foreach(i RANGE 60000)
  math(EXPR s "(${s} * 31 + ${i}) % 1000003")
  string(SHA256 h "${h}${s}")
  string(REGEX REPLACE "[a-f]+" "-" g "${h}")
endforeach()
message("${s} ${h} ${g}")
message(FATAL_ERROR "on purpose")
"""
C_SOURCE = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n" + "".join(
    f"int f{i}(int n) {{ int s = 0; for (int k = 0; k < n; k++) s += k * {i} ^ (s >> 3); return s; }}\n" for i in range(much(300))
) + 'int main(void) { printf("%d\\n", ' + " + ".join(f"f{i}(9)" for i in range(much(300))) + "); return 0; }\n"
CXX_SOURCE = """#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
int throwing(int n)
{
    if (n % 3 == 0)
        throw std::runtime_error("three");
    return n;
}
int main()
{
    std::map<std::string, int> words;
    std::vector<double> v;
    long caught = 0;
    for (int i = 0; i < 3000000; i++) {
        try {
            words[std::to_string(throwing(i) % 997)]++;
        } catch (const std::exception &) {
            caught++;
        }
        v.push_back((i * 7919L) % 10007);
    }
    std::sort(v.begin(), v.end());
    std::regex r("([0-9]+)7([0-9]*)");
    long matched = 0;
    for (auto &w : words)
        matched += std::regex_search(w.first, r);
    std::cout << caught << ' ' << words.size() << ' ' << v[50000] << ' ' << matched << std::endl;
    return 7;
}
"""
PY_PROCESSES = """
import multiprocessing, os, subprocess, sys, threading, hashlib, concurrent.futures
def work(n):
    h = b"x"
    for i in range(150000): h = hashlib.sha256(h).digest()
    return h.hex()[:8], n
def main():
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(4)))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        print(list(pool.map(work, range(3))))
    print(subprocess.run([sys.executable, "-c", "print(sum(range(3000000)))"], capture_output=True, text=True).stdout)
    pid = os.fork()
    if pid == 0:
        os._exit(work(1)[1])
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.exit(9)
if __name__ == "__main__":
    main()
"""
PY_STDLIB = """
import asyncio, json, re, zlib, random, signal, ast
random.seed(1)
class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(3)] if depth else []
    def count(self):
        return 1 + sum(c.count() for c in self.children)
def parse():
    text = json.dumps([{"k%d" % i: [random.random() for _ in range(20)]} for i in range(3000)])
    return len(json.loads(text)), len(re.findall(r"[0-9]+\\.[0-9]{4}", text)), zlib.crc32(zlib.compress(text.encode()))
async def nap(n):
    await asyncio.sleep(0.01)
    return n
async def many():
    return sum(await asyncio.gather(*(nap(i) for i in range(500))))
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
print(Node(9).count(), parse(), asyncio.run(many()))
print(len(ast.dump(ast.parse(open(ast.__file__).read()))))
while len(hits) < 20:
    signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)
print("signals")
"""
PY_NUMPY = """
import numpy as np, sys
rng = np.random.default_rng(7)
a = rng.standard_normal((SIZE, SIZE))
for i in range(MUCH):
    u, s, v = np.linalg.svd(a)  # svd
    a = (u * s) @ v
total = 0.0
for i in range(400000): total += i % 7  # loop
np.save("result.npy", np.concatenate([s, [total]]))
print(s[0] > 0)
""".replace("MUCH", str(much(4))).replace("SIZE", "700" if LONG else "450")
PY_SCIPY = """
import numpy as np, scipy.ndimage, scipy.sparse, scipy.sparse.linalg, scipy.fft
rng = np.random.default_rng(3)
image = rng.standard_normal((512, 512)).astype(np.float32)
for i in range(6): image = scipy.ndimage.rotate(image, 7, reshape=False, order=3)  # rotate
n = 40000
A = scipy.sparse.diags([4.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1), -np.ones(n - 200), -np.ones(n - 200)], [0, 1, -1, 200, -200]).tocsc()
x = scipy.sparse.linalg.spsolve(A, np.ones(n))
f = scipy.fft.fft2(image)
np.save("result.npy", np.concatenate([image.ravel()[:1000], x[:1000], np.abs(f).ravel()[:1000]]))
"""
PERL = 'my %h; for my $i (1..' + str(much(1500000)) + ') { $h{$i * 2654435761 % 4099} += length("$i") } my $s = 0; $s += $h{$_} * $_ for sort keys %h; print "$s\\n"; exit 5'
NODE = "let m = new Map(); for (let i = 0; i < 3e6; i++) m.set(i % 9973, (m.get(i % 9973) || 0) + i); let s = 0; for (const [k, v] of m) s = (s + k * v) % 1000003; console.log(s); process.exit(6)"
SQL = "WITH RECURSIVE c(x, s) AS (SELECT 1, 1 UNION ALL SELECT x + 1, (s * 31 + x) % 1000003 FROM c WHERE x < 3000000) SELECT s FROM c ORDER BY x DESC LIMIT 1;"
JAVA = """public class Work {
    public static void main(String[] a) throws Exception {
        long s = 0;
        java.util.HashMap<Long, Long> m = new java.util.HashMap<>();
        for (long i = 0; i < 6000000; i++) m.merge(i % 9973, i, Long::sum);
        for (long v : m.values()) s = (s * 31 + v) % 1000003;
        Thread[] t = new Thread[3];
        long[] r = new long[3];
        for (int k = 0; k < 3; k++) { int n = k; t[k] = new Thread(() -> { for (int i = 0; i < 50000000; i++) r[n] += i ^ n; }); t[k].start(); }
        for (Thread x : t) x.join();
        try { Object o = null; o.hashCode(); } catch (NullPointerException e) { s++; }
        System.out.println(s + " " + r[0] + " " + r[1] + " " + r[2]);
        System.exit(8);
    }
}
"""

PROGRAMS = [
    Program("gzip", "C, stripped, no frame pointers", ["gzip", "-6", "-n", "-c", "{data}"], prepare=bytes_to_pack, hot="gzip", ci=True),
    Program("xz", "C, worker threads that block all signals", ["xz", "-1", "-T2", "--block-size=1MiB", "-c", "{data}"],
            prepare=bytes_to_pack, hot="liblzma", ci=True),
    Program("sort", "C, OpenMP-less threads", ["sort", "--parallel=2", "-k1n", "{lines}"], prepare=lines_to_sort, ci=True),
    Program("bc", "C, deep recursion of an interpreter", ["bc", "-l", "{pi}"], prepare=text("pi", "scale=1200\n4*a(1)\nquit\n")),
    Program("openssl", "C with hand-written assembly", ["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter", "1500000", "-S", "00",
                                                         "-k", "x", "-in", "{data}"], prepare=bytes_to_pack, hot="libcrypto"),
    Program("gm", "C, OpenMP, stripped", ["gm", "convert", "-size", "900x900", "gradient:red-blue", "-blur", "0x9", "{out.ppm}"],
            results=["out.ppm"], hot="GraphicsMagick"),
    Program("cmake", "C++ with exceptions, fails on purpose", ["cmake", "-P", "{s.cmake}"], prepare=text("s.cmake", CMAKE), end=1, hot="cmake"),
    Program("c++", "C++ exceptions, std::map, std::regex, -O2", ["{a.out}"], needs=["g++"],
            prepare=lambda folder: ((folder / "a.cpp").write_text(CXX_SOURCE),
                                    run(["g++", "-O2", "-g", "-fomit-frame-pointer", "-o", folder / "a.out", folder / "a.cpp"])),
            end=7, hot="a.cpp"),
    Program("gcc", "a tree of processes: gcc, cc1, as, collect2, ld", ["gcc", "-O2", "-o", "{a.out}", "{a.c}"],
            prepare=text("a.c", C_SOURCE), results=["a.out"], hot="cc1", ci=True),
    Program("sh", "shell, pipes, subshells, background jobs", ["sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i | tr 1 2; done | "
                                                                "sort | md5sum; (exit 3) & wait $!; exit $?"], end=3, ci=True, brief=True),
    Program("sqlite3", "C, one large file", ["sqlite3", ":memory:", SQL], hot="sqlite"),
    Program("perl", "an interpreter without frames that we know", ["perl", "-e", PERL], end=5, ci=True, env={"PERL_HASH_SEED": "0"}),
    Program("git", "C, forks, mmap", ["git", "-C", str(HERE.parents[1]), "log", "--stat", "-n", "60", "--no-color"]),
    Program("node", "a JIT with many threads", ["node", "-e", NODE], end=6),
    Program("java", "a JIT that handles SIGSEGV itself", ["java", "{Work.java}"], prepare=text("Work.java", JAVA), end=8),
    Program("python", "standard library, asyncio, own signals", [PYTHON, "{s.py}"], prepare=text("s.py", PY_STDLIB), hot="s.py", ci=True),
    Program("python fork", "multiprocessing, threads, subprocess, os._exit", [PYTHON, "{s.py}", "fork"], prepare=text("s.py", PY_PROCESSES),
            end=9, hot="s.py", ci=True),
    Program("python spawn", "multiprocessing by spawn", [PYTHON, "{s.py}", "spawn"], prepare=text("s.py", PY_PROCESSES), end=9, hot="s.py"),
    Program("numpy", "BLAS threads under one Python line", [PYTHON, "{s.py}"], modules=["numpy"], pip=["numpy"], prepare=text("s.py", PY_NUMPY),
            results=["result.npy"], hot="s.py", ci=True),
    Program("scipy", "Python over C, C++ and Fortran", [PYTHON, "{s.py}"], modules=["scipy"], pip=["scipy"], prepare=text("s.py", PY_SCIPY),
            results=["result.npy"], hot="s.py"),
    Program("mbirjax", "JAX on the CPU: cone beam, 32^3, 3 iterations", [PYTHON, str(HERE / "mbirjax_cone.py"), "32", "3", "{volume.npy}"],
            modules=["mbirjax"], pip=["mbirjax"], results=["volume.npy"], hot="mbirjax", volatile=True,
            env={"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}),
    Program("killed", "SIGKILL in the middle", [PYTHON, "-c", "while True: pass"], end=-signal.SIGKILL, kill_after=0.5, ci=True),
    Program("crash", "abort() in C under Python", [PYTHON, "-c", "import os\nfor i in range(9999999): pass\nos.abort()"], end=-signal.SIGABRT, ci=True),
]


def ready(program, folder):
    """The folder in which the program can be started, as often as wanted."""
    folder.mkdir(parents=True)
    if program.prepare:
        program.prepare(folder)
    return folder


def start(program, folder, recorder, extra=None):
    """Runs it in `folder`, under `recorder(words)`; what can be compared afterwards. CPU seconds are those of all that it
    started and waited for."""
    for name in program.results:
        (folder / name).unlink(missing_ok=True)
    words = [w.replace("{", "").replace("}", "") if w.startswith("{") and w.endswith("}") else w for w in program.words]
    env = {**os.environ, **program.env, **(extra or {})}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen([str(w) for w in recorder(absolute(program, folder, words))], stdin=subprocess.DEVNULL, cwd=folder, env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if program.kill_after:
        kill_target(process, program.kill_after, recorder(["x"]) != ["x"])
    out, err = process.communicate(timeout=900)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"end": process.returncode, "out": out, "err": err, "wall": wall,
            "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "results": {r: (folder / r).read_bytes() for r in program.results}}


def absolute(program, folder, words):
    """A program that prepare() made is named by its path."""
    return [str(folder / words[0]), *words[1:]] if program.words[0].startswith("{") else words


def program_of(recorder_pid):
    """The child of a recorder that is the program: another one watches the process group. 0: it is not there yet."""
    for child in pathlib.Path(f"/proc/{recorder_pid}/task/{recorder_pid}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/comm").read_text().strip() not in ("group-witness", "tomoprof"):
            return int(child)
    return 0


def kill_target(process, seconds, recorded):
    """The program itself, the process or the child of its recorder, when it has computed for so long."""
    end, busy = time.monotonic() + 300, 0
    while busy < seconds and time.monotonic() < end:
        time.sleep(0.02)
        pid = program_of(process.pid) if recorded else process.pid
        if pid:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            busy = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    os.kill(pid or process.pid, signal.SIGKILL)


def differences(program, bare, mine):
    """What differs between a bare and a recorded run, as sentences."""
    found = []
    if bare["end"] != program.end:
        found.append(f"bare: ended with {bare['end']}, expected {program.end}: {bare['err'][-300:]!r}")
    if mine["end"] != bare["end"]:
        found.append(f"ended with {mine['end']} instead of {bare['end']}: {mine['err'][-500:]!r}")
    if mine["out"] != bare["out"]:
        found.append(f"stdout differs: {mine['out'][:200]!r} instead of {bare['out'][:200]!r}")
    if not program.volatile and not mine["err"].startswith(bare["err"]):
        found.append(f"stderr differs: {mine['err'][:300]!r} instead of {bare['err'][:300]!r}")
    return found + [f"{name} differs" for name, data in bare["results"].items() if mine["results"][name] != data]


def compare(program, folder):
    """Both runs and what differs."""
    place = ready(program, folder / "x")
    bare = start(program, place, lambda words: words)
    mine = start(program, place, lambda words: command(folder / "runs", "--", *words))
    return bare, mine, differences(program, bare, mine)


def facts(folder):
    """Of the recorded run: profile, record.json, bytes of trace."""
    at = newest(folder / "runs")
    return (json.loads((at / "profile.json").read_text()), json.loads((at / "record.json").read_text()),
            sum(f.stat().st_size for f in (at / "trace").iterdir()))


def mentions(data, word):
    """Seconds of CPU of the files and modules whose path holds `word`, and their share."""
    seconds = sum((line["cpu"]["user"] or 0) + (line["cpu"]["sys"] or 0) for path, f in data["files"].items() if word in path for line in f["lines"])
    seconds += sum((m["cpu"]["user"] or 0) + (m["cpu"]["sys"] or 0) for m in data["unattributed"] if word in (m["module"] or ""))
    total = (data["totals"]["cpu"]["user"] or 0) + (data["totals"]["cpu"]["sys"] or 0)
    return seconds, seconds / total if total else 0
