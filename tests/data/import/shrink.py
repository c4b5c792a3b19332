"""Makes the fixtures of this folder from fresh captures: what an importer does not read is left out, and with it what names a machine.

    python3 shrink.py nsys CAPTURE.sqlite OUT.sqlite.gz          tables that are read, rows of the program alone
    python3 shrink.py torch CAPTURE.json OUT.json.gz             without the host's name
    python3 shrink.py xplane CAPTURE.xplane.pb OUT.xplane.pb     without the plane of the environment and the host's name"""

import gzip
import json
import pathlib
import sqlite3
import sys

TABLES = ("StringIds", "ANALYSIS_DETAILS", "PROCESSES", "ThreadNames", "SCHED_EVENTS", "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "OSRT_API",
          "OSRT_CALLCHAINS", "NVTX_EVENTS", "META_DATA_EXPORT")


def nsys(source, target):
    database = sqlite3.connect(":memory:")
    sqlite3.connect(source).backup(database)
    program = database.execute("SELECT DISTINCT globalTid / 16777216 FROM NVTX_EVENTS").fetchone()[0]
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if name not in TABLES:
            database.execute(f'DROP TABLE "{name}"')
    for table, column in [("PROCESSES", "globalPid"), ("ThreadNames", "globalTid"), ("SCHED_EVENTS", "globalTid"), ("COMPOSITE_EVENTS", "globalTid")]:
        database.execute(f"DELETE FROM {table} WHERE {column} / 16777216 <> ?", [program])
    database.execute("DELETE FROM SAMPLING_CALLCHAINS WHERE id NOT IN (SELECT id FROM COMPOSITE_EVENTS)")
    database.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_PRODUCT%' AND name NOT LIKE 'EXPORT_SCHEMA%'")
    used = [("ThreadNames", "nameId"), ("OSRT_API", "nameId"), ("NVTX_EVENTS", "textId"), ("SAMPLING_CALLCHAINS", "symbol"), ("SAMPLING_CALLCHAINS", "module"),
            ("OSRT_CALLCHAINS", "symbol"), ("OSRT_CALLCHAINS", "module")]
    database.execute("DELETE FROM StringIds WHERE id NOT IN (" + " UNION ".join(f"SELECT {c} FROM {t} WHERE {c} IS NOT NULL" for t, c in used) + ")")
    for (key, value) in database.execute("SELECT id, value FROM StringIds WHERE value LIKE '/%'").fetchall():
        database.execute("UPDATE StringIds SET value = ? WHERE id = ?", [value if value.startswith("/usr/") and "nsight" not in value else "/" + value.rsplit("/", 1)[1], key])
    database.commit()
    database.execute("VACUUM")
    pathlib.Path(target).write_bytes(gzip.compress(database.serialize(), mtime=0))


def torch(source, target):
    trace = json.loads(pathlib.Path(source).read_text())
    trace.pop("host_name", None)
    trace.pop("trace_id", None)
    pathlib.Path(target).write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))


def fields(data):
    """(number, bytes of the whole field, payload) of a message whose fields all have a length"""
    at = 0
    while at < len(data):
        begin, size, shift, tag = at, 0, 0, data[at]
        at += 1
        while True:
            byte, at = data[at], at + 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield tag >> 3, data[begin:at + size], data[at:at + size]
        at += size


def xplane(source, target):
    kept = [whole for number, whole, payload in fields(pathlib.Path(source).read_bytes()) if number == 1 and b"Task Environment" not in payload[:64]]
    pathlib.Path(target).write_bytes(b"".join(kept))


if __name__ == "__main__":
    {"nsys": nsys, "torch": torch, "xplane": xplane}[sys.argv[1]](*sys.argv[2:])
