"""An object store on loopback, by moto: server.py SECONDS FILE. Each answer waits so long while FILE is there. Its port goes to stdout."""

import logging
import os
import sys
import time

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

store = DomainDispatcherApplication(create_backend_app)
delay_s, mark = float(sys.argv[1]), sys.argv[2]


def answer(environment, start):
    if os.path.exists(mark):
        time.sleep(delay_s)
    return store(environment, start)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, answer, threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
