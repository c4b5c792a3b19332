"""Asks flask_app.py 100 times, and then to end."""

import os
import time
import urllib.request

while not os.path.exists("port"):
    time.sleep(0.05)
for path in ["/"] * 100 + ["/end"]:
    urllib.request.urlopen(f"http://127.0.0.1:{open('port').read()}{path}", timeout=300).read()
