"""HDF5 files whose parts are links, as the command line meets them: other names, sources, files outside of the folder, references that lead nowhere."""

import json
import pathlib
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ranges import serve
from tool import DATA, have, main, tomoprof

LINKS = DATA / "links"
VIEWS, ROWS, CHANNELS = 12, 2, 16


def arrays(check, *args):
    done = tomoprof("info", "--json", *args)
    check.that(done.returncode == 0, f"info {args}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else {"arrays": {}, "unreadable": {}}


def check_whole(check, found):
    """All that `links.h5` and `away.h5` lead to."""
    rows = found["arrays"]
    check.that(found.get("has_theta") and found.get("darks") == found.get("flats") == 1 and found["unreadable"] == {}, f"{found}")
    check.that(sorted(rows) == ["exchange/data", "exchange/data_dark", "exchange/data_white", "exchange/theta"], f"{sorted(rows)}")
    check.that(rows["exchange/data"].get("also") == "hard, soft", f"{rows.get('exchange/data')}")
    for name, source in (("theta", "side.h5:/theta"), ("data_dark", "side.h5:/dark"), ("data_white", "side.h5:white")):
        check.that(rows[f"exchange/{name}"].get("from", "").endswith(source), f"{name} comes from {rows[f'exchange/{name}'].get('from')}")


def check_scan(check, source, folder, *args):
    """The volume is the one of the same scan without links."""
    done = tomoprof("recon", "--in", source, "--out", folder / "x.npy", "--center", 0, *args)
    check.that(done.returncode == 0, f"recon {source}: exit {done.returncode}: {done.stderr}")
    return np.load(folder / "x.npy") if done.returncode == 0 else None


def names_and_sources(check, folder):
    if not have("hdf5"):
        return
    check_whole(check, arrays(check, LINKS / "links.h5"))
    text = tomoprof("info", LINKS / "links.h5").stdout
    check.that("also                hard, soft" in text and "from                side.h5:/theta" in text, text)
    for name in ("hard", "soft", "exchange/data"):
        done = tomoprof("convert", "--array", name, LINKS / "links.h5", folder / f"{name.replace('/', '_')}.npy")
        check.that(done.returncode == 0, f"convert --array {name}: {done.stderr}")
    check.that(np.array_equal(np.load(folder / "hard.npy"), np.load(folder / "soft.npy")), "one array has two contents")
    done = tomoprof("convert", "--array", "exchange/theta", LINKS / "links.h5", folder / "theta.npy")
    check.that(done.returncode == 0 and np.allclose(np.load(folder / "theta.npy"), np.arange(VIEWS) * 15.0), f"angles: {done.stderr}")
    check.that(check_scan(check, LINKS / "links.h5", folder) is not None, "no volume")


def outside_of_the_folder(check, folder):
    if not have("hdf5"):
        return
    (folder / "in").mkdir()
    shutil.copy(LINKS / "away.h5", folder / "in")
    shutil.copy(LINKS / "side.h5", folder)
    away = folder / "in/away.h5"
    found = arrays(check, away)
    check.that(sorted(found["unreadable"]) == ["exchange/data_dark", "exchange/data_white", "exchange/theta"], f"{found['unreadable']}")
    for command in (["recon", "--in", away, "--out", folder / "y.npy"], ["convert", "--array", "exchange/theta", away, folder / "y.npy"],
                    ["load", "--array", "exchange/theta", away, "--out", folder / "out"]):
        done = tomoprof(*command)
        check.that(done.returncode == 2 and "away.h5" in done.stderr and "--follow-links" in done.stderr and "../side.h5" in done.stderr,
                   f"{command[0]}: exit {done.returncode}: {done.stderr}")
    check.that(not (folder / "y.npy").exists(), "something was written")
    check_whole(check, arrays(check, away, "--follow-links"))
    shutil.copy(LINKS / "links.h5", folder)
    check.that(np.array_equal(check_scan(check, away, folder, "--follow-links"), check_scan(check, folder / "links.h5", folder)), "another volume")
    done = tomoprof("convert", "--follow-links", "--array", "exchange/theta", away, folder / "y.npy")
    check.that(done.returncode == 0 and np.load(folder / "y.npy").shape == (VIEWS,), done.stderr)


def behind_a_url(check, folder):
    """Links lead to files of the same folder of the server, and to no others."""
    if not have("hdf5") or json.loads(tomoprof("doctor", "--json").stdout)["rows"]["remote_files"]["state"] != "ok":
        return
    with serve(LINKS) as (url, server):
        check_whole(check, arrays(check, f"{url}/links.h5"))
        check.that({path for _, path, *_ in server.asked} == {"/links.h5", "/side.h5"}, "other files are asked for")
        check.that(np.array_equal(check_scan(check, f"{url}/links.h5", folder), check_scan(check, LINKS / "links.h5", folder)), "another volume")
        for args in ([], ["--follow-links"]):
            server.asked.clear()
            found = arrays(check, f"{url}/away.h5", *args)
            check.that(list(found["arrays"]) == ["exchange/data"] and len(found["unreadable"]) == 3, f"{args}: {found}")
            check.that({path for _, path, *_ in server.asked} == {"/away.h5"}, f"{args}: other files are asked for")
        for command in (["info"], ["load"], ["convert"]):
            done = tomoprof(*command, f"{url}/heap.h5", *([folder / "y.npy"] if command == ["convert"] else []))
            check.that(done.returncode == 2 and "/heap.h5" in done.stderr and "attribute units" in done.stderr, f"{command}: {done.returncode}: {done.stderr}")


def damaged(check, folder):
    """The text of the units is object 131073 of a heap that has one: an error that names the file and the array."""
    if not have("hdf5"):
        return
    heap, text, words = LINKS / "heap.h5", LINKS / "text.h5", "object 131073 of a heap"
    for command in (["info", heap], ["load", heap, "--out", folder / "out"], ["convert", heap, folder / "y.npy"], ["recon", "--in", heap, "--out", folder / "y.npy"],
                    ["recon", "--in", text, "--out", folder / "y.npy"], ["convert", "--array", "exchange/theta", text, folder / "y.npy"],
                    ["load", "--array", "exchange/theta", text, "--out", folder / "out"]):
        done = tomoprof(*command)
        where = "exchange/theta: attribute units" if text in command else "d: attribute units"
        check.that(done.returncode == 2 and str(LINKS) in done.stderr and where in done.stderr and words in done.stderr,
                   f"{command}: exit {done.returncode}: {done.stderr}")
    check.that(not (folder / "y.npy").exists(), "something was written")
    found = arrays(check, text)
    check.that(list(found["unreadable"]) == ["exchange/theta"] and words in found["unreadable"]["exchange/theta"], f"{found['unreadable']}")


def chunks_that_are_links(check, folder):
    """A chunk of a Zarr store, or of references, that is a link: read below the folder, refused where it leads out, unless asked for."""
    secret = bytes(range(32))
    shape = {"zarr_format": 2, "shape": [8, 8], "chunks": [4, 8], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None}
    store = folder / "a.zarr"
    store.mkdir()
    (folder / "secret").write_bytes(secret)
    (store / ".zarray").write_text(json.dumps(shape))
    (store / "1.0").write_bytes(bytes(32))
    (store / "real").write_bytes(secret)
    (folder / "refs").mkdir()
    (folder / "refs" / "k.json").write_text(json.dumps({"version": 1, "refs": {".zarray": json.dumps(shape), "0.0": ["chunk", 0, 32]}}))
    chunk = folder / "refs" / "chunk"
    for link, target, inside in ((store / "0.0", "real", True), (store / "0.0", "../secret", False), (store / "0.0", str(folder / "secret"), False),
                                 (chunk, "../secret", False), (chunk, "k.json", True)):
        source = link.parent / "k.json" if link is chunk else store
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        for args in ([], ["--follow-links"]):
            out = folder / "out.npy"
            out.unlink(missing_ok=True)
            done = tomoprof("convert", *args, source, out)
            if inside or args:
                check.that(done.returncode == 0 and np.load(out).tobytes()[:32] == link.read_bytes()[:32], f"{target} {args}: exit {done.returncode}: {done.stderr}")
            else:
                check.that(done.returncode == 2 and "leads out of" in done.stderr and "--follow-links" in done.stderr and not out.exists(),
                           f"{link.name} -> {target}: exit {done.returncode}: {done.stderr}")
    whole = folder / "linked.zarr"
    (store / "0.0").unlink()
    (store / "0.0").symlink_to("real")
    whole.symlink_to("a.zarr")
    done = tomoprof("convert", whole, folder / "whole.npy")
    check.that(done.returncode == 0, f"a link to the whole store: {done.stderr}")


if __name__ == "__main__":
    main(names_and_sources, outside_of_the_folder, behind_a_url, damaged, chunks_that_are_links)
