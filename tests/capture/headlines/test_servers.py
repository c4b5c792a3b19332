"""Servers and consumers of jobs: what they wait for is not an answer, the line that handles a request is. A program that waits for
an answer itself keeps its wait as the headline."""

import http.client
import importlib.util
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, main, need_library, of_samples, profile

SERVER = """import http.server, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        end = time.thread_time() + 0.2
        while self.path == "/work" and time.thread_time() < end: sum(range(400000))
        self.send_response(200); self.end_headers()
        if self.path == "/end": threading.Thread(target=server.shutdown).start()
    def log_message(self, *words): pass
server = http.server.THREADS(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
FLASK = """import sys, threading, time
from flask import Flask
from werkzeug.serving import make_server
app = Flask(__name__)
@app.route("/work")
def work():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: sum(range(400000))
    return ""
@app.route("/end")
def end():
    threading.Thread(target=server.shutdown).start()
    return ""
server = make_server("127.0.0.1", 0, app, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
"""
GEVENT = """import time
import gevent
from gevent.pywsgi import WSGIServer
def app(environ, start):
    end = time.thread_time() + 0.2
    while environ["PATH_INFO"] == "/work" and time.thread_time() < end: sum(range(400000))
    if environ["PATH_INFO"] == "/end": gevent.spawn_later(0.2, server.stop)
    start("200 OK", [])
    return [b""]
server = WSGIServer(("127.0.0.1", 0), app, log=None)
server.start()
print(server.server_port, flush=True)
server.serve_forever()
"""
LIBRARIES = {"with_flask.py": "flask", "with_gevent.py": "gevent"}
CONSUMER = """import queue, threading
jobs = queue.Queue()
threading.Timer(4, jobs.put, [None]).start()
print(0, flush=True)
for job in iter(jobs.get, None):
    pass
"""
CLIENT = """import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    answer = s.recv(10)
"""
ASKS = """print(0, flush=True)
name = input()
"""


ASYNC = """import asyncio, time
async def serve(reader, writer):
    path = (await reader.readline()).split()[1]
    end = time.thread_time() + 0.2
    while path == b"/work" and time.thread_time() < end: sum(range(400000))
    writer.write(b"HTTP/1.0 200 OK\\r\\n\\r\\n")
    await writer.drain()
    writer.close()
    if path == b"/end": over.set()
async def main():
    global over
    over = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await over.wait()
asyncio.run(main())
"""
UNASKED = """import asyncio
async def main():
    over = asyncio.Event()
    server = await asyncio.start_server(print, HOST, 0)
    asyncio.get_running_loop().call_later(4, over.set)
    print(0, flush=True)
    await over.wait()
asyncio.run(main())
"""
ASYNC_CLIENT = """import asyncio
async def main():
    reader, _ = await asyncio.open_connection("127.0.0.1", PORT)
    await reader.read(10)
asyncio.run(main())
"""


AWAITS = sys.version_info < (3, 14)  # coroutines are read of these; of others the line that runs the loop is named


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=300) as answer:
        return answer.read()


def end(port):
    """The server may be gone before its thread has answered."""
    try:
        get(port, "/end")
    except (OSError, http.client.HTTPException):
        pass


def headline(check, folder, name, source, talk):
    """Of a program that prints a port, and ends after talk(port, seconds that it took to start, process)."""
    (folder / name).write_text(source)
    begin = time.monotonic()
    words = command(folder / "runs", "--", sys.executable, name)
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        port = p.stdout.readline()
        talk(int(port or 0), time.monotonic() - begin, p)
        _, said = p.communicate(timeout=300)
    if not check.must(p.returncode == 0 and port, f"{name}: {p.returncode} {said}"):
        return ""
    print(f"  {name}: {profile(folder / 'runs')['headline']}")
    return profile(folder / "runs")["headline"]


def line_of(source, text):
    return next(i for i, line in enumerate(source.splitlines(), 1) if text in line)


def server(threads):
    return SERVER.replace("THREADS", threads)


def work(port, started, process):
    """Half of the time is idle, on a machine that does nothing else nine tenths."""
    for _ in range(6):
        begin = time.monotonic()
        get(port, "/work")
        time.sleep(max(0.3, time.monotonic() - begin))
    end(port)


def idle(port, started, process):
    time.sleep(2 + 2 * started)
    end(port)


@of_samples
def a_server_that_works(check, folder):
    for name, source in (("plain.py", server("HTTPServer")), ("threads.py", server("ThreadingHTTPServer")), ("loop.py", ASYNC), ("with_flask.py", FLASK),
                         ("with_gevent.py", GEVENT)):
        if name in LIBRARIES and not importlib.util.find_spec(LIBRARIES[name]):
            print(f"  skipped: {LIBRARIES[name]} is not installed")
            continue
        said = headline(check, folder, name, source, work)
        at = line_of(source, "while")
        check.that(said.startswith(f"{name}:{at} ") and "of the CPU time" in said, f"{name}: {said}")


@of_samples
def a_server_that_is_idle(check, folder):
    for name, source, line in (("plain.py", server("HTTPServer"), "server.serve_forever"), ("loop.py", ASYNC, "over.wait" if AWAITS else "asyncio.run"),
                               ("with_flask.py", FLASK, "server.serve_forever"), ("with_gevent.py", GEVENT, "server.serve_forever")):
        if name in LIBRARIES and not importlib.util.find_spec(LIBRARIES[name]):
            continue
        said = headline(check, folder, name, source, idle)
        check.that(said.startswith(f"{name}:{line_of(source, line)} ") and "it was idle" in said, f"{name}: {said}")
        first = profile(folder / "runs")["answers"][0]
        check.that(first["kind"] == "idle" and first["gain_s"] is None, f"{first}")


@of_samples
def a_consumer_without_jobs(check, folder):
    said = headline(check, folder, "consumer.py", CONSUMER, lambda *words: None)
    check.that(said.startswith(f"consumer.py:{line_of(CONSUMER, 'iter')} ") and "it was idle" in said, said)


@of_samples
def one_to_which_nobody_connects(check, folder):
    for host in ("127.0.0.1", "::1"):
        try:
            socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        except OSError as e:
            print(f"  skipped: no server at {host}: {e}")
            continue
        said = headline(check, folder, "unasked.py", UNASKED.replace("HOST", repr(host)), lambda *words: None)
        check.that(said.startswith(f"unasked.py:{line_of(UNASKED, 'over.wait' if AWAITS else 'asyncio.run')} ") and "it was idle" in said, said)
        used = [f["path"] for f in profile(folder / "runs")["io"]["files"] if "clients of" in f["path"]]
        check.that(not used, f"no client ever came: {used}")


@of_samples
def one_that_waits_itself(check, folder):
    """A slow answer of another machine, and a person."""
    for name, text, line in (("client.py", CLIENT.replace("sys.argv[1]", "PORT"), "recv"), ("loop_client.py", ASYNC_CLIENT, "reader.read" if AWAITS else "asyncio.run")):
        with socket.create_server(("127.0.0.1", 0)) as remote:
            def answer(remote=remote):
                with remote.accept()[0] as s:
                    time.sleep(3)
                    s.send(b"x")

            threading.Thread(target=answer).start()
            source = text.replace("PORT", str(remote.getsockname()[1])) + "print(0, flush=True)\n"
            said = headline(check, folder, name, source, lambda *words: None)
            check.that(said.startswith(f"{name}:{line_of(source, line)} ") and "waits for" in said and "idle" not in said, said)

    def person(port, started, process):
        time.sleep(2 + 2 * started)
        process.stdin.write("a name\n")
        process.stdin.flush()

    said = headline(check, folder, "asks.py", ASKS, person)
    check.that(said.startswith("asks.py:2 ") and "waits for" in said and "idle" not in said, said)


need_library()
main(a_server_that_works, a_server_that_is_idle, a_consumer_without_jobs, one_to_which_nobody_connects, one_that_waits_itself)
