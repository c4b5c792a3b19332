"""sqlite3 in WAL mode: two threads read while one writes."""

import sqlite3
import threading

from truth import phase


def connected():
    db = sqlite3.connect("wal.db", timeout=300)
    db.execute("PRAGMA journal_mode=WAL")
    return db


def read():
    db = connected()
    for _ in range(40):
        with phase("read"):
            db.execute("SELECT sum(length(hex(b)) * a) FROM t").fetchone()  # truth: read


def write():
    db = connected()
    for k in range(60):
        with phase("write"):
            db.execute("INSERT INTO t VALUES (?, ?)", (k, b"x" * 1000))
            db.commit()  # truth: write


db = connected()
db.execute("CREATE TABLE t (a INTEGER, b BLOB)")
with phase("fill"):
    db.executemany("INSERT INTO t VALUES (?, ?)", ((i, b"y" * 200) for i in range(60000)))  # truth: fill
    db.commit()
threads = [threading.Thread(target=f) for f in (read, read, write)]
for t in threads:
    t.start()
for t in threads:
    t.join()
