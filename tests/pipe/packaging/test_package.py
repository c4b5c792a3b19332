"""What `cpack` packs runs from where it was unpacked; man page and completions are understood by what reads them."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main

BUILD = pathlib.Path(TOMOPROF).resolve().parent
PARTS = ["bin/tomoprof", "bin/tomoprof-fpga", "lib/libtomoprof.so.0", "include/tomoprof.h", "lib/pkgconfig/tomoprof.pc",
         "lib/tomoprof/libtomoprof_capture.so", "lib/tomoprof/libtomoprof_files.so", "share/man/man1/tomoprof.1",
         "share/bash-completion/completions/tomoprof", "share/zsh/site-functions/_tomoprof",
         "share/fish/vendor_completions.d/tomoprof.fish", "share/doc/tomoprof/LICENSE",
         "share/doc/tomoprof/docs/profile.md"]


def call(*args, **options):
    return subprocess.run(list(map(str, args)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=500,
                          **options)


def pack(check, folder, generator):
    """The package's file, None when it failed."""
    done = call("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", generator, "-B", folder / "packed", cwd=BUILD)
    check.that(done.returncode == 0, f"cpack -G {generator}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = [p for p in (folder / "packed").glob("tomoprof*") if p.is_file()]
    return found[0] if check.that(len(found) == 1, f"cpack -G {generator} wrote {found}") else None


def works(check, root, folder):
    """The program under root/bin finds its library, records and runs the suite."""
    for part in PARTS + [f"lib/tomoprof/{path.name}" for path in BUILD.glob("libtomoprof_cuda*.so")]:
        check.that((root / part).is_file(), f"{part} is not in the package")
    program = root / "bin/tomoprof"
    doctor = call(program, "doctor", "--json", cwd=folder)
    state = json.loads(doctor.stdout)["rows"]["capture_library"]
    check.that(state["state"] == "ok", f"doctor of the package: {state}")
    record = call(program, "record", "--out", folder / "recorded", "--", "/bin/true", cwd=folder)
    check.that(record.returncode == 0, f"record from the package: {record.returncode} {record.stderr}")
    check.that((folder / "recorded/latest/profile.json").is_file(), f"record left no profile: {record.stderr}")
    run = call(program, "run", "--quick", "--ops", "parallel_fbp_recon", "--out", folder / "ran", cwd=folder)
    check.that(run.returncode == 0, f"run from the package: {run.returncode} {run.stderr[-2000:]}")
    timing = json.loads((folder / "ran/latest/timing.json").read_text())
    check.that("parallel_fbp_recon" in json.dumps(timing), "timing.json of the package lacks the operation")


def archive(check, folder):
    packed = pack(check, folder, "TGZ")
    if not packed:
        return
    with tarfile.open(packed) as tar:
        tar.extractall(folder / "opened")
    (root,) = (folder / "opened").iterdir()
    works(check, root, folder)


def debian_package(check, folder):
    if not shutil.which("dpkg-shlibdeps") or not shutil.which("dpkg-deb"):
        print("  not tested: dpkg-shlibdeps or dpkg-deb is not installed (Debian: dpkg-dev)")
        return
    packed = pack(check, folder, "DEB")
    if not packed:
        return
    control = call("dpkg-deb", "--field", packed).stdout
    check.that(re.search(r"^Depends:.*libc6.*zlib1g", control, re.M), f"the .deb names no libraries: {control}")
    late = {name.decode() for name in re.findall(rb"(libsqlite3|libblosc|libturbojpeg|libtiff|libhdf5)\w*\.so\.\d+\0", pathlib.Path(TOMOPROF).read_bytes())}
    said = (re.search(r"^Recommends: (.*)", control, re.M) or ["", ""])[1]
    check.that(all(name in said for name in late), f"the .deb does not recommend what is opened late, {late}: {said}")
    done = call("dpkg-deb", "--extract", packed, folder / "opened")
    check.that(done.returncode == 0, f"dpkg-deb --extract: {done.stderr}")
    for part in PARTS:
        check.that((folder / "opened/usr" / part).is_file(), f"usr/{part} is not in the .deb")


def man_page(check, folder):
    page = folder / "tomoprof.1"
    page.write_text(call(TOMOPROF, "reference", "man").stdout)
    overview = call(TOMOPROF, "--help").stdout
    for command in re.findall(r"^  ([a-z]+) ", overview, re.M):
        check.that(f".SS tomoprof {command}" in page.read_text(), f"the man page lacks {command}")
    if not shutil.which("man"):
        print("  not read: man is not installed")
        return
    shown = call("man", "--warnings", "-l", page, env={"LC_ALL": "C.UTF-8", "MANWIDTH": "120", "PATH": "/usr/bin:/bin"})
    if "minimized" in shown.stdout:  # a placeholder that minimal systems have
        print("  not read:", shown.stdout.splitlines()[0])
        return
    check.that(shown.returncode == 0 and not shown.stderr, f"man --warnings: {shown.stderr}")
    plain = re.sub(".\b", "", shown.stdout)
    check.that("--no-trace" in plain and "EXIT STATUS" in plain, f"man shows {plain[:500]!r}")


def completion_of_bash(check, folder):
    script = folder / "completion"
    script.write_text(call(TOMOPROF, "reference", "bash").stdout)
    check.that(call("bash", "-n", script).returncode == 0, "bash -n")

    def completed(*words):
        ask = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tomoprof; printf "%s\\n" "${COMPREPLY[@]}"'
        return call("bash", "-c", ask, script, *words, cwd=folder).stdout.split()

    (folder / "scan.h5").touch()
    check.that(set(completed("tomoprof", "rec")) == {"record", "recon"}, completed("tomoprof", "rec"))
    check.that(completed("tomoprof", "run", "--backend", "c") == ["cpu", "cuda"], "values of --backend")
    check.that(completed("tomoprof", "run", "--no-tra") == ["--no-trace"], "options of run")
    check.that(completed("tomoprof", "apply", "cone_fdk_r") == ["cone_fdk_recon"], "names of op")
    check.that(completed("tomoprof", "recon", "--in", "sc") == ["scan.h5"], "files after --in")
    check.that("bash" in completed("tomoprof", "record", "--", "bas"), "programs after record --")
    check.that(completed("tomoprof", "run", "--threads", "") == [], "a number has no completion")


def asked_of_zsh(folder, keys, *wanted):
    """What an interactive zsh shows after these keys, until that has every word that is wanted, or nothing comes for five minutes."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])
    set_up = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='RE''ADY> '\n"
    os.write(terminal, set_up.encode())
    shown, asked = "", False
    while not (asked and all(word in shown for word in wanted)) and select.select([terminal], [], [], 300)[0]:
        try:
            shown += os.read(terminal, 4096).decode(errors="replace")
        except OSError:
            break
        if not asked and "READY> " in shown:
            os.write(terminal, keys.encode())
            shown, asked = "", True
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown


def completion_of_zsh_and_fish(check, folder):
    for shell, name in (("zsh", "_tomoprof"), ("fish", "tomoprof.fish")):
        script = folder / name
        script.write_text(call(TOMOPROF, "reference", shell).stdout)
        check.that("--backend" in script.read_text() or "-l backend" in script.read_text(), f"{shell}: no --backend")
        if not shutil.which(shell):
            print(f"  not read: {shell} is not installed")
            continue
        done = call(shell, "-n", script)
        check.that(done.returncode == 0 and not done.stderr, f"{shell} -n: {done.stderr}")
    if shutil.which("fish"):
        ask = f"source {folder}/tomoprof.fish; complete -C 'tomoprof run --backend c'"
        words = [line.split("\t")[0] for line in call("fish", "-c", ask, cwd=folder).stdout.splitlines()]
        check.that(words == ["cpu", "cuda"], f"fish completes --backend to {words}")
    if shutil.which("zsh"):
        shown = asked_of_zsh(folder, "tomoprof run --backend c\t\t", "cpu", "cuda")
        check.that("cpu" in shown and "cuda" in shown, f"zsh completes --backend to {shown!r}")
        shown = asked_of_zsh(folder, "tomoprof apply cone_fdk_rec\t", "cone_fdk_recon")
        check.that("cone_fdk_recon" in shown, f"zsh completes the operation to {shown!r}")
    done = call(TOMOPROF, "reference", "tcsh")
    check.that(done.returncode == 2 and "man, bash, zsh, fish" in done.stderr, f"reference tcsh: {done}")


if SANITIZED:
    print("archive, debian_package: not tested, a sanitised program is not packed")
main(*([] if SANITIZED else [archive, debian_package]), man_page, completion_of_bash, completion_of_zsh_and_fish)
