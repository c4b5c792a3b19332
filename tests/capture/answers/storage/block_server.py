"""Serves ranges of a file of 32 MiB over HTTP."""

import http.server
import os

DATA = bytes(range(256)) * (32 << 12)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(DATA)))
        self.end_headers()

    def do_GET(self):
        first, last = 0, len(DATA) - 1
        asked = self.headers.get("Range")
        if asked:
            first, last = (int(x) for x in asked.removeprefix("bytes=").split("-"))
        body = DATA[first:last + 1]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(DATA)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
