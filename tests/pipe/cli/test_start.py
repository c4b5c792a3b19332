"""start.sh: the menu on a terminal, and never a question without one; what it tells compose; what the images say without a GPU.
The build and the container engine are stand-ins; the program is the real one."""

import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import DATA, TOMOPROF, main, tomoprof

ROOT = pathlib.Path(__file__).resolve().parents[3]


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def scripts(folder):
    for name in ("start.sh", "tests/run.sh", "cuda/set_up.sh", "docker/run.sh"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def checkout(folder, tool):
    """start.sh in a folder of its own with `tool` as build/tomoprof; returns the environment to run it in."""
    scripts(folder)
    for name in ("build", "bin", "tomoprof-runs"):
        (folder / name).mkdir()
    (folder / "build/tomoprof").symlink_to(tool)
    program(folder / "bin/cmake", 'case $1 in --version) echo "cmake version 3.99" ;; esac\n')
    for name in ("ninja", "cc", "c++", "pkg-config"):  # what set-up looks for
        program(folder / "bin" / name, "exit 0\n")
    program(folder / "bin/xdg-open", f'echo "$1" >> "{folder}/opened"\n')
    return {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}


def an_old_cmake_is_replaced(check, folder):
    """Where the system's package is older than 3.22, pip brings one; without pip the words are others than the packages' line, which did not help."""
    for name, pip in (("with pip", True), ("without", False)):
        place = folder / name
        place.mkdir()
        program(place / "stub", "exit 0\n")
        environment = checkout(place, place / "stub")
        (place / "packaging").mkdir()
        shutil.copy(ROOT / "packaging/cmake.txt", place / "packaging")
        program(place / "bin/cmake", 'case $1 in --version) echo "cmake version 3.18.4" ;; *) echo "$@" >> old ;; esac\n')
        program(place / "bin/apt-get", f'echo "$@" >> "{place}/apt"\n')
        program(place / "newer", f'case $1 in --version) echo "cmake version 3.31.6" ;; *) echo "$@" >> "{place}/new" ;; esac\n')
        brought = f'mkdir -p build-tools/cmake/data/bin && cp "{place}/newer" build-tools/cmake/data/bin/cmake'
        program(place / "bin/python3", f'case "$*" in "-m pip --version") exit {0 if pip else 1} ;; *"--require-hashes"*"packaging/cmake.txt"*) {brought} ;; *) exit 1 ;; esac\n')
        program(place / "bin/sudo", "shift; exec \"$@\"\n")
        done = subprocess.run(["bash", "-c", "./start.sh build; ./start.sh build"] if pip else ["./start.sh", "build"], cwd=place, env=environment, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=300)
        if pip:
            check.that(done.returncode == 0 and done.stdout.count("brings 3.31 from PyPI") == 1, f"{done}")
            check.that(not (place / "old").exists() and "--preset release" in (place / "new").read_text(), "the old cmake was used")
        else:
            check.that(done.returncode == 1 and "has CMake 3.18.4; 3.22 is needed" in done.stdout and "apt-get install cmake" not in done.stdout, f"{done}")


def tools(folder):
    """A folder with the programs that start.sh calls, and no others: no apt."""
    (folder / "tools").mkdir()
    for name in "bash cat chmod cp cut dirname env find grep head id mkdir nproc paste sed sh sort tail touch".split():
        (folder / "tools" / name).symlink_to(shutil.which(name))
    return folder / "tools"


def the_line_is_for_this_system(check, folder):
    """Without apt: the line of the system that os-release names, and those of all where it names none of them."""
    bare = tools(folder)
    lines = {"Debian": "sudo apt-get install cmake", "Fedora": "Fedora:          sudo dnf install --setopt=strict=0 cmake", "RHEL": "epel-release-latest-$(rpm -E %rhel).noarch.rpm",
             "Arch": "sudo pacman -S --needed cmake"}
    for number, (release, systems) in enumerate((('ID="rhel"\nID_LIKE="fedora"\n', ["RHEL"]), ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', ["RHEL"]),
                                                 ("ID=fedora\n", ["Fedora"]), ("ID=ubuntu\nID_LIKE=debian\n", ["Debian"]), ("ID=debian\n", ["Debian"]),
                                                 ("ID=manjaro\nID_LIKE=arch\n", ["Arch"]), ("ID=opensuse-leap\n", list(lines)), (None, list(lines)))):
        place = folder / str(number)
        place.mkdir()
        checkout(place, place / "none")
        (place / "bin/ninja").unlink()
        (place / "start.sh").write_text((place / "start.sh").read_text().replace("/etc/os-release", "./os-release"))
        if release:
            (place / "os-release").write_text(release)
        done = subprocess.run(["./start.sh", "build"], cwd=place, env={"PATH": f"{place}/bin:{bare}"}, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300)
        shown = [name for name, line in lines.items() if line in done.stdout]
        check.that(done.returncode == 1 and shown == systems and not done.stderr and "Missing: ninja" in done.stdout, f"{release}: {done}")


def apt_leaves_out_what_it_does_not_have(check, folder):
    """One name that apt does not have ends its whole line: the others are then installed without it, and what is missing afterwards is told."""
    bare = tools(folder)
    for number, (lacks, says, code) in enumerate((("libjxr-dev", "apt cannot install libjxr-dev here: left out", 0), ("", "", 0),
                                                  ("ninja-build", "Still missing", 1))):
        place = folder / str(number)
        place.mkdir()
        program(place / "stub", "exit 0\n")
        environment = checkout(place, place / "stub")
        (place / "bin/ninja").rename(place / "ninja")
        (place / "bin/pkg-config").rename(place / "pkg-config")
        program(place / "bin/sudo", 'shift; exec "$@"\n')
        lacking = f'case " $* " in *" {lacks} "*) exit 100 ;; esac\n' if lacks else ""
        program(place / "bin/apt-get", f"""echo "$@" >> "{place}/apt"
{lacking}case $1$2 in
install-s) ;;
install*) cp "{place}/pkg-config" "{place}/bin/"
    case " $* " in *" ninja-build "*) cp "{place}/ninja" "{place}/bin/" ;; esac ;;
esac
""")
        done = subprocess.run(["./start.sh", "build"], cwd=place, env={**environment, "PATH": f"{place}/bin:{bare}"}, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=300)
        installs = [line for line in (place / "apt").read_text().splitlines() if line.startswith("install -y")]
        check.that(done.returncode == code and says in done.stdout, f"lacks {lacks!r}: {done}")
        check.that(len(installs) == (2 if lacks else 1) and "libjxr-dev" in installs[0] and (not lacks or lacks not in installs[-1].split()), f"{installs}")
        check.that(code == 0 or "add-apt-repository universe" in done.stdout and "sudo apt-get install" not in done.stdout, f"{done}")


def typed(folder, environment, *answers):
    """What start.sh shows on a terminal where a person gives these answers, and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve("./start.sh", ["./start.sh"], environment)
    shown, waiting, end = b"", list(answers), time.monotonic() + 600
    while True:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            shown += b" [not done after 600 s: killed]"
            break
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
        if waiting and shown.rstrip().endswith((b"Choice:", b"none):")):
            os.write(terminal, waiting.pop(0).encode() + b"\n")
            shown += b"\n"
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return shown.decode(errors="replace"), code


def menu_on_a_terminal(check, folder):
    environment = checkout(folder, TOMOPROF)
    shown, code = typed(folder, environment, "v", "", "x", "q")
    check.that(code == 0 and "No runs yet." in shown and "p, s, l, r, v, c, d or q" in shown, f"empty menu: {code} {shown}")
    for _ in range(2):
        done = tomoprof("record", "--", "/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", cwd=folder)
        check.that(done.returncode == 0, f"record: {done.stderr}")
        time.sleep(1.1)  # the next stamp
    runs = sorted(p.name for p in (folder / "tomoprof-runs").iterdir() if p.is_dir() and not p.is_symlink())
    shown, code = typed(folder, environment, "v", "2", "c", "2", "1", "d", "q")
    stamp = runs[0]
    day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]} UTC"
    check.that(code == 0, f"menu ended with {code}")
    check.that(f"  2  {day}" in shown and "/bin/sh -c" in shown and "s CPU" in shown, f"no list of runs: {shown}")
    opened = (folder / "opened").read_text().split()
    check.that(opened == [f"tomoprof-runs/{runs[0]}/report.html"], f"opened {opened}, newest first means {runs[0]} is 2")
    check.that(f"A tomoprof-runs/{runs[0]}" in shown and f"B tomoprof-runs/{runs[1]}" in shown, f"compare said nothing: {shown}")
    check.that("capture library" in shown, f"doctor said nothing: {shown}")
    shown, code = typed(folder, environment, "l", "", "l", str(DATA / "store/npy/f4.npy"), "l", "/none.npy", "q")
    check.that(code == 0 and "threads" in shown and "/none.npy: cannot read" in shown, f"load: {code} {shown}")


def the_menu_profiles_and_reconstructs(check, folder):
    environment = checkout(folder, TOMOPROF)
    scan = folder / "my scan.h5"
    scan.symlink_to(DATA / "tooth.h5")
    shown, code = typed(folder, environment, "p", "", "p", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3", "s", str(scan), "s", "/none.h5", "q")
    runs = [p.name for p in (folder / "tomoprof-runs").iterdir() if p.is_dir() and not p.is_symlink()]
    check.that(code == 0 and len(runs) == 1, f"{runs} {code}: {shown}")
    check.that((folder / "opened").read_text().split() == [f"tomoprof-runs/{runs[0]}/report.html"], "the page of the program did not open")
    check.that((folder / "tomoprof-runs/my scan.nii").is_file() and (folder / "tomoprof-runs/my scan.png").is_file(), f"no volume: {shown}")
    check.that("/none.h5: cannot read" in shown, f"a scan that is not there: {shown}")


def no_question_without_a_terminal(check, folder):
    program(folder / "stub", f'mkdir -p tomoprof-runs/20260101T000000Z; echo 20260101T000000Z > tomoprof-runs/latest; echo "$@" >> "{folder}/calls"\n')
    environment = checkout(folder, folder / "stub")
    done = subprocess.run(["./start.sh"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=300)
    check.that(done.returncode == 0, f"start.sh: {done}")
    check.that((folder / "calls").read_text() == "run --quick\n", "start.sh without a terminal runs the quick suite")
    check.that("Choice" not in done.stdout + done.stderr, f"a question without a terminal: {done.stdout}")
    done = tomoprof("menu", cwd=folder)
    check.that(done.returncode == 2 and "menu needs a terminal" in done.stderr, f"menu without a terminal: {done}")
    done = subprocess.run(["./start.sh", "dokcer"], cwd=folder, env=environment, text=True, capture_output=True, timeout=300)
    check.that(done.returncode == 2 and "./start.sh docker" in done.stderr, f"a wrong word: {done}")


def a_moved_checkout_is_configured_afresh(check, folder):
    """CMake refuses a build folder that was made from other sources, and a moved one would build those: with the real cmake."""
    if not shutil.which("ninja"):
        print("  not tried: ninja is not installed")
        return
    first, moved, copied = (folder / name for name in ("first place", "moved", "copied"))
    (first / "bin").mkdir(parents=True)
    scripts(first)
    shutil.copy(ROOT / "CMakePresets.json", first)
    (first / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(tomoprof NONE)\n"
                                          "add_custom_target(place ALL COMMAND ${CMAKE_COMMAND} -E echo made in ${CMAKE_SOURCE_DIR})\n")
    for name in ("cc", "pkg-config"):
        program(first / "bin" / name, "exit 0\n")

    def built(place):
        done = subprocess.run(["./start.sh", "build"], cwd=place, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300,
                              env={**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}"})
        check.that(done.returncode == 0 and f"made in {place}\n" in done.stdout, f"start.sh build in {place}: {done}")
        return done.stdout

    check.that("afresh" not in built(first) + built(first), "configured afresh without a reason")
    first.rename(moved)
    check.that(f"build was made in {first}: configured afresh" in built(moved), "start.sh did not see that the checkout was moved")
    check.that("afresh" not in built(moved), "configured afresh a second time")
    shutil.copytree(moved, copied)
    check.that(f"build was made in {moved}: configured afresh" in built(copied), "start.sh did not see that the checkout was copied")


def the_second_build_and_the_containers_run_beside_the_tests(check, folder):
    """With stand-ins of cmake and ctest: the order, what fails the whole, and that nothing is left running then."""
    for fails, code, steps in ((None, 0, ["release", "tests", "sanitized"]), ("asan", 3, ["release", "tests"]), ("tests", 4, ["release"]),
                               ("sanitized", 5, ["release", "tests"]), ("containers", 6, ["release", "tests", "sanitized"])):
        place = folder / str(fails)
        place.mkdir()
        environment = {**checkout(place, TOMOPROF), "CI": "true"}
        (place / "build/Testing/Temporary").mkdir(parents=True)
        (place / "build/Testing/Temporary/LastTest.log").write_text("skipped: for a reason\n")
        for name, status in (("python3", 0), ("npm", 0), ("docker", 0), ("debootstrap", 0), ("apt-get", 1), ("sudo", 1)):
            program(place / "bin" / name, f"exit {status}\n")
        end = f'[ $step = {fails} ] && exit {code}\necho $step >> "{place}/ended"\n'
        program(place / "bin/cmake", f"""case "$1 $2" in
--version*) echo "cmake version 3.99"; exit ;;
"--build build") step=release ;;
"--build build-asan") step=asan; echo $$ > "{place}/asan"; [ {fails} != tests ] || exec sleep 600 ;;
*) exit ;;
esac
{end}""")
        program(place / "bin/ctest", f"""case "$*" in
*build-asan*) step=sanitized ;;
*-LE\\ container*) step=tests; until [ -s "{place}/asan" ] && [ -s "{place}/contained" ]; do sleep 0.01; done ;;
*) step=containers; echo $$ > "{place}/contained"; case {fails} in asan | tests | sanitized) exec sleep 600 ;; esac ;;
esac
{end}""")
        done = subprocess.run(["./start.sh", "test"], cwd=place, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300)
        ended = (place / "ended").read_text().split()
        check.that(done.returncode == code, f"{fails} fails: exit {done.returncode}: {done.stdout}{done.stderr}")
        check.that([step for step in ended if step not in ("asan", "containers")] == steps, f"{fails} fails: {ended}, expected {steps}")
        for step, enders in (("asan", (None, "sanitized", "containers")), ("containers", (None,))):
            check.that((step in ended) == (fails in enders), f"{fails} fails: {ended}")
        for name in ("asan", "contained"):
            pid = (place / name).read_text().strip()
            end = time.monotonic() + 300
            while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < end:
                time.sleep(0.05)
            check.that(not pathlib.Path(f"/proc/{pid}").exists(), f"{fails} fails: {name} lives on")


def compose_is_told_of_the_gpu(check, folder):
    environment = {k: v for k, v in checkout(folder, TOMOPROF).items() if not k.startswith("TOMOPROF_")}
    noted = folder / ".env"
    for facts, given, gpu, service in (('{"Runtimes":{"runc":{}}}', 0, "none", "cpu"), ('{"Runtimes":{"nvidia":{}}}', 0, "nvidia", "profiler"),
                                       ('{"Runtimes":{"nvidia":{}}}', 125, "none", "cpu")):  # Docker Desktop without a GPU
        program(folder / "bin/docker", f"""case $1 in
info) echo '{facts}' ;;
build) ;;
run) exit {given} ;;
*) echo "$TOMOPROF_GPU $*" >> "{folder}/calls" ;;
esac
""")
        (folder / "calls").write_text("")
        done = subprocess.run(["./start.sh", "docker", "run", "--quick"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=300)
        check.that(done.returncode == 0, f"start.sh docker: {done}")
        called = (folder / "calls").read_text().splitlines()[-1]
        check.that(called == f"{gpu} compose run --rm -T {service} run --quick", f"with {facts} compose is called: {called}")
        said = noted.read_text().splitlines()
        check.that(f"TOMOPROF_GPU={gpu}" in said and f"TOMOPROF_UID={os.getuid()}" in said, f".env with {facts}: {said}")
        check.that(("no NVIDIA runtime" in done.stderr) == (gpu == "none"), f"with {facts}: {done.stderr}")
        check.that(("gives a container no GPU" in done.stderr) == (given != 0), f"with {facts}: {done.stderr}")
    (folder / "nsight").mkdir()
    done = subprocess.run(["./start.sh", "docker", "nsys"], cwd=folder, env={**environment, "TOMOPROF_NSIGHT": str(folder / "nsight")},
                          stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300)
    called = (folder / "calls").read_text().splitlines()[-1]
    check.that(called == f"none compose run --rm -T -v {folder}/nsight:/opt/nvidia:ro nsys", f"start.sh docker nsys: {called}")
    noted.write_text("MINE=1\n")
    subprocess.run(["./start.sh", "docker"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    check.that(noted.read_text() == "MINE=1\n", "start.sh docker wrote over a .env that is not its own")


def a_driver_gets_its_toolkit(check, folder):
    """With stand-ins of nvidia-smi and of the installer: which CUDA is set up, and that its failure leaves the CPU."""
    program(folder / "stub", "exit 0\n")
    environment = checkout(folder, folder / "stub")
    program(folder / "bin/python3", "exit 0\n")
    program(folder / "bin/g++", "echo 13\n")
    calls = folder / "calls"
    for version, words, status, wanted in (("580.65.06", ["build"], 0, "13"), ("565.90", ["build"], 0, "12"), ("565.90", ["build"], 1, "12"),
                                           ("525.60.13", ["build"], 0, "12"), ("470.256.02", ["build"], 0, ""), ("", ["build"], 0, ""),
                                           ("565.90", ["cuda"], 0, "12"), ("", ["cuda"], 0, "13"), ("580.1", ["cuda", "both"], 0, "13 12")):
        program(folder / "bin/nvidia-smi", f'echo "{version}"\n' if version else "echo no devices were found; exit 9\n")
        program(folder / "cuda/toolkit.sh", f"echo $1 >> '{calls}'; exit {status}\n")
        calls.write_text("")
        done = subprocess.run(["./start.sh", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300)
        check.that(done.returncode == 0 and calls.read_text().split() == wanted.split(), f"driver {version}, {words}: {calls.read_text()} {done}")
        check.that(("could not be set up, so the CPU computes" in done.stderr) == (status != 0), f"driver {version}: {done.stderr}")
        check.that(("driver 470 is older than 525" in done.stderr) == version.startswith("470"), f"driver {version}: {done.stderr}")
    done = subprocess.run(["./start.sh", "cuda", "11"], cwd=folder, env=environment, text=True, capture_output=True, timeout=300)
    check.that(done.returncode == 2 and "12, 13 or both" in done.stderr, f"{done}")


def without_a_gpu_its_check_ends_before_the_build(check, folder):
    program(folder / "stub", "exit 0\n")
    environment = checkout(folder, folder / "stub")
    program(folder / "bin/cmake", f'echo "cmake version 3.99"; echo "$@" >> "{folder}/built"\n')
    cases = [("470.256.02", "driver 470 is older than 525, which CUDA 12 needs: update it")]
    if not any(pathlib.Path(path).exists() for path in ("/proc/driver/nvidia/version", "/dev/dxg")):
        cases.append(("", "No NVIDIA driver answers here, so no GPU can be checked"))
    for version, sentence in cases:
        program(folder / "bin/nvidia-smi", f'echo "{version}"\n' if version else "echo no devices were found; exit 9\n")
        done = subprocess.run(["./start.sh", "gpu-check"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=300)
        check.that(done.returncode == 77 and sentence in done.stderr and not done.stdout, f"driver {version}: {done}")
        check.that(not (folder / "built").exists(), f"driver {version}: a build was begun")


def cuda_12_gets_a_compiler_that_it_takes(check, folder):
    """Where g++ is newer than CUDA 12.4 takes (Debian 13, whose own driver is 550), apt brings one beside it; else nothing is fetched."""
    bare = tools(folder)
    for number, (compiler, driver, brings, installed, fetched) in enumerate((("14", "550.163", True, True, "12"), ("14", "550.163", False, True, ""),
                                                                             ("13", "550.163", True, False, "12"), ("14", "580.65", True, False, "13"))):
        place = folder / str(number)
        place.mkdir()
        program(place / "stub", "exit 0\n")
        environment = checkout(place, place / "stub")
        program(place / "bin/g++", f"echo {compiler}\n")
        program(place / "bin/sudo", 'shift; exec "$@"\n')
        program(place / "bin/nvidia-smi", f"echo {driver}\n")
        program(place / "bin/python3", "exit 0\n")
        program(place / "bin/apt-get", f'echo "$@" >> apt\n[ {brings} = False ] || printf "#!/bin/sh\n" > bin/g++-13; chmod +x bin/g++-13\n')
        program(place / "cuda/toolkit.sh", "echo $1 >> fetched\n")
        done = subprocess.run(["./start.sh", "build"], cwd=place, env={**environment, "PATH": f"{place}/bin:{bare}"}, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=300)
        asked = (place / "apt").read_text() if (place / "apt").exists() else ""
        got = (place / "fetched").read_text().strip() if (place / "fetched").exists() else ""
        check.that(done.returncode == 0 and got == fetched and ("g++-13" in asked) == installed, f"g++ {compiler}, driver {driver}: {got} {asked} {done}")
        check.that(("compiles with g++ up to 13; this is 14" in done.stderr) == (installed and not brings), f"{done.stderr}")


def the_image_says_why_the_cpu_computes(check, folder):
    (folder / "bin").mkdir()
    program(folder / "bin/tomoprof", 'echo "called with $*"\n')
    entry = (ROOT / "docker/entry.sh").read_text()
    for path, here in ("/work/output", "."), ("/proc/driver/nvidia/version", "driver"), ("/dev/nvidiactl", "gpu"), ("/dev/dxg", "gpu"):
        check.that(path in entry, f"docker/entry.sh does not look at {path}")
        entry = entry.replace(path, here)  # of the folder that it runs in
    (folder / "entry.sh").write_text(entry)
    driver, gpu, none, given = "driver", "gpu", "no GPU is visible", "container was not given it"
    for files, words, wanted in (((), "record", none), ((), "run", none), ((driver,), "run", given), ((driver,), "record", given),
                                 ((driver, gpu), "run", None), ((driver, gpu), "record", None)):
        for name in (driver, gpu):
            (folder / name).unlink(missing_ok=True)
        for name in files:
            (folder / name).touch()
        done = subprocess.run(["sh", "entry.sh", words], cwd=folder, text=True, capture_output=True, timeout=300,
                              env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "TOMOPROF_EXPECTS_GPU": "1"})
        check.that((done.returncode, done.stdout) == (0, f"called with {words}\n"), f"entry.sh {words}: {done}")
        check.that(wanted in done.stderr if wanted else not done.stderr, f"entry.sh {words} with {files}: {done.stderr}")
        check.that(not wanted or "docker compose run --rm profiler" in done.stderr.splitlines()[0], f"entry.sh {words}: {done.stderr}")
    for words, says in ((["run", "--quick"], True), (["recon", "--in", "a.h5"], True), (["doctor"], False), (["record", "--", "true"], False)):
        done = subprocess.run(["sh", "entry.sh", *words], cwd=folder, text=True, capture_output=True, timeout=300,
                              env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "TOMOPROF_CPU_SERVICE": "1"})
        wanted = f"docker compose run --rm profiler {' '.join(words)}\n" if says else ""
        check.that(done.stderr.endswith(wanted) and bool(done.stderr) == says, f"the service cpu, {words}: {done.stderr}")


def nsys_says_what_the_card_needs(check, folder):
    """With stand-ins: the newest nsys that was mounted is called, and a card that it does not know is told."""
    (folder / "bin").mkdir()
    program(folder / "bin/tomoprof", "exit 0\n")
    script = (ROOT / "docker/nsys.sh").read_text().replace("/work/output", str(folder)).replace("/opt/nvidia", str(folder / "opt")).replace("/usr/local/cuda", str(folder / "cuda"))
    (folder / "nsys.sh").write_text(script)
    for there, card, warned in ((("2023.4.1", "2024.5.1"), "12.0", "2024.5"), (("2024.5.1", "2024.6.2", "2023.4.1"), "12.0", None),
                                (("2024.5.1",), "8.9", None), (("2024.5.1",), "", None), (("2025.10.1", "2025.2.1"), "10.0", None)):
        shutil.rmtree(folder / "opt", ignore_errors=True)
        for version in there:
            path = folder / f"opt/nsight-systems/{version}/bin/nsys"
            path.parent.mkdir(parents=True)
            program(path, f"""case $1 in --version) echo "NVIDIA Nsight Systems version {version}.34-1" ;;
profile) echo {version}; for a; do case $a in --output=*) : >"${{a#--output=}}.nsys-rep";; esac; done;; esac
""")
        program(folder / "bin/nvidia-smi", f'echo "{card}"\n' if card else "exit 9\n")
        done = subprocess.run(["sh", "nsys.sh"], cwd=folder, text=True, capture_output=True, timeout=300, env={"PATH": f"{folder}/bin:/usr/bin:/bin"})
        newest = max(there, key=lambda v: [int(x) for x in v.split(".")])
        check.that(done.returncode == 0 and done.stdout == f"{newest}\n", f"of {there}: {done}")
        said = f"this GPU has compute capability {card}, which needs Nsight Systems 2024.6 or newer; this is {warned}"
        check.that((said in done.stderr) if warned else ("compute capability" not in done.stderr), f"{there} and {card}: {done.stderr}")


def nsys_is_called_where_it_is(check, folder):
    (folder / "bin").mkdir()
    for words, wanted in (((), "tomoprof run --quick --no-trace"), (("python", "my.py"), "python my.py")):
        for there in (False, True):
            if there:
                program(folder / "bin/nsys", 'case $1 in profile) echo "$@"; for a; do case $a in --output=*) : >"${a#--output=}.nsys-rep";; esac; done;; esac\n')
                program(folder / "bin/tomoprof", "exit 0\n")
            script = (ROOT / "docker/nsys.sh").read_text().replace("/work/output", str(folder)).replace("/opt/nvidia", str(folder)).replace("/usr/local/cuda", str(folder / "cuda"))
            (folder / "nsys.sh").write_text(script)
            done = subprocess.run(["sh", "nsys.sh", *words], cwd=folder, text=True, capture_output=True, timeout=300,
                                  env={"PATH": f"{folder}/bin:/usr/bin:/bin"})
            if there:
                check.that(done.returncode == 0 and done.stdout.startswith("profile --trace=cuda,nvtx") and done.stdout.endswith(f" {wanted}\n")
                           and f"Capture: {folder}/nsys-" in done.stderr, f"nsys.sh {words}: {done}")
            elif not shutil.which("nsys", path="/usr/bin:/bin"):
                check.that(done.returncode == 1 and "Mount the host's" in done.stderr, f"nsys.sh {words} without nsys: {done}")
        (folder / "bin/nsys").unlink()


main(the_line_is_for_this_system, apt_leaves_out_what_it_does_not_have, cuda_12_gets_a_compiler_that_it_takes, an_old_cmake_is_replaced, menu_on_a_terminal, the_menu_profiles_and_reconstructs, no_question_without_a_terminal, a_moved_checkout_is_configured_afresh,
     the_second_build_and_the_containers_run_beside_the_tests, compose_is_told_of_the_gpu,
     a_driver_gets_its_toolkit, without_a_gpu_its_check_ends_before_the_build, the_image_says_why_the_cpu_computes, nsys_says_what_the_card_needs, nsys_is_called_where_it_is)
