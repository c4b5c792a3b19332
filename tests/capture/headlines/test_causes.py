"""Root causes of programs whose cause is known: a slow disk, a codec, a lock around it, a slow server; and what a later run measures."""

import json
import os
import pathlib
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import TOMOPROF, command, compiled, loadable, main, need_library, newest, of_samples, profile, run

# A disk that takes 20 ms for each read of the file named by SLOW_FILE, as a library before the program's.
SLOW = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
ssize_t pread64(int fd, void *to, size_t n, off_t at)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    struct timespec wait = {0, 20000000};
    char name[64], path[4096];
    if (!next)
        next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t k = readlink(name, path, sizeof path - 1);
    path[k > 0 ? k : 0] = 0;
    if (strstr(path, "slow.bin"))
        nanosleep(&wait, NULL);
    return next(fd, to, n, at);
}
"""
STORAGE = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(100):
    os.pread(fd, 1 << 16, i << 16)                      # @read
"""
DECODE = """
import sys, threading, time, zlib
packed, seconds, threads = open(sys.argv[1], "rb").read(), float(sys.argv[2]), int(sys.argv[3])
lock, end = threading.Lock(), time.thread_time() + seconds
def work():
    end = time.thread_time() + seconds / threads
    while time.thread_time() < end:
        with lock:
            zlib.decompress(open(sys.argv[1], "rb").read())   # @decode
pool = [threading.Thread(target=work) for i in range(threads)]
[t.start() for t in pool]
[t.join() for t in pool]
"""
QUEUED = """
import os, sys, threading, time
busy = []
for _ in range(3):
    pid = os.fork()
    if not pid:
        end = time.process_time() + 0.4
        while time.process_time() < end:
            pass
        os._exit(0)
    busy.append(pid)
fd = os.open(sys.argv[1], os.O_RDONLY)
def read():
    for i in range(96):
        os.pread(fd, 1 << 20, (i % 32) << 20)
pool = [threading.Thread(target=read) for i in range(4)]
[t.start() for t in pool]
[t.join() for t in pool]
[os.waitpid(pid, 0) for pid in busy]
"""
SERVER = """
import socket, threading, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(64)
print(s.getsockname()[1], flush=True)
def serve(c):
    while c.recv(100):
        time.sleep(0.05)
        c.sendall(b"x" * 1000)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""
CLIENT = """
import socket, sys, threading
def ask(n):
    c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for i in range(n):
        c.sendall(b"next")
        left = 1000
        while left:
            left -= len(c.recv(1000))                   # @ask
threads = int(sys.argv[2])
pool = [threading.Thread(target=ask, args=(40 // threads,)) for i in range(threads)]
[t.start() for t in pool]
[t.join() for t in pool]
"""


SCHEMA = json.loads((pathlib.Path(__file__).parents[3] / "base/rootcause/rootcause.schema.json").read_text())


def marked(source, mark):
    return next(n for n, line in enumerate(source.splitlines(), 1) if f"# @{mark}" in line)


def finding(model, name):
    return next((f for f in model["findings"] if f["id"] == name), None)


def check_causes(check, folder, title, number):
    """Both files tell `title`, with the parts that each report has."""
    text = (newest(folder) / "rootcause.md").read_text()
    causes = json.loads((newest(folder) / "rootcause.json").read_text())
    jsonschema.validate(causes, SCHEMA)
    for head in ("# Root causes:", "## Evidence", "## Causes", "## Actions", "## What a change must keep", "## Open questions"):
        check.that(head in text, f"rootcause.md has no {head}")
    found = [c for c in causes["causes"] if title in c["statement"]]
    if check.that(len(found) == 1, f"{title}: {[c['statement'] for c in causes['causes']]}"):
        check.that(found[0]["refuted_by"] and "tomoprof record" in found[0]["test"], f"no test: {found}")
        check.that(0 <= found[0]["gain_low_s"] <= found[0]["gain_high_s"], f"gain: {found}")
    check.that(any(n["name"].startswith(number) and n["value"] is not None for n in causes["evidence"]), f"evidence has no {number}")
    page = (newest(folder) / "report.html").read_text()
    check.that('id="data-causes"' in page, "the page has no causes")


@of_samples
def test_storage(check, folder):
    script, data, runs = folder / "storage.py", folder / "slow.bin", folder / "runs_storage"
    script.write_text(STORAGE)
    data.write_bytes(os.urandom(100 << 16))
    slow = compiled(folder, "slow.so", SLOW, "-shared", "-fPIC", "-ldl")
    if not slow:
        return
    # The disk behind the recorder, and not in front of it; nor in tomoprof itself, which may be built with a sanitizer.
    start = f'LD_PRELOAD="$LD_PRELOAD:{loadable(slow)}" exec "$@"'
    done = run(command(runs, "--", "/bin/sh", "-c", start, "sh", sys.executable, script, data))
    check.must(done.returncode == 0, f"storage: {done.stderr[-300:]!r}")
    model = profile(runs)
    found = finding(model, "io.storage")
    if check.that(found and found["title"] == "Storage bound", f"a slow disk: {[f['id'] for f in model['findings']]}"):
        check.that(not finding(model, "io.decode") and not finding(model, "io.not_storage"), "a slow disk and yet decoding bound")
        check_causes(check, runs, "Storage bound", "reads waited")
    line = next((r for r in model["io"]["reading"] if r["line"] == marked(STORAGE, "read")), None)
    check.that(line and line["storage_s"] > 1.5 and round(line["calls"]) == 100 and line["network_s"] == 0, f"the line that reads: {model['io']['reading']}")
    disks = model["io"]
    check.that(disks["disks"] or disks["disks_reason"] or disks["disks"] == [], f"disks: {disks['disks']}")
    check.that((disks["group"] is None) == (disks["group_reason"] is not None), f"control group: {disks['group']} {disks['group_reason']}")


def test_decoding(check, folder):
    import zlib
    script, data, runs = folder / "decode.py", folder / "packed.bin", folder / "runs_decode"
    script.write_text(DECODE)
    data.write_bytes(zlib.compress(bytes(b & 15 for b in os.urandom(1 << 20))))
    for seconds, threads in ((2, 1), (0.5, 1)):
        done = run(command(runs, "--", sys.executable, script, data, seconds, threads))
        check.must(done.returncode == 0, f"decode: {done.stderr[-300:]!r}")
        if seconds == 2:
            first, model = newest(runs), profile(runs)
            found = finding(model, "io.decode")
            if check.that(found and "zlib" in found["evidence"], f"zlib: {[f['id'] for f in model['findings']]}"):
                check_causes(check, runs, "Decoding bound", "CPU time")
            line = next((r for r in model["io"]["reading"] if r["line"] == marked(DECODE, "decode")), {})
            check.that(line.get("codec") == "zlib" and line["decode_s"] > line["storage_s"], f"the line that decodes: {model['io']['reading']}")
    before = json.loads((first / "rootcause.json").read_text())
    check.that(all(a["measured_s"] is None for a in before["actions"]), "measured before a second run")
    done = run([TOMOPROF, "compare", first, newest(runs)])
    check.must(done.returncode == 0, f"compare: {done.stderr!r}")
    after, text = json.loads((first / "rootcause.json").read_text()), (first / "rootcause.md").read_text()
    check.that("Before and after" in text and "not yet" not in text, "compare did not fill rootcause.md")
    gain = [a["measured_s"] for a in after["actions"] if a["rule"].startswith("io.decode")]
    check.that(gain and 0.5 < gain[0] < 4, f"measured gain of decoding less: {gain}")
    check.that(after["later"]["before_s"] > 0 and after["later"]["after_s"] > 0, f"later: {after['later']}")


def test_serialised(check, folder):
    if len(os.sched_getaffinity(0)) < 2:
        return
    runs = folder / "runs_lock"
    done = run(command(runs, "--", sys.executable, folder / "decode.py", folder / "packed.bin", 2, 4))
    check.must(done.returncode == 0, f"lock: {done.stderr[-300:]!r}")
    model = profile(runs)
    found = [f for f in model["findings"] if f["id"].startswith("lock.")]
    if check.that(len(found) == 1 and "serialised" in found[0]["title"], f"a lock around a codec: {[(f['id'], f['title']) for f in model['findings']]}"):
        check_causes(check, runs, "serialised", "threads waited for locks")
        first = json.loads((newest(runs) / "rootcause.json").read_text())["causes"][0]
        check.that(first["rule"].startswith("lock."), f"the first cause is {first['rule']}")
        half = model["contention"][0]["any_s"] >= model["meta"]["wall_s"] / 2
        decode = finding(model, "io.decode")
        check.that(not half or not decode or "wait for a lock" in decode["evidence"], f"decoding under a lock: {decode}")


def test_requests(check, folder):
    """One request after the other, then eight at a time, to a server that takes 50 ms."""
    import subprocess
    script, server = folder / "client.py", folder / "server.py"
    script.write_text(CLIENT)
    server.write_text(SERVER)
    with subprocess.Popen([sys.executable, server], stdout=subprocess.PIPE, text=True) as serving:
        port, depth = serving.stdout.readline().strip(), {}
        try:
            for threads in (1, 8):
                runs = folder / f"runs_ask{threads}"
                done = run(command(runs, "--", sys.executable, script, port, threads))
                check.must(done.returncode == 0, f"client: {done.stderr[-300:]!r}")
                model = profile(runs)
                end = next(e for e in model["io"]["endpoints"] if e["path"].endswith(f":{port}"))
                check.that(end["requests"] == 40 and end["connects"] == threads and end["first_byte_ms"] >= 50, f"{threads}: {end['requests']}, {end['connects']}, {end['first_byte_ms']}")
                depth[threads] = end["in_flight"]
                if threads == 1:
                    found = finding(model, "io.requests")
                    check.that(found and "40 requests over 1 connections" in found["evidence"], f"requests: {found}")
                    check_causes(check, runs, "Requests wait one after the other", "reads waited")
                line = next((r for r in model["io"]["reading"] if r["line"] == marked(CLIENT, "ask")), {})
                check.that(line.get("network_s", 0) > 1 and line["storage_s"] == 0, f"the line that asks: {model['io']['reading']}")
        finally:
            serving.kill()
    check.that(0.99 < depth[1] < 1.01 and depth[8] > 1.5, f"requests in flight: {depth}")


POLLED = """
import selectors, socket, sys, time
at = "127.0.0.1", int(sys.argv[1])
waited = 0.0
for i in range(10):                          # a socket with a timeout polls before it reads
    with socket.create_connection(at, timeout=60) as s:
        s.sendall(b"next")
        begin = time.perf_counter()
        s.recv(1000)                         # @poll
        waited += time.perf_counter() - begin
print(waited)
waited = 0.0
with selectors.DefaultSelector() as ready:   # an event loop waits for several at once
    for i in range(10):
        s = socket.create_connection(at)
        s.setblocking(False)
        s.sendall(b"next")
        ready.register(s, selectors.EVENT_READ)
    begin, left = time.perf_counter(), 10 * 1000
    while left:
        for key, _ in ready.select():
            left -= len(key.fileobj.recv(1000))  # @epoll
    waited = time.perf_counter() - begin
print(waited)
"""


def test_polled(check, folder):
    """What a thread waits in poll and epoll belongs to the line that reads then, once."""
    import subprocess
    script, runs = folder / "polled.py", folder / "runs_polled"
    script.write_text(POLLED)
    with subprocess.Popen([sys.executable, folder / "server.py"], stdout=subprocess.PIPE, text=True) as serving:
        try:
            port = serving.stdout.readline().strip()
            done = run(command(runs, "--", sys.executable, script, port))
        finally:
            serving.kill()
    check.must(done.returncode == 0, f"polled: {done.stderr[-300:]!r}")
    model, truth = profile(runs), list(map(float, done.stdout.split()))
    for mark, waited in zip(("poll", "epoll"), truth):
        line = next((r for r in model["io"]["reading"] if r["line"] == marked(POLLED, mark)), {})
        found = line.get("network_s", 0)
        check.that(0.8 * waited - 0.05 < found < waited + 0.05, f"@{mark}: {found} s in the network column, by its own clock {waited}")


def test_queued(check, folder):
    """Reads from the page cache beside busy processes: what they lose is a CPU, not storage. No program waits longer than it is asleep."""
    (folder / "big.bin").write_bytes(bytes(32 << 20))
    (folder / "queued.py").write_text(QUEUED)
    done = run(command(folder / "q", "--", sys.executable, folder / "queued.py", folder / "big.bin"))
    if not check.must(done.returncode == 0, f"queued: {done.stderr.decode()[-300:]}"):
        return
    model = profile(folder / "q")
    io, asleep = model["io"], sum(model["own"]["path_wait_ns"]) * 1e-9
    if not io["storage_read_mb"] < 0.1 * (io["read"]["waited_mb"] or 0):
        return print("queued: no read lost its CPU")
    said = [(r["line"], r["storage_s"], r["ready_s"]) for r in io["reading"]]
    check.must(sum(s for _, s, _ in said) <= asleep + 1e-6, f"queued: reads of a file in the page cache waited for storage {said}, asleep {asleep} s")


@of_samples
def test_nothing(check, folder):
    """Without a cause there is no file."""
    runs = folder / "runs_nothing"
    done = run(command(runs, "--", sys.executable, "-S", "-c", "pass"))
    check.must(done.returncode == 0, "nothing")
    check.that(not finding(profile(runs), "io.storage") and not (newest(runs) / "rootcause.md").exists(), "a rootcause.md of nothing")


@of_samples
def codecs(check, folder):
    test_decoding(check, folder)
    test_serialised(check, folder)


@of_samples
def servers(check, folder):
    test_requests(check, folder)
    test_polled(check, folder)


need_library()
main(test_storage, codecs, servers, test_queued, test_nothing)
