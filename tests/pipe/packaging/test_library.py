"""The examples of libtomoprof, compiled against an installed prefix that was moved, by pkg-config and by find_package."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(TOMOPROF).resolve().parent
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Every system with a C compiler has these; FFTW or kissfft and cJSON are the operators' own. What reads files needs more, and is a
# library of its own.
NEEDED = re.compile(r"lib(c|m|dl|pthread|gomp|fftw3f|kissfft-float\w*|cjson|z)\.so\.\d+|ld-linux\S*")


def call(*args, **options):
    return subprocess.run(list(map(str, args)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=500, **options)


def runs(check, program, prefix, expected):
    done = call(program, env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")})
    check.that(done.returncode == 0 and re.search(expected, done.stdout, re.S), f"{program.name}: {done.returncode} {done.stdout} {done.stderr}")


def by_pkg_config(check, prefix, folder):
    if not shutil.which("pkg-config"):
        print("  skipped: pkg-config is not installed")
        return
    settings = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    done = call("pkg-config", "--cflags", "--libs", "tomoprof", env=settings)
    flags = done.stdout.split()
    check.must(done.returncode == 0 and str(folder / "first") not in done.stdout, f"pkg-config: {done.stdout}{done.stderr}")
    for compiler, standard, name, expected in (
            ("cc", "-std=c11", "reconstruct.c", r"iteration 5 of 5\nMBIR: 0\.[0-2]"),
            ("c++", "-std=c++11", "operators.cpp", r"step 0: \S+\nstep 19: .*geometry must be \"parallel\"")):
        program = folder / name.replace(".", "_")
        done = call(compiler, standard, *STRICT, ROOT / "examples" / name, *flags, "-lm", "-o", program)
        if check.that(done.returncode == 0, f"{compiler} {name}: {done.stderr}"):
            runs(check, program, prefix, expected)


def by_find_package(check, prefix, folder):
    source = folder / "project"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(examples C CXX)\nfind_package(tomoprof 0.1 REQUIRED)\n"
        f"add_executable(r {ROOT}/examples/reconstruct.c)\nadd_executable(o {ROOT}/examples/operators.cpp)\n"
        "target_link_libraries(r tomoprof::tomoprof m)\ntarget_link_libraries(o tomoprof::tomoprof)\n")
    done = call("cmake", "-S", source, "-B", source / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    check.must(done.returncode == 0, f"find_package: {done.stdout}{done.stderr}")
    done = call("cmake", "--build", source / "b")
    check.must(done.returncode == 0, f"the examples by CMake: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    runs(check, source / "b/r", prefix, "filtered back projection: 0")
    runs(check, source / "b/o", prefix, "step 19")


def an_installed_library(check, folder):
    done = call("cmake", "--install", BUILD, "--prefix", folder / "first")
    check.must(done.returncode == 0, f"cmake --install: {done.stdout[-500:]}{done.stderr[-1000:]}")
    prefix = (folder / "first").rename(folder / "moved")
    check.that((prefix / "lib/libtomoprof.so").readlink() == pathlib.Path("libtomoprof.so.0"), "lib/libtomoprof.so is not a link to its SONAME")
    check.that((prefix / "include/tomoprof.h").read_bytes() == (ROOT / "include/tomoprof.h").read_bytes(), "include/tomoprof.h differs")
    said = call("readelf", "-dW", prefix / "lib/libtomoprof.so.0", env={**os.environ, "LC_ALL": "C"}).stdout
    check.that("Library soname: [libtomoprof.so.0]" in said, "the SONAME")
    others = [name for name in re.findall(r"\(NEEDED\)[^\[]*\[(.*)\]", said) if not NEEDED.fullmatch(name)]
    check.that(not others, f"libtomoprof.so.0 needs {others}")
    by_pkg_config(check, prefix, folder)
    by_find_package(check, prefix, folder)


if SANITIZED:
    print("skipped: a library with sanitizers is loaded by programs that have them alone")
    sys.exit(77)
main(an_installed_library)
