"""Files behind a URL: every format, the same bytes as from the disk; faults that pass and faults that stay; nothing asked of others."""

import collections
import concurrent.futures
import json
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import scans
from ranges import serve
from tool import DATA, TOMOPROF, have, main, relative, tomoprof

STORE = DATA / "store"
NAMES = ["npy/f4.npy", "npy/i4_fortran.npy", "nifti/f4_v2.nii", "nifti/i2_bgzf.nii.gz", "tiff/u2_big.tif", "tiff/u2_deflate_tiles.tif", "txrm/u2.txrm",
         "czi/raw.czi", "czi/tiles.czi", "zarr/zarr2/blosc", "zarr/zarr3/sharded", "zarr/ome.zarr", "hdf5/refs.json"]

NEEDS = {"zarr/zarr2/blosc": "blosc", "czi/tiles.czi": "zstd", "zarr/zarr3/sharded": "zstd"}


def there(check):
    if json.loads(tomoprof("doctor", "--json").stdout)["rows"]["remote_files"]["state"] == "ok":
        return True
    done = tomoprof("load", "http://127.0.0.1:1/x.npy")
    check.that(done.returncode == 1 and "install libcurl4" in done.stderr, done.stderr)
    return False


def converted(check, source, out, *args):
    out.unlink(missing_ok=True)
    done = tomoprof("convert", source, out, *args)
    check.that(done.returncode == 0, f"convert {source}: exit {done.returncode}: {done.stderr}")
    return np.load(out) if out.exists() else None


def every_format(check, folder):
    """By name of this list: the array that `convert` makes of the disk's file and of the server's."""
    if not there(check):
        return
    check.that(all((STORE / n).exists() for n in NAMES), f"not all of {NAMES}")
    names = [n for n in NAMES if n not in NEEDS or have("chunk_codecs", NEEDS[n])]
    names += ["hdf5/kinds.h5", "../scan/nxtomo.nx"] if have("hdf5") else []
    with serve(DATA) as (url, server):
        for name in names:
            path = (STORE / name).resolve()
            array = ("--array", "f8") if name == "hdf5/kinds.h5" else ()  # one of its links leads nowhere
            local, remote = (converted(check, p, folder / out, *array) for p, out in ((path, "a.npy"), (f"{url}/{path.relative_to(DATA)}", "b.npy")))
            same = local is not None and remote is not None and local.dtype == remote.dtype and np.array_equal(local, remote)
            check.that(same, f"{name} differs behind a URL")
        mine = json.loads(tomoprof("info", "--json", STORE / "zarr/ome.zarr").stdout)
        its = json.loads(tomoprof("info", "--json", f"{url}/store/zarr/ome.zarr/").stdout)
        check.that(its["arrays"] == mine["arrays"] and its["format"] == "OME-Zarr", f"info: {its}")


def missing_chunks(check, folder):
    """Chunks that a store leaves out are its fill value, also where no request for sizes was made."""
    if not there(check):
        return
    store = folder / "holes.zarr"
    store.mkdir()
    (store / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "compressor": None,
                                               "fill_value": 7, "filters": None, "order": "C"}))
    (store / "0.1").write_bytes(np.arange(6, dtype="<u2").tobytes())
    (store / "1.0").write_bytes(np.arange(6, 12, dtype="<u2").tobytes())
    truth = np.full((4, 6), 7, np.uint16)
    truth[:2, 3:], truth[2:, :3] = np.arange(6).reshape(2, 3), np.arange(6, 12).reshape(2, 3)
    with serve(folder) as (url, server):
        found = converted(check, f"{url}/holes.zarr", folder / "x.npy")
        check.that(np.array_equal(found, truth), f"{found}")
        (store / "1.0").write_bytes(b"short")
        done = tomoprof("convert", f"{url}/holes.zarr", folder / "y.npy")
        check.that(done.returncode == 2 and "5 bytes are stored, 12 are needed" in done.stderr, done.stderr)
        check.that(not (folder / "y.npy").exists(), "half an array")


def scan(check, folder):
    """recon of a scan on a server; few bytes for few rows of a file whose rows lie apart."""
    if not there(check):
        return
    with serve(DATA) as (url, server):
        for name in ["scan/parallel.txrm"] + (["scan/exchange.h5"] if have("hdf5") else []):
            volumes = []
            for source in (DATA / name, f"{url}/{name}"):
                out = folder / "v.npy"
                out.unlink(missing_ok=True)
                done = tomoprof("recon", "--in", source, "--center", scans.CENTER, "--out", out)
                check.that(done.returncode == 0, f"recon {source}: {done.stderr}")
                volumes.append(np.load(out))
            check.that(relative(*volumes) == 0, f"{name}: another volume")


def first_tries(fault, tries=1):
    """A fault of the first tries of every request, whatever order threads ask in."""
    seen = collections.Counter()

    def of(number, handler):
        key = handler.command, handler.headers.get("Range")
        with handler.server.lock:
            seen[key] += 1
            return fault if seen[key] <= tries else None
    return of


def side_by_side(cases, function):
    """What function(case) gives for each, a few at a time: they wait more than they compute."""
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        return zip(cases, pool.map(function, cases))


def faults_that_pass(check, folder):
    """A busy server, connections that break, one without HEAD: repeated until the bytes are there."""
    if not there(check):
        return
    shutil.copy(STORE / "tiff/u2_deflate_tiles.tif", folder / "x.tif")
    truth = converted(check, folder / "x.tif", folder / "a.npy")
    for name, fault in (("503", first_tries("503", 2)), ("hang up", first_tries("hang up")), ("cut", first_tries("cut")),
                        ("no HEAD", lambda n, h: "no HEAD"), ("same host", lambda n, h: None if "again" in h.path else "to /x.tif?again")):
        with serve(folder, fault=fault) as (url, server):
            if name == "same host":
                server.folder = folder / "served"
                server.folder.mkdir(exist_ok=True)
                shutil.copy(folder / "x.tif", server.folder / "x.tif?again")
            found = converted(check, f"{url}/x.tif", folder / "b.npy")
            check.that(found is not None and np.array_equal(found, truth), f"{name}: other bytes")
            check.that(len(server.asked) > 3, f"{name}: only {len(server.asked)} requests")


def faults_that_stay(check, folder):
    if not there(check):
        return
    shutil.copy(STORE / "npy/f4.npy", folder / "x.npy")
    (folder / "big.npy").write_bytes((STORE / "npy/f4.npy").read_bytes() + b"\0" * 70000)
    cases = (("503", "the server answers 503, in each of 6 tries", 1), ("login", "the server answers 403: it needs a login", 2),
             ("to http://localhost:1/x.npy", "leads to another host (http://localhost:1/x.npy): refused", 2),
             ("to https://127.0.0.1/x.npy", "leads to another host", 2), ("to /x.npy", "leads in a circle", 2),
             ("no ranges", "more bytes come than were asked for", 2), (None, "is neither a file nor a Zarr store", 2))

    def asked(case):
        with serve(folder, fault=lambda n, h: case[0]) as (url, server):
            name = {"no ranges": "big.npy", None: "none.npy"}.get(case[0], "x.npy")
            return tomoprof("convert", f"{url}/{name}", folder / f"y{cases.index(case)}.npy", timeout=600)
    for (fault, phrase, code), done in side_by_side(cases, asked):
        check.that(done.returncode == code and phrase in done.stderr, f"{fault}: exit {done.returncode}: {done.stderr}")
    check.that(sorted(p.name for p in folder.iterdir()) == ["big.npy", "x.npy"], f"left {list(folder.iterdir())}")
    with serve(folder, fault=lambda n, h: "login") as (url, server):
        done = tomoprof("info", f"{url}/x.zarr")
        check.that(done.returncode == 2 and "the server answers 403: it needs a login" in done.stderr, done.stderr)
    silent = ["http://127.0.0.1:1/x.zarr", "http://127.0.0.1:1/folder/"]
    for name, done in side_by_side(silent, lambda name: tomoprof("info", name, timeout=600)):
        check.that(done.returncode == 1 and name in done.stderr and ", in each of 6 tries" in done.stderr, f"nothing listens: {done.stderr}")
    for name, done in side_by_side(("http://127.0.0.1:1/x.npy", "s3://bucket"),
                                   lambda name: tomoprof("info", name, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, timeout=600)):
        check.that(done.returncode in (1, 2) and name in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def head(first, last, total, status="206 Partial Content", more=""):
    return (f"HTTP/1.1 {status}\r\nContent-Range: bytes {first}-{last}/{total}\r\nContent-Length: {last - first + 1}\r\n{more}"
            "Connection: close\r\n\r\n").encode()


def hostile(check, folder):
    """A server that lies: never other bytes, never without end, one sentence."""
    if not there(check):
        return
    shutil.copy(STORE / "npy/f4.npy", folder / "x.npy")
    size = (folder / "x.npy").stat().st_size

    def answers(make):
        def fault(number, handler):
            return None if handler.command == "HEAD" else lambda h, data, asked: h.wfile.write(make(data, *asked))
        return fault

    def endless_headers(number, handler):
        def write(h, data, asked):
            h.wfile.write(b"HTTP/1.1 206 Partial Content\r\n")
            for i in range(20000):
                h.wfile.write(b"X-%06d: %s\r\n" % (i, b"y" * 100))
        return write if handler.command == "GET" else None

    def endless_page(number, handler):
        def write(h, data, asked):
            h.wfile.write(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n")
            for i in range(2000):
                h.wfile.write(b"<p>not here</p>" * 100)
        return write if handler.command == "GET" else None

    def drip(number, handler):
        def write(h, data, asked):
            h.wfile.write(head(*asked, len(data)))
            for byte in data[asked[0]:asked[1] + 1]:
                h.wfile.write(bytes([byte]))
                time.sleep(0.1)
        return write if handler.command == "GET" else None

    table = (
        ("another range", answers(lambda d, a, b: head(a + 8, b + 8, size + 8) + d[a:b + 1]), "changed on the server", 2),
        ("a shifted range", answers(lambda d, a, b: head(a + 1, b + 1, size) + d[a:b + 1]), "(Content-Range) where 0 to", 2),
        ("no Content-Range", answers(lambda d, a, b: head(a, b, size).replace(b"Content-Range", b"X-Range") + d[a:b + 1]), "(Content-Range) where", 2),
        ("a torn Content-Range", answers(lambda d, a, b: head(a, b, size).replace(b"bytes 0-", b"bytes -") + d[a:b + 1]), "(Content-Range) where", 2),
        ("a short body that is announced", answers(lambda d, a, b: head(a, b - 9, size) + d[a:b - 8]), "(Content-Range) where", 2),
        ("a long body", answers(lambda d, a, b: head(a, b, size).replace(b"Content-Length", b"X") + d[a:b + 1] + b"z" * 999), "more bytes come", 2),
        ("compressed", answers(lambda d, a, b: head(a, b, size, more="Content-Encoding: gzip\r\n") + d[a:b + 1]), "Content-Encoding", 1),
        ("endless headers", endless_headers, "KiB of headers", 2),
        ("an endless page", endless_page, "KiB of headers, or an error page", 2),
        ("a slow drip", drip, "in each of 6 tries", 1),
    )

    def told(case):
        with serve(folder, fault=case[1]) as (url, server):
            env = {"TOMOPROF_HTTP_PATIENCE_S": "1"} if case[0] == "a slow drip" else {}
            return tomoprof("convert", f"{url}/x.npy", folder / f"y{table.index(case)}.npy", timeout=600, env=env)
    for (name, _, phrase, code), done in side_by_side(table, told):
        check.that(done.returncode == code and phrase in done.stderr and done.stderr.count("\n") == 1, f"{name}: exit {done.returncode}: {done.stderr}")
    check.that([p.name for p in folder.iterdir()] == ["x.npy"], f"left {list(folder.iterdir())}")


def another_file_midway(check, folder):
    """The object is replaced between two ranges: its ETag, its date or its size tells."""
    if not there(check):
        return
    np.save(folder / "x.npy", np.arange(1 << 20, dtype=np.uint16))
    for name, before, after in (("ETag", '"one"', '"two"'), ("Last-Modified", "Sun, 22 Nov 2026 08:00:00 GMT", "Sun, 22 Nov 2026 09:00:00 GMT")):
        for changes in (0, 1):
            def fault(number, handler):
                if changes and number > 3:
                    handler.server.headers = [(name, after)]
            with serve(folder, fault=fault) as (url, server):
                server.headers = [(name, before)]
                done = tomoprof("convert", f"{url}/x.npy", folder / "y.npy")
                check.that(len(server.asked) > 4 or changes, f"only {len(server.asked)} requests")
            told = "it changed on the server while it was read" in done.stderr
            check.that((done.returncode, told) == ((2, True) if changes else (0, False)), f"{name}: exit {done.returncode}: {done.stderr}")
            (folder / "y.npy").unlink(missing_ok=True)


def garbled(check, folder):
    """Answers with random faults, of a file with checksums: the right bytes, or one sentence, never a crash."""
    if not there(check):
        return
    shutil.copy(STORE / "tiff/u2_deflate_tiles.tif", folder / "x.tif")
    truth = converted(check, folder / "x.tif", folder / "a.npy")
    rates = {seed: 12 if seed % 2 else 200 for seed in range(24)} | {"never": 0, "always": 1}  # one answer in so many is garbled

    def converts(seed):
        times = collections.Counter()

        def fault(number, handler):
            # The draw belongs to the range of bytes and to how often it was asked for: threads ask in any order.
            key = f"{handler.command} {handler.headers.get('Range')}"
            with handler.server.lock:
                times[key] += 1
                draw = random.Random(f"{seed} {key} {times[key]}")

            def write(h, data, asked):
                text = bytearray(head(*(asked or (0, len(data) - 1)), len(data), "206 Partial Content" if asked else "200 OK"))
                for _ in range(draw.randrange(1, 4)):
                    at = draw.randrange(len(text))
                    kind = draw.randrange(4)
                    if kind == 0:
                        text[at] = draw.randrange(256)
                    elif kind == 1:
                        del text[at:at + draw.randrange(1, 20)]
                    elif kind == 2:
                        text[at:at] = bytes(draw.choice(b"0123456789-/:\r\n\0 z") for _ in range(draw.randrange(1, 30)))
                    else:
                        text[at:at] = text[draw.randrange(len(text)):]
                body = data[asked[0]:asked[1] + 1] if asked else data
                h.wfile.write(bytes(text) + (body if h.command == "GET" else b""))
            return write if rates[seed] and draw.randrange(rates[seed]) == 0 else None
        with serve(folder, fault=fault) as (url, server):
            # What is garbled may wait for bytes that do not come.
            env = {"TOMOPROF_HTTP_PATIENCE_S": "2"} if rates[seed] else {}
            return tomoprof("convert", f"{url}/x.tif", folder / f"{seed}.npy", timeout=600, env=env)
    for seed, done in side_by_side(rates, converts):
        out = folder / f"{seed}.npy"
        errors = [line for line in done.stderr.splitlines() if not line.startswith("Not kept: ")]  # that comes before anything is written
        check.that(done.returncode in (0, 1, 2) and (done.returncode == 0 or len(errors) == 1), f"seed {seed}: {done.returncode} {done.stderr}")
        check.that(out.exists() == (done.returncode == 0), f"seed {seed}: left a file")
        if out.exists():
            check.that(np.array_equal(np.load(out), truth), f"seed {seed}: other bytes")
        if isinstance(seed, str):
            check.that((done.returncode == 0) == (seed == "never"), f"{seed} garbled: {done.returncode} {done.stderr}")
    check.that(not list(folder.glob("*.tmp*")), f"left {list(folder.iterdir())}")


def signed(check, folder):
    """s3:// names: path style at an endpoint, signed with version 4 when there are keys, and the keys nowhere else."""
    if not there(check):
        return
    (folder / "bucket").mkdir()
    shutil.copy(STORE / "npy/f4.npy", folder / "bucket/x.npy")
    with serve(folder) as (url, server):
        env = {"AWS_ENDPOINT_URL": url, "AWS_REGION": "eu-test-1"}
        for keys in ({}, {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not told to anybody", "AWS_SESSION_TOKEN": "visit"}):
            server.asked.clear()
            done = tomoprof("load", "s3://bucket/x.npy", "--json", "--out", folder / "out", env=env | keys)
            check.that(done.returncode == 0, done.stderr)
            sent = [h.get("Authorization", "") for _, _, _, h in server.asked]
            if keys:
                check.that(all(s.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") and "/eu-test-1/s3/aws4_request" in s for s in sent), f"{sent}")
                check.that(all(h.get("x-amz-security-token") == "visit" for _, _, _, h in server.asked), "no session token")
            else:
                check.that(sent and not any(sent), f"signed without keys: {sent}")
            check.that("not told" not in done.stdout + done.stderr + repr(server.asked), "the secret key is told")
    done = tomoprof("info", "s3://bucket/a=b.npy", env=env)
    check.that(done.returncode == 1 and "the character '='" in done.stderr, done.stderr)


def secrets_in_addresses(check, folder):
    """Signatures and passwords of an address: in no file of a run, and not on the terminal; the server gets them."""
    if not there(check):
        return
    secret = "hunter2-q9x"
    shutil.copy(STORE / "npy/f4.npy", folder / "x.npy")
    with serve(folder) as (url, server):
        signed_url = f"{url}/x.npy?X-Amz-Signature={secret}&x=1"
        names = [signed_url, f"{url}/x.npy?sig={secret}", url.replace("://", f"://me:{secret}@") + "/x.npy", f"{url}/none.npy?token={secret}"]
        for i, name in enumerate(names):
            for words in (["info", name], ["load", name, "--tune", "--out", folder / "runs"], ["load", name, signed_url, "--out", folder / "runs"],
                          ["load", name, "--json", "--out", folder / "runs"], ["convert", name, folder / f"{i}.npy"], ["recon", "--in", name, "--out", folder / "v.npy"]):
                done = tomoprof(*words)
                check.that(done.returncode == (0 if (i < 3 or signed_url in words[2:]) and words[0] != "recon" else 2), f"{words[0]} {name}: {done.returncode} {done.stderr}")
                check.that(secret not in done.stdout + done.stderr, f"{words[0]}: {done.stdout[-900:]} {done.stderr}")
        check.that(any(secret in path for _, path, *_ in server.asked), f"the server got {server.asked[:3]}")
    files = [p for p in (folder / "runs").rglob("*") if p.is_file()]
    check.that(len(files) >= 20, f"{len(files)} files")
    for path in files:
        check.that(secret.encode() not in path.read_bytes(), f"{path.name} holds the secret")


OLD = """#include <curl/curl.h>
static curl_version_info_data data = {.age = CURLVERSION_FIRST, .version = "7.61.1", .version_num = 0x073d01};
curl_version_info_data *curl_version_info(CURLversion v) { (void)v; return &data; }
CURLcode curl_global_init(long flags) { (void)flags; return CURLE_OK; }
"""
FUNCTIONS = "easy_init easy_cleanup easy_reset easy_setopt easy_getinfo easy_perform easy_strerror slist_append slist_free_all"


def the_library_of_the_machine(check, folder):
    """Opened at run time: one that is missing, and one as RHEL 8 has it, which cannot sign."""
    if not there(check):
        return
    env = {"TOMOPROF_LIBCURL": "/none/libcurl.so.4"}
    done = tomoprof("load", "http://127.0.0.1:1/x.npy", env=env)
    check.that(done.returncode == 1 and "libcurl cannot be opened (/none/libcurl.so.4" in done.stderr and "install libcurl4" in done.stderr, done.stderr)
    row = json.loads(tomoprof("doctor", "--json", env=env).stdout)["rows"]["remote_files"]
    check.that(row["state"] == "missing" and "TOMOPROF_LIBCURL" in row["fix"], f"{row}")
    if not shutil.which("cc"):
        print("an old libcurl: skipped, cc is not installed")
        return
    (folder / "old.c").write_text(OLD)
    (folder / "rest.c").write_text("#include <stdlib.h>\n" + "".join(f"void curl_{name}(void) {{ abort(); }}\n" for name in FUNCTIONS.split()))
    made = subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "old.so", folder / "old.c", folder / "rest.c"], capture_output=True, text=True)
    check.must(made.returncode == 0, made.stderr)
    env = {"TOMOPROF_LIBCURL": str(folder / "old.so"), "AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "B"}
    done = tomoprof("load", "s3://bucket/x.npy", env=env)
    check.that(done.returncode == 1 and "libcurl 7.61.1 cannot sign requests; expected libcurl 7.75" in done.stderr, done.stderr)


def few_requests(check, folder):
    """A slice costs one request for each run of bytes, and no more bytes than that; a store's chunks are not asked for their sizes."""
    if not there(check):
        return
    np.save(folder / "x.npy", np.zeros((64, 64, 1024), np.uint16))
    with serve(folder) as (url, server):
        done = tomoprof("load", f"{url}/x.npy", "--tiles", "2", "--json", "--out", folder / "out")
        check.that(done.returncode == 0, done.stderr)
        said = json.loads(done.stdout)
        ranges = [r for _, _, r, _ in server.asked if r]
        check.that(said["chunks_read"] == 2 and len(ranges) <= 4 and server.sent < (4 << 20), f"{ranges}, {server.sent} bytes")
        check.that(said["file"]["filesystem"] == "http", f"{said['file']}")


def interrupted(check, folder):
    """A server that is connected and never answers: the first signal ends each command, and nothing is left."""
    if not there(check):
        return
    out = folder / "out"
    out.mkdir()
    calls = (("info",), ("load", "--out", out), ("convert", out / "x.npy"), ("recon", "--out", out / "v.npy"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x.h5"
        for number in (signal.SIGINT, signal.SIGTERM):
            for command, *words in calls:
                words = [*words, *(["--in"] if command == "recon" else []), url]
                p = subprocess.Popen([TOMOPROF, command, *(reversed(words) if command == "convert" else words)], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
                connection, _ = server.accept()
                connection.recv(1000)
                p.send_signal(number)
                try:
                    said = p.communicate(timeout=30)[1]
                except subprocess.TimeoutExpired:
                    p.kill()
                    said = p.communicate()[1]
                check.that(p.returncode == -number, f"{command}, signal {number}: exit {p.returncode}, said {said!r}")
                connection.close()
        check.that(not list(out.iterdir()), f"left {list(out.iterdir())}")


if __name__ == "__main__":
    main(every_format, missing_chunks, scan, faults_that_pass, faults_that_stay, hostile, another_file_midway, garbled, signed, secrets_in_addresses, the_library_of_the_machine, few_requests, interrupted)
