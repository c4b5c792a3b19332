"""Flask on its development server; flask_client.py asks it."""

import os
import threading

from flask import Flask
from truth import phase
from werkzeug.serving import make_server

app = Flask(__name__)


def histogram(n):
    counts = [0] * 16
    for i in range(n):  # truth: histogram
        counts[i * 7919 % 16] += 1  # truth: histogram
    return counts


@app.route("/")
def index():
    with phase("histogram"):
        return {"counts": histogram(150000)}


@app.route("/end")
def end():
    threading.Thread(target=server.shutdown).start()
    return {}


server = make_server("127.0.0.1", 0, app, threaded=True)
with open("port.new", "w") as f:
    f.write(str(server.port))
os.rename("port.new", "port")
server.serve_forever()
