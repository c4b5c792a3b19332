"""DNS: each name is looked up at a slow name server (slow_names.py), which /etc/resolv.conf names in a mount namespace."""

import ctypes
import os
import socket
import time

from truth import phase

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, BIND, PRIVATE = 0x20000, 0x1000, 0x44000  # PRIVATE: with all mounts below


def use_server(address):
    with open("resolv.conf", "w") as f:
        f.write(f"nameserver {address}\n")
    if libc.unshare(NEWNS) or libc.mount(None, b"/", None, PRIVATE, None) or libc.mount(b"resolv.conf", b"/etc/resolv.conf", None, BIND, None):
        raise OSError(ctypes.get_errno(), "no mount namespace")


def address(name):
    with phase("look"):
        return socket.getaddrinfo(name, 80, socket.AF_INET)[0][4][0]  # truth: look


def checksum(text):
    with phase("sum"):
        return sum(ord(c) for c in text * 40000)  # truth: sum


while not os.path.exists("names"):
    time.sleep(0.01)
use_server("127.0.0.153")
print(sum(checksum(address(f"host{k}.example.org")) for k in range(10)))
