"""sqlite3: a commit for each row, so the disk is waited for each time."""

import sqlite3

from truth import phase


def connected():
    db = sqlite3.connect("views.db")
    db.execute("CREATE TABLE views (k INTEGER, angle REAL, name TEXT)")
    return db


def store(db, n):
    for k in range(n):
        db.execute("INSERT INTO views VALUES (?, ?, ?)", (k, k * 0.5, f"view {k}"))
        db.commit()  # truth: commit


db = connected()
with phase("commit"):
    store(db, 1000)
with phase("select"):
    print(db.execute("SELECT sum(angle), max(name) FROM views").fetchone())  # truth: select
