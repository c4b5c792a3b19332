"""requests against a slow server (slow_server.py), and what it does with the answers."""

import json
import os
import time

import requests
from truth import phase

while not os.path.exists("port"):
    time.sleep(0.01)
session = requests.Session()
for k in range(8):
    with phase("get"):
        answer = session.get(f"http://127.0.0.1:{open('port').read()}/{k}")  # truth: get
    with phase("parse"):
        for _ in range(20):
            numbers = json.loads(answer.text)  # truth: parse
session.get(f"http://127.0.0.1:{open('port').read()}/end")
