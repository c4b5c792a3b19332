"""Which CUDA toolkits a build takes, by what their nvcc says and does: all of them shell scripts in folders of their own. And how the one
for CUDA 12 comes: packages made here, from servers on this machine."""

import functools
import hashlib
import http.server
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ("include/cuda_runtime.h", "include/cufft.h", "lib64/libcudart_static.a")
LISTED = {12: "50 52 53 60 61 62 70 72 75 80 86 87 89 90", 13: "75 80 86 87 88 89 90 100 103 110 120 121"}
OURS = "75;80;86;89;90;100;120"


def toolkit(folder, release, compiles="exit 0", knows="", without=()):
    """A folder with an nvcc of this release."""
    for name in FILES:
        if name not in without:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    version = f"echo 'Cuda compilation tools, release {release}, V{release}.0'" if release else "echo 'Illegal instruction' >&2; exit 132"
    listed = "".join(f"echo compute_{n};" for n in knows.split())
    nvcc = folder / "bin/nvcc"
    nvcc.write_text(f'#!/bin/sh\ncase $1 in\n--version) {version} ;;\n--list-gpu-arch) {listed} ;;\n*) {compiles} ;;\nesac\n')
    nvcc.chmod(0o755)
    return folder


def ask(folder, root, wanted=OURS):
    """{"why_not", "version", "names", "codes"} of cuda/toolkits.cmake."""
    script = folder / "ask.cmake"
    script.write_text(f'cmake_minimum_required(VERSION 3.21)\ninclude("{ROOT}/cuda/toolkits.cmake")\nset(TP_CUDA_ARCH "{wanted}")\ntp_cuda_toolkit("{root}")\n'
                      'if(NOT why_not)\n  tp_cuda_codes()\nendif()\n'
                      'foreach(name why_not version names codes)\n  message("${name}=${${name}}")\nendforeach()\n')
    done = subprocess.run(["cmake", "-P", script], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(re.findall(r"^(\w+)=(.*)$", done.stderr, re.M))


def what_cannot_be_used_is_passed_over_with_its_reason(check, folder):
    cases = [("old", {"release": "11.8"}, "is CUDA 11.8, 12.0 to 13.x are needed"),
             ("new", {"release": "14.0"}, "is CUDA 14.0, 12.0 to 13.x are needed"),
             ("broken", {"release": ""}, "does not tell its version: Illegal instruction"),
             ("partial", {"release": "12.4", "without": FILES[1:2]}, "or no include/cufft.h"),
             ("headless", {"release": "12.4", "without": FILES[:1]}, "has no include/cuda_runtime.h"),
             ("unlinked", {"release": "12.4", "without": FILES[2:]}, "has no libcudart_static.a"),
             ("misfit", {"release": "12.3", "compiles": "echo 'error: unsupported GNU version!' >&2; exit 1"},
              "nvcc 12.3 cannot compile here: error: unsupported GNU version!")]
    for name, how, reason in cases:
        said = ask(folder, toolkit(folder / name, **how))["why_not"]
        check.that(reason in said and str(folder / name) in said, f"{name}: {said}")
    hidden = toolkit(folder / "hidden", "13.0", knows=LISTED[13])
    (hidden / "bin/nvcc").rename(hidden / "bin/nvcc-13")
    check.that("has no bin/nvcc" in ask(folder, hidden)["why_not"], "a toolkit without nvcc is taken")


def architectures_are_those_that_it_knows(check, folder):
    cases = [("12.0", 12, OURS, "75;80;86;89;90", "compute_90,code=compute_90"),
             ("13.0", 13, OURS, OURS, "compute_120,code=compute_120"),
             ("12.0", 12, "86", "86", "compute_86,code=compute_86"),
             ("12.0", 12, "100;120", "90", "compute_90,code=compute_90")]  # all of them newer: PTX of the newest for those
    for release, major, wanted, names, ptx in cases:
        said = ask(folder, toolkit(folder / f"cu{release}", release, knows=LISTED[major]), wanted)
        check.that(said["why_not"] == "" and said["version"] == release, f"{release}: {said}")
        check.that(said["names"] == names, f"{release}, {wanted}: {said['names']}")
        check.that(said["codes"].endswith(f"-gencode=arch={ptx}"), f"{release}, {wanted}: {said['codes']}")


def debian_package(files, packed="xz"):
    """The bytes of a .deb with these files and a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{packed}") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
        link = tarfile.TarInfo("./usr/lib/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/usr/lib/elsewhere"
        archive.addfile(link)
    made = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), (f"data.tar.{packed}", data.getvalue())):
        made += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    return made


def serve(folder):
    """Serves a folder on loopback until the test ends; returns its address."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def packages_come_by_their_hash(check, folder):
    """The first mirror that has a package with its hash gives it; none has it: every mirror's reason, and nothing is unpacked."""
    good = debian_package({"usr/lib/libcudart_static.a": b"runtime", "usr/lib/libcufft_static.a": b"large", "usr/include/cufft.h": b"header"})
    path = "pool/tool_12.4~1-2_amd64.deb"
    for name, content in (("none", None), ("other", good[:-9]), ("right", good), ("odd", b"no archive")):
        (folder / name / "pool").mkdir(parents=True)
        if content is not None:
            (folder / name / path).write_bytes(content)
    none, other, right, odd = (serve(folder / name) for name in ("none", "other", "right", "odd"))

    def unpacked(to, content, *mirrors):
        return subprocess.run([sys.executable, ROOT / "cuda/unpack.py", folder / to, *mirrors], text=True, capture_output=True, timeout=300,
                              input=f"{hashlib.sha256(content).hexdigest()} {path}\n")

    done = unpacked("to", good, none, other, right)
    found = sorted(str(p.relative_to(folder / "to")) for p in (folder / "to").rglob("*") if not p.is_dir())
    check.that(done.returncode == 0 and found == ["packages.tsv", "usr/include/cufft.h", "usr/lib/libcudart_static.a", "usr/lib/link"], f"{done} {found}")
    check.that((folder / "to/packages.tsv").read_text() == "debian\ttool\t12.4~1-2\tLicenseRef-NVIDIA-Proprietary\n", "packages.tsv")
    done = unpacked("never", good, none, other, "http://127.0.0.1:1")
    reasons = done.stderr.splitlines()
    check.that(done.returncode == 1 and len(reasons) == 4 and "cannot be fetched" in reasons[0] and "404" in reasons[1]
               and "SHA-256 is" in reasons[2] and "refused" in reasons[3], f"{done}")
    done = unpacked("odd-to", b"no archive", odd)
    check.that(done.returncode == 1 and "not a Debian package" in done.stderr, f"{done}")
    left = [p.name for name in ("never", "odd-to") for p in (folder / name).iterdir()]
    check.that(left == ["packages.tsv"] * 2, f"left: {left}")


if not shutil.which("cmake"):
    print("skipped: cmake is missing")
    sys.exit(77)
main(packages_come_by_their_hash, what_cannot_be_used_is_passed_over_with_its_reason, architectures_are_those_that_it_knows)
