"""Files behind a URL: every format, the same bytes as from the disk; faults that pass and faults that stay; nothing asked of others."""

import json
import shutil

import numpy as np

import scans
from ranges import serve
from test_scans import hdf5_here
from tool import DATA, main, relative, tomoprof

STORE = DATA / "store"
NAMES = ["f4.npy", "i4_fortran.npy", "f4_v2.nii", "i2_bgzf.nii.gz", "u2_big.tif", "u2_deflate_tiles.tif", "u2.txrm", "raw.czi", "tiles.czi",
         "zarr2/blosc", "zarr3/sharded", "ome.zarr"]


def there(check):
    if json.loads(tomoprof("doctor", "--json").stdout)["rows"]["remote_files"]["state"] == "ok":
        return True
    done = tomoprof("load", "http://127.0.0.1:1/x.npy")
    check.that(done.returncode == 1 and "install libcurl4-openssl-dev" in done.stderr, done.stderr)
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
    names = [n for n in NAMES if (STORE / n).exists()]
    check.that(len(names) > 9, f"only {names}")
    names += ["kinds.h5", "../scan/nxtomo.nx"] if hdf5_here(check) else []
    with serve(DATA) as (url, server):
        for name in names:
            path = (STORE / name).resolve()
            local, remote = converted(check, path, folder / "a.npy"), converted(check, f"{url}/{path.relative_to(DATA)}", folder / "b.npy")
            same = local is not None and remote is not None and local.dtype == remote.dtype and np.array_equal(local, remote)
            check.that(same, f"{name} differs behind a URL")
        mine = json.loads(tomoprof("info", "--json", STORE / "ome.zarr").stdout)
        its = json.loads(tomoprof("info", "--json", f"{url}/store/ome.zarr/").stdout)
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
        for name in ["scan/parallel.txrm"] + (["scan/exchange.h5"] if hdf5_here(check) else []):
            volumes = []
            for source in (DATA / name, f"{url}/{name}"):
                out = folder / "v.npy"
                out.unlink(missing_ok=True)
                done = tomoprof("recon", "--in", source, "--center", scans.CENTER, "--out", out)
                check.that(done.returncode == 0, f"recon {source}: {done.stderr}")
                volumes.append(np.load(out))
            check.that(relative(*volumes) == 0, f"{name}: another volume")


def faults_that_pass(check, folder):
    """A busy server, connections that break, one without HEAD: repeated until the bytes are there."""
    if not there(check):
        return
    shutil.copy(STORE / "u2_deflate_tiles.tif", folder / "x.tif")
    truth = converted(check, folder / "x.tif", folder / "a.npy")
    for name, fault in (("503", lambda n, h: "503" if n % 3 == 0 else None), ("hang up", lambda n, h: "hang up" if n % 4 == 1 else None),
                        ("cut", lambda n, h: "cut" if n % 5 == 2 else None), ("no HEAD", lambda n, h: "no HEAD"),
                        ("same host", lambda n, h: f"to /x.tif?again" if "again" not in h.path and n % 3 == 0 else None)):
        with serve(folder, fault=fault) as (url, server):
            if name == "same host":
                server.folder = folder / "served"
                server.folder.mkdir(exist_ok=True)
                shutil.copy(folder / "x.tif", server.folder / "x.tif")
                shutil.copy(folder / "x.tif", server.folder / "x.tif?again")
            found = converted(check, f"{url}/x.tif", folder / "b.npy")
            check.that(found is not None and np.array_equal(found, truth), f"{name}: other bytes")


def faults_that_stay(check, folder):
    if not there(check):
        return
    shutil.copy(STORE / "f4.npy", folder / "x.npy")
    cases = (("503", "the server answers 503, in each of 6 tries", 1), ("login", "the server answers 403: it needs a login", 2),
             ("to http://localhost:1/x.npy", "leads to another host (http://localhost:1/x.npy): refused", 2),
             ("to https://127.0.0.1/x.npy", "leads to another host", 2), ("to /x.npy", "leads in a circle", 2),
             ("no ranges", "more bytes come than were asked for", 2), (None, "is neither a file nor a Zarr store", 2))
    for fault, phrase, code in cases:
        (folder / "big.npy").write_bytes((STORE / "f4.npy").read_bytes() + b"\0" * 70000)
        with serve(folder, fault=lambda n, h: fault) as (url, server):
            name = {"no ranges": "big.npy", None: "none.npy"}.get(fault, "x.npy")
            done = tomoprof("convert", f"{url}/{name}", folder / "y.npy", timeout=600)
            check.that(done.returncode == code and phrase in done.stderr, f"{fault}: exit {done.returncode}: {done.stderr}")
            check.that(not (folder / "y.npy").exists() and not list(folder.glob("*.tmp*")), f"{fault}: left a file")
    for name in ("http://127.0.0.1:1/x.npy", "s3://bucket"):
        done = tomoprof("info", name, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, timeout=600)
        check.that(done.returncode in (1, 2) and name in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def signed(check, folder):
    """s3:// names: path style at an endpoint, signed with version 4 when there are keys, and the keys nowhere else."""
    if not there(check):
        return
    (folder / "bucket").mkdir()
    shutil.copy(STORE / "f4.npy", folder / "bucket/x.npy")
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


if __name__ == "__main__":
    main(every_format, missing_chunks, scan, faults_that_pass, faults_that_stay, signed, few_requests)
