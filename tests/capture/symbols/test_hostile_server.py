"""Hostile debuginfod servers on the loopback: whatever they answer, the analysis ends, no other lines are told, and a signal ends it while it waits."""

import ctypes
import http.server
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, command, compiled, main, need_library, newest, profile, run

SOURCE = """#include <stdio.h>
int main(void)
{
    volatile double x = 1;
    for (long i = 0; i < 500000000; i++) x = x * 1.0000001 + 1e-9; /* loop */
    printf("%g\\n", x);
    return 0;
}
"""
OTHER = "int unused(int x)\n{\n    return x;\n}\n\n\n\n\n\n" + SOURCE
MIB = 1 << 20


class Answer(http.server.BaseHTTPRequestHandler):
    """One way to answer, which the class is told before."""

    how, body, asked, stop = None, b"", 0, threading.Event()

    def do_GET(self):
        type(self).asked += 1
        try:
            getattr(self, f"do_{self.how}")()
        except (BrokenPipeError, ConnectionResetError):
            pass

    def head(self, status=200, length=None, **more):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def do_error(self):
        self.head(500, 0)

    def do_missing(self):
        self.head(404, 0)

    def do_garbage(self):
        self.head(200, MIB)
        self.wfile.write(bytes(i * 31 % 251 for i in range(MIB)))

    def do_given(self):
        self.head(200, len(self.body))
        self.wfile.write(self.body)

    def do_cut(self):
        self.head(200, len(self.body))
        self.wfile.write(self.body[:len(self.body) // 2])

    def do_huge(self):
        """A length of 8 EiB, and a little."""
        self.head(200, 1 << 62)
        self.wfile.write(self.body)
        self.stop.wait(300)

    def do_endless(self):
        self.head(200)
        piece = os.urandom(1 << 16)
        while not self.stop.is_set():
            self.wfile.write(piece)

    def do_bomb(self):
        """16 GiB of zeros in 16 MiB."""
        self.head(200, Content_Encoding="gzip")
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        while not self.stop.is_set():
            self.wfile.write(packer.compress(bytes(MIB)))

    def do_slow(self):
        self.head(200, len(self.body))
        for i in range(len(self.body)):
            self.wfile.write(self.body[i:i + 1])
            if self.stop.wait(0.5):
                return

    def do_silent(self):
        self.stop.wait(300)

    def do_file(self):
        self.head(302, 0, Location="file:///etc/passwd")

    def log_message(self, *words):
        pass


def lines(data, name):
    return [line["line"] for path, f in data["files"].items() if path.endswith(name) for line in f["lines"] if line["cpu"]["user"] > 0.01]


def stripped(folder, name, source):
    program = compiled(folder, name, source, "-O1", "-Wl,--build-id")
    run(["objcopy", "--only-keep-debug", program, folder / f"{name}.debug"])
    run(["objcopy", "--strip-debug", program])
    return program, (folder / f"{name}.debug").read_bytes()


def served(folder):
    """A recording of a program without debug information, the server, and the call that asks it, with its environment."""
    program, kept = stripped(folder, "split", SOURCE)
    bare = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    done = run(command(folder / "runs", "--", program), env=bare)
    assert done.returncode == 0, done.stderr
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, daemon=True).start()
    Answer.stop.clear()
    asking = dict(bare, DEBUGINFOD_URLS=f"http://127.0.0.1:{made.server_port}", DEBUGINFOD_CACHE_PATH=str(folder / "cache"), DEBUGINFOD_TIMEOUT="1")
    return kept, made, [TOMOPROF, "report", newest(folder / "runs"), "--reanalyze"], asking


def answers(check, folder):
    """Wrong, cut and endless ones: no lines of other files, and a bound of what is written, which is 32 MiB here and 4 GiB else."""
    kept, made, words, asking = served(folder)
    _, other = stripped(folder, "other", OTHER)
    few = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (32 * MIB, 32 * MIB))  # noqa: E731
    for how, body, wanted in (("error", b"", []), ("missing", b"", []), ("garbage", b"", []), ("given", other, []), ("given", b"", []), ("cut", kept, []),
                              ("given", kept[:len(kept) // 2], []), ("file", b"", []), ("huge", kept, []), ("silent", b"", []), ("slow", kept, []),
                              ("endless", b"", []), ("bomb", b"", []), ("given", kept, [5])):
        Answer.how, Answer.body, Answer.asked = how, body, 0
        done = run(words, env=asking, preexec_fn=few)
        check.that(done.returncode == 0 and Answer.asked, f"{how}: asked {Answer.asked}: {done.returncode} {done.stderr.decode()}")
        check.that(body is not other or b"sent the debug information of another file" in done.stderr, f"{how}: {done.stderr.decode()}")
        data = profile(folder / "runs")
        found = lines(data, "split.c") + lines(data, "other.c")
        check.that(found == wanted, f"{how}, {len(body)} bytes: lines {found}")
        subprocess.run(["rm", "-rf", folder / "cache"], check=True)
    Answer.stop.set()
    made.shutdown()
    made.server_close()


def signals(check, folder):
    """One ends the call that waits for a server."""
    kept, made, words, asking = served(folder)
    del asking["DEBUGINFOD_TIMEOUT"]  # 90 s
    for how in ("silent", "slow", "endless", "huge"):
        for number in (signal.SIGINT, signal.SIGTERM):
            Answer.how, Answer.body, Answer.asked = how, kept, 0
            p = subprocess.Popen(list(map(str, words)), env=asking, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while not Answer.asked and p.poll() is None:
                time.sleep(0.01)
            p.send_signal(number)
            try:
                _, said = p.communicate(timeout=60)  # before it would end by itself
                check.that(p.returncode in (-number, 130), f"{how}: {number.name}: exit {p.returncode} {said}")
            except subprocess.TimeoutExpired:
                check.that(False, f"{how}: {number.name} does not end it")
                p.kill()
                p.communicate()
    Answer.stop.set()
    made.shutdown()
    made.server_close()


need_library()
try:
    ctypes.CDLL("libdebuginfod.so.1")
except OSError as e:
    print(f"skipped: {e}")
    sys.exit(77)
main(answers, signals)
