"""sqlite3: a commit for each row."""

import sqlite3

from truth import phase


def connected():
    db = sqlite3.connect("views.db")
    db.execute("CREATE TABLE views (k INTEGER, angle REAL, name TEXT)")
    return db


def store(db, k):
    with phase("insert"):
        db.execute("INSERT INTO views VALUES (?, ?, ?)", (k, k * 0.5, f"view {k}"))  # truth: insert
    with phase("commit"):
        db.commit()  # truth: commit


db = connected()
for k in range(300):
    store(db, k)
with phase("select"):
    print(db.execute("SELECT sum(angle), max(name) FROM views").fetchone())  # truth: select
