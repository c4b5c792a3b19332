"""Flask behind its threaded development server, until a client has asked a hundred times."""

import pathlib
import subprocess
import sys
import threading

from flask import Flask
from jobs import digest, ordered, total
from werkzeug.serving import make_server

app = Flask(__name__)
app.add_url_rule("/sum", "sum", total)
app.add_url_rule("/hash", "hash", digest)
app.add_url_rule("/sort", "sort", ordered)
server = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=server.serve_forever).start()
client = pathlib.Path(__file__).with_name("client.py")
print(subprocess.run([sys.executable, client, str(server.port)], capture_output=True, text=True).stdout)
server.shutdown()
