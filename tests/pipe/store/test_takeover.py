"""Files that take over the library which decodes their chunks or reads their database: libraries of their own, loaded before, play what such a file would make of it.
What they do happens in a child without network and files, and the command says one sentence."""

import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, SANITIZED, TOMOPROF, have, loadable, main, tomoprof

# library, a function of it that is called for a chunk, a file
CODECS = {
    "libturbojpeg0": ("tjDecompressHeader3", DATA / "store/tiff/jpeg_colour.tif", "JPEG"),
    "libjxr": ("PKImageDecode_Create_WMP", DATA / "store/czi/jxr.czi", "JPEG XR"),
    "libblosc": ("blosc_cbuffer_validate", DATA / "store/zarr/zarr3/blosc", "blosc"),
}
# Functions of libraries that the program opens when a file needs them.
LATE = {"tjDecompressHeader3": "libturbojpeg.so.0", "blosc_cbuffer_validate": "libblosc.so.1", "sqlite3_deserialize": "libsqlite3.so.0", "sqlite3_step": "libsqlite3.so.0"}
CRASH = "long {name}(void) {{ return *(volatile int *)8; }}\n"
FOREVER = "long {name}(void) {{ for (;;) __asm__ volatile(\"\"); }}\n"
# Writes a file, asks a server, starts a process that writes a file, and says that all went well.
ACT = """
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
long {name}(void)
{{
    close(open("{place}/written", O_WRONLY | O_CREAT, 0600));
    struct sockaddr_in a = {{AF_INET, htons({port}), {{htonl(INADDR_LOOPBACK)}}}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0)
        connect(fd, (struct sockaddr *)&a, sizeof a);
    if (fork() == 0)
        close(open("{place}/started", O_WRONLY | O_CREAT, 0600));
    _exit(0);
}}
"""


def compiled(out, source, *options):
    code = out.with_suffix(".c")
    code.write_text(source)
    subprocess.run([shutil.which("cc"), "-shared", "-fPIC", "-O0", "-o", out, code, *options], check=True, timeout=300)


def shim(folder, source, name, **values):
    """A library with a function of that name, which is loaded before others. One of a library that is opened late lies in its place, and needs the true one, for all
    that is looked for besides."""
    if name not in LATE:
        compiled(folder / f"{name}.so", source.format(name=name, **values))
        return {"LD_PRELOAD": loadable(folder / f"{name}.so")}
    ctypes.CDLL(LATE[name])
    true = next(line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if f"/{LATE[name]}" in line)
    place = folder / name
    place.mkdir(exist_ok=True)
    compiled(place / "true.so", "", f"-Wl,-soname,{true}")
    compiled(place / LATE[name], source.format(name=name, **values), "-Wl,--no-as-needed", place / "true.so")
    return {"LD_LIBRARY_PATH": str(place)}


def cases():
    for library, case in CODECS.items():
        if have("chunk_codecs", library.removesuffix("0")):
            yield case


def crashes(check, folder):
    for name, path, codec in cases():
        env = shim(folder, CRASH, name)
        for words in (("convert", path, folder / "never.npy"), ("load", path, "--out", folder / "runs")):
            done = tomoprof(*words, env=env)
            check.that(done.returncode == 2 and f"its {codec} data are damaged (decoding them ended with signal 11" in done.stderr, f"{name}: {words[0]}: {done}")
        check.that(not list(folder.glob("never*")), f"{name}: something was left")


def own_decoder(check, folder):
    """Chunks of LZ4 within blosc, Zarr's default, need no library, and no child for each."""
    if not have("chunk_codecs", "libblosc"):
        return
    path, out = DATA / "store/zarr/zarr2/blosc", folder / "out.npy"
    plain = tomoprof("convert", path, folder / "plain.npy")
    done = tomoprof("convert", path, out, env=shim(folder, CRASH, "blosc_cbuffer_validate"))
    check.that(plain.returncode == done.returncode == 0 and out.read_bytes() == (folder / "plain.npy").read_bytes(), f"{plain}, {done}")


def acts(check, folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        for name, path, codec in cases():
            done = tomoprof("convert", path, folder / "never.npy", env=shim(folder, ACT, name, place=folder, port=server.getsockname()[1]))
            check.that(done.returncode == 2 and f"its {codec} data are damaged" in done.stderr, f"{name}: {done}")
            with contextlib.suppress(BlockingIOError):
                server.accept()
                check.that(False, f"{name}: it asked a server")
            check.that(not list(folder.glob("written")) + list(folder.glob("started")) + list(folder.glob("never*")), f"{name}: {os.listdir(folder)}")


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


def until(condition, text):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, text
        time.sleep(0.01)


def endless(check, folder):
    """A signal ends the command, and its children with it, though they are busy."""
    for name, path, _ in cases():
        env = {**os.environ, **shim(folder, FOREVER, name)}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            run = subprocess.Popen([TOMOPROF, "convert", path, folder / "never.npy"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(lambda: any(state(pid) == "R" for pid in children(run.pid)), f"{name}: no child works")
            mine = children(run.pid)
            run.send_signal(number)
            check.that(run.wait(timeout=300) == -number, f"{name}: {number} ended it with {run.returncode}")
            until(lambda: all(state(pid) in ("gone", "Z") for pid in mine), f"{name}: a child of {mine} works on after signal {number}")
            check.that(number == signal.SIGKILL or not list(folder.glob("never*")), f"{name}: {number} left {list(folder.glob('never*'))}")
            for path_left in folder.glob("never*"):
                path_left.unlink()


def databases(check, folder):
    """A capture of Nsight Systems is an SQLite database."""
    path = DATA / "import/three_parts.sqlite.gz"
    plain = tomoprof("import", path, "--out", folder / "runs")
    if plain.returncode == 2 and "libsqlite3" in plain.stderr:
        return
    check.that(plain.returncode == 0, f"without a shim: {plain}")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        for source, words in ((CRASH, "reading this database ended with signal 11"), (ACT, "this database cannot be read")):
            for name in ("sqlite3_deserialize", "sqlite3_step"):
                done = tomoprof("import", path, "--out", folder / "never", env=shim(folder, source, name, place=folder, port=server.getsockname()[1]))
                check.that(done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, f"{name}: {done}")
                check.that(not list(folder.glob("written")) + list(folder.glob("started")) + list(folder.glob("never/*/profile.json")), f"{name}: {os.listdir(folder)}")
        with contextlib.suppress(BlockingIOError):
            server.accept()
            check.that(False, "it asked a server")


if __name__ == "__main__":
    if not shutil.which("cc") or SANITIZED:
        print("skipped: needs a compiler and a build without sanitizers")
        sys.exit(77)
    main(crashes, own_decoder, acts, endless, databases)
