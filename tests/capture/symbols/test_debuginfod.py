"""Debug information from a debuginfod server, a small one of our own on the loopback: asked only where DEBUGINFOD_URLS names it."""

import ctypes
import http.server
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, newest, profile, run

SOURCE = """#include <stdio.h>
int main(void)
{
    volatile double x = 1;
    for (long i = 0; i < 200000000; i++) x = x * 1.0000001 + 1e-9; /* loop */
    printf("%g\\n", x);
    return 0;
}
"""
asked = []


def server(files):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = files.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *words):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made


def lines(data):
    return [line["line"] for path, f in data["files"].items() if path.endswith("split.c") for line in f["lines"] if line["cpu"]["user"] > 0.01]


def lines_from_a_server(check, folder):
    program = compiled(folder, "split", SOURCE, "-O1", "-Wl,--build-id")
    run(["objcopy", "--only-keep-debug", program, folder / "kept"])
    run(["objcopy", "--strip-debug", program])
    said = run(["readelf", "-n", program]).stdout.decode()
    build_id = said.split("Build ID:")[1].split()[0]
    made = server({f"/buildid/{build_id}/debuginfo": (folder / "kept").read_bytes()})
    bare = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    ours = dict(bare, DEBUGINFOD_URLS=f"http://127.0.0.1:{made.server_port}", DEBUGINFOD_CACHE_PATH=str(folder / "cache"))
    done = run(command(folder / "runs", "--", program), env=bare)
    check.that(done.returncode == 0, done.stderr.decode())
    check.that(not lines(profile(folder / "runs")) and not asked, f"without DEBUGINFOD_URLS: {asked}")
    again = [os.environ["TOMOPROF"], "report", newest(folder / "runs"), "--reanalyze"]
    for what in ("first", "cached"):
        done = run(again, env=ours)
        check.that(done.returncode == 0, done.stderr.decode())
        check.that(5 in lines(profile(folder / "runs")), f"{what}: lines {lines(profile(folder / 'runs'))}, asked {asked}")
    mine = [path for path in asked if build_id in path]
    check.that(mine == [f"/buildid/{build_id}/debuginfo"], f"asked {mine}: once, then the cache")
    made.shutdown()
    made.server_close()
    done = run(again, env=dict(ours, DEBUGINFOD_CACHE_PATH=str(folder / "other")))
    check.that(done.returncode == 0, f"the server is gone: {done.stderr.decode()}")
    check.that(not lines(profile(folder / "runs")), "lines from nowhere")


need_library()
try:
    ctypes.CDLL("libdebuginfod.so.1")
except OSError as e:
    print(f"skipped: {e}")
    sys.exit(77)
main(lines_from_a_server)
