"""A server of byte ranges on the loopback interface, with latency and faults: what load, convert and recon meet behind a URL."""
import contextlib
import http.server
import pathlib
import re
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 300

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def plain(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self, body):
        server = self.server
        with server.lock:
            server.asked.append((self.command, self.path, self.headers.get("Range"), dict(self.headers)))
            number = len(server.asked)
        time.sleep(server.latency)
        fault = server.fault(number, self) if server.fault else None
        if fault == "503":
            return self.plain(503, [("Retry-After", "0")])
        if fault == "hang up":
            self.close_connection = True
            return self.connection.close()
        if fault == "login":
            return self.plain(403)
        if isinstance(fault, str) and fault.startswith("to "):
            return self.plain(302, [("Location", fault[3:])])
        if fault == "no HEAD" and not body:
            return self.plain(405, body=b"a page for people, which is longer than one byte")
        path = (server.folder / self.path.lstrip("/")).resolve()
        if not path.is_file():
            path = (server.folder / self.path.lstrip("/").partition("?")[0]).resolve()
        if not path.is_relative_to(server.folder.resolve()) or not path.is_file():
            return self.plain(404)
        data = path.read_bytes()
        if callable(fault):  # writes the answer itself, and hangs up
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            self.close_connection = True
            return fault(self, data, (int(asked[1]), min(int(asked[2]), len(data) - 1)) if asked else None)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and fault != "no ranges":
            first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            part = data[first:last + 1]
            headers = [("Content-Range", f"bytes {first}-{last}/{len(data)}"), ("Content-Length", str(len(part)))]
            self.send_response(206)
        else:
            part, headers = data, [("Content-Length", str(len(data)))]
            self.send_response(200)
        headers += server.headers
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if body:
            if fault == "cut":  # less than was announced
                self.close_connection = True
                part = part[:len(part) // 2]
            self.wfile.write(part)
            with server.lock:
                server.sent += len(part)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that had enough


@contextlib.contextmanager
def serve(folder, latency=0.0, fault=None):
    """(url, server) of the files below `folder`; fault(number of the request, handler) names what goes wrong, is a function that writes
    the answer (handler, bytes of the file, (first, last) or None), or is None."""
    server = Server(("127.0.0.1", 0), Handler)
    server.folder, server.latency, server.fault = pathlib.Path(folder), latency, fault
    server.headers = []  # (name, value) of every good answer
    server.asked, server.sent, server.lock = [], 0, threading.Lock()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server
    finally:
        server.shutdown()
        server.server_close()
