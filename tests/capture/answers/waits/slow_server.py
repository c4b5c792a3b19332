"""Answers each request after 0.4 s, until it is asked to end."""

import http.server
import json
import os
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.4)
        body = json.dumps(list(range(20000))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.path == "/end":  # once it is answered: the process ends with its threads
            threading.Thread(target=server.shutdown).start()

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as f:
    f.write(str(server.server_port))
os.rename("port.new", "port")
server.serve_forever()
