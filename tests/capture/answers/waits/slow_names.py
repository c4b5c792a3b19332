"""A name server for names.py at 127.0.0.153:53, which answers after 0.3 s that every host is 10.0.0.1."""

import os
import socket
import time

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.153", 53))
open("names", "w").close()
while True:
    question, client = server.recvfrom(512)
    time.sleep(0.3)
    end = question.index(0, 12) + 5
    server.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\1", client)
