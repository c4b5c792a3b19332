"""Recipes of packaging/ for clusters: their version is the project's, their language is right as far as a reader is there, and an
installed prefix works wherever it is moved, with its Python package. docs/internals/packages.md says what was run by hand."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import SANITIZED, TOMOPROF, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(TOMOPROF).resolve().parent
VERSION = re.search(r"project\(tomoprof VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
RECIPES = {"apptainer/tomoprof.def": r"^    Version ([0-9.]+)$", "spack/package.py": r'^    version\("([0-9.]+)"', "conda/recipe.yaml": r'^  version: "([0-9.]+)"$',
           "lmod/tomoprof.lua": r'^local version = "([0-9.]+)"$', f"easybuild/tomoprof-{VERSION}-GCC-14.3.0.eb": r"^version = '([0-9.]+)'$"}


def call(*args, **options):
    return subprocess.run(list(map(str, args)), text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=500, **options)


def versions(check, folder):
    for name, pattern in RECIPES.items():
        path = ROOT / "packaging" / name
        if check.that(path.is_file(), f"packaging/{name} is missing: the project's version is {VERSION}"):
            text = path.read_text()
            check.that(re.findall(pattern, text, re.M) == [VERSION], f"packaging/{name}: {re.findall(pattern, text, re.M)}, the project's version is {VERSION}")
            others = set(re.findall(r"tomoprof-([0-9]+\.[0-9]+\.[0-9]+)", text)) | set(re.findall(r"v([0-9]+\.[0-9]+\.[0-9]+)\"", text))
            check.that(others <= {VERSION}, f"packaging/{name} names {others}")
            check.that(not re.search(r"\b[0-9a-f]{40,64}\b", text), f"packaging/{name} has a hash: of what, before there is a release?")


def same_packages(check, folder):
    """The image of Apptainer is built and runs with what the container's is."""
    docker = (ROOT / "docker/Dockerfile").read_text()
    image = (ROOT / "packaging/apptainer/tomoprof.def").read_text()

    def names(text, after):
        words = text[text.index(after):].split("--no-install-recommends", 1)[1].split("&&")[0].split("\n    cmake")[0].split("\n    rm")[0]
        return set(re.findall(r"[a-z][a-z0-9.+-]+", words))

    check.that(names(docker, "AS build\n") - {"python3-pip"} == names(image, "Stage: build"), f"to build: {names(docker, 'AS build') ^ names(image, 'Stage: build')}")
    check.that(names(docker, "AS runtime\n") - {"tini"} == names(image, "Stage: final") - {"python3"}, f"to run: {names(docker, 'AS runtime') ^ names(image, 'Stage: final')}")


# What the build looks for by pkg-config, and the package of Spack that brings it; None where a build without it is meant.
LIBRARIES = {"libcjson": "cjson", "fftw3f": "fftw", "hdf5-serial": "hdf5", "hdf5": "hdf5", "libdw": "elfutils", "sqlite3": "sqlite", "libcurl": "curl",
             "libdeflate": "libdeflate", "libzstd": "zstd", "blosc": "c-blosc", "liblz4": "lz4", "sz": "libaec", "libturbojpeg": "libjpeg-turbo",
             "libjxr": None, "liburing": "liburing", "blosc2": "c-blosc2", "libtiff-4": "libtiff"}


def spack_recipe(modern):
    """(the names of the recipe, what it declares), run as Python beside a made-up Spack: since 1.0 its classes of build systems lie in a
    package of their own, before they were in spack.package."""
    said = []

    def directive(name):
        return lambda *words, **named: (said.append((name, words, named)), lambda function: function)[1]

    spack, cmake = types.ModuleType("spack.package"), types.ModuleType("spack_repo.builtin.build_systems.cmake")
    for name in ("license", "version", "variant", "depends_on", "conflicts", "run_after", "on_package_attributes"):
        setattr(spack, name, directive(name))
    spack.Executable = directive("Executable")
    home = cmake if modern else spack
    home.CMakePackage, home.generator = type("CMakePackage", (), {}), directive("generator")
    modules = {"spack": types.ModuleType("spack"), "spack.package": spack}
    if modern:
        modules |= {name: types.ModuleType(name) for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")}
        modules[cmake.__name__] = cmake
    names = {"__file__": str(ROOT / "packaging/spack/package.py"), "__name__": "package"}
    sys.modules.update(modules)
    try:
        exec(compile((ROOT / "packaging/spack/package.py").read_text(), "package.py", "exec"), names)
    finally:
        for name in modules:
            del sys.modules[name]
    assert issubclass(names["Tomoprof"], home.CMakePackage)
    return names, said


def spack(check, folder):
    """Its versions, variants and dependencies agree with each other and with CMakeLists.txt."""
    for modern in (False, True):
        names, said = spack_recipe(modern)
        declared = {kind: [(words, named) for name, words, named in said if name == kind] for kind in ("version", "variant", "depends_on", "generator")}
        check.that(names["CHECKOUT"] == str(ROOT), f"the checkout is {names['CHECKOUT']}")
        check.that([words[0] for words, _ in declared["version"]] == ["main", VERSION], f"versions: {declared['version']}")
        check.that([words for words, _ in declared["generator"]] == [("ninja",)], f"generator: {declared['generator']}")
        variants = {words[0] for words, _ in declared["variant"]}
        conditions = {word for _, named in declared["depends_on"] for word in re.findall(r"[+~](\w+)", named.get("when", ""))}
        check.that(variants == conditions == {"hdf5", "curl"}, f"variants {variants}, dependencies of {conditions}")
        needed = {re.split("[@+~ ]", words[0])[0]: named for words, named in declared["depends_on"]}
        check.that({"c", "cxx", "cmake", "ninja", "pkgconfig", "zlib-api"} <= set(needed), f"dependencies: {sorted(needed)}")
        check.that(all(needed[tool].get("type") == "build" for tool in ("c", "cxx", "cmake", "ninja", "pkgconfig")), f"to build only: {needed}")
        for values in ((True, True), (False, True), (False, False)):
            package = names["Tomoprof"]()
            package.define = lambda key, value: f"{key}={value}"
            package.spec = types.SimpleNamespace(variants={name: types.SimpleNamespace(value=value) for name, value in zip(("hdf5", "curl"), values)})
            without = ";".join(name for name, value in zip(("HDF5", "CURL"), values) if not value)
            check.that(f"TP_WITHOUT={without}" in package.cmake_args(), f"{values}: {package.cmake_args()}")
    text = (ROOT / "CMakeLists.txt").read_text()
    sought = set(re.findall(r"^ *(?:tp_optional|pkg_check_modules)\(\w+ (?:REQUIRED )?(?:IMPORTED_TARGET )?([a-z][\w+-]*)", text, re.M))
    sought |= set(re.findall(r"\b[A-Z0-9]+\|([a-z][\w-]*)\|", text)) | set(re.findall(r"find_library\(SZIP_LIBRARY (\w+)\)", text))
    check.that(sought == set(LIBRARIES), f"CMakeLists.txt looks for {sorted(sought ^ set(LIBRARIES))}, which LIBRARIES here does not say, or the reverse")
    wanted = {package for package in LIBRARIES.values() if package}
    check.that(wanted <= set(needed), f"packaging/spack/package.py lacks {wanted - set(needed)}")


def languages(check, folder):
    """EasyBuild's recipes are Python: they are run with names made up for those of EasyBuild."""
    options = re.findall(r"^(?:option|set)\((TP_\w+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    for recipe in RECIPES:
        used = set(re.findall(r"\bTP_[A-Z]+\b", (ROOT / "packaging" / recipe).read_text()))
        check.that(used <= set(options), f"packaging/{recipe}: the build has no {used - set(options)}")
    for path in (ROOT / "packaging/easybuild").glob("*.eb"):
        names = {"SOURCE_TAR_GZ": "x.tar.gz", "SHLIB_EXT": "so"}
        exec(compile(path.read_text(), path.name, "exec"), names)
        toolchain = names["toolchain"]
        check.that(path.name == f"{names['name']}-{names['version']}-{toolchain['name']}-{toolchain['version']}.eb", f"{path.name} is named otherwise than it says")


def files_of_apptainer(check, folder):
    """A line of %files is a source and a place: Apptainer drops what follows, and the sources must be there."""
    rows = re.findall(r"^%files.*\n((?:    .*\n)+)", (ROOT / "packaging/apptainer/tomoprof.def").read_text(), re.M)
    check.that(len(rows) == 2, f"%files: {rows}")
    for line in "".join(rows).splitlines():
        words = line.split()
        check.that(len(words) == 2, f"%files: {len(words)} words, expected 2: {line}")
        check.that(words[0].startswith("/") or (ROOT / words[0]).exists(), f"%files: {words[0]} is not in the sources")


def contents(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def read_only(folder):
    """Its contents; root may write all the same, and is seen by them."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    return contents(folder)


def image(check, folder):
    """The files as docker/Dockerfile installs them, unpacked in another place: a blank in the path, and read-only."""
    install = re.search(r"DESTDIR=/image cmake --install \S+", (ROOT / "docker/Dockerfile").read_text())
    check.must(install, "docker/Dockerfile installs in another way")
    done = call("cmake", "--install", BUILD, env={**os.environ, "DESTDIR": str(folder / "un packed")})
    check.must(done.returncode == 0, f"cmake --install: {done.stdout[-500:]}{done.stderr[-1000:]}")
    (program,) = (folder / "un packed").rglob("bin/tomoprof")
    before = read_only(folder / "un packed")
    done = call(program, "record", "--", sys.executable, "-c", "sum(range(10**6))", cwd=folder)
    check.that(done.returncode == 0 and (folder / "tomoprof-runs/latest/report.html").is_file(), f"record: {done.stderr}")
    done = call(program, "recon", "--in", ROOT / "tests/data/tooth.h5", "--out", "tooth.npy", cwd=folder)
    missing = "this build has no HDF5" in done.stderr
    check.that(missing or done.returncode == 0 and (folder / "tooth.npy").stat().st_size > 10**6, f"recon: {done.stderr}")
    check.that(contents(folder / "un packed") == before, "the unpacked files were written to")


def prefix(check, folder):
    """cmake --install, moved elsewhere, with a space in its path."""
    done = call("cmake", "--install", BUILD, "--prefix", folder / "first")
    if not check.that(done.returncode == 0, f"cmake --install: {done.stdout[-500:]}{done.stderr[-1000:]}"):
        return
    moved = folder / "moved there/tomoprof"
    moved.parent.mkdir()
    (folder / "first").rename(moved)
    before = read_only(moved)
    program = moved / "bin/tomoprof"
    rows = json.loads(call(program, "doctor", "--json", cwd=folder).stdout)["rows"]
    check.that(rows["capture_library"]["state"] == "ok" and str(folder / "first") not in json.dumps(rows), f"doctor: {rows['capture_library']}")
    done = call(program, "record", "--", sys.executable, "-c", "sum(range(10**6))", cwd=folder)
    check.that(done.returncode == 0 and (folder / "tomoprof-runs/latest/report.html").is_file(), f"record: {done.stderr}")
    script = "import tomoprof; print(tomoprof.program()); print(len(tomoprof.read('tomoprof-runs/latest').table('processes')))"
    python = {**os.environ, "PYTHONPATH": str(moved / "share/tomoprof/python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = call(sys.executable, "-c", script, cwd=folder, env=python)
    check.that(done.stdout.splitlines() == [str(program), "1"], f"the Python package: {done.stdout}{done.stderr}")
    check.that(contents(moved) == before, "the prefix was written to")
    lua = shutil.which("luac5.3") or shutil.which("luac5.4") or shutil.which("luac")
    if lua:
        done = call(lua, "-p", ROOT / "packaging/lmod/tomoprof.lua")
        check.that(done.returncode == 0, f"luac: {done.stderr}")
    lmod = pathlib.Path("/usr/share/lmod/lmod/libexec/lmod")
    if not lmod.is_file():
        print("  skipped: Lmod is not installed (Debian: lmod)")
        return
    module = folder / f"modules/tomoprof/{VERSION}.lua"
    module.parent.mkdir(parents=True)
    module.write_text((ROOT / "packaging/lmod/tomoprof.lua").read_text().replace('"/opt/tomoprof"', f'"{moved}"'))
    done = call("bash", "-c", f'eval "$({lmod} bash load tomoprof)"; tomoprof --version; echo "$PYTHONPATH"', env={**os.environ, "MODULEPATH": str(module.parents[1]), "PYTHONPATH": ""})
    check.that(VERSION in done.stdout and str(moved / "share/tomoprof/python") in done.stdout, f"module load: {done.stdout}{done.stderr}")


main(versions, same_packages, spack, languages, files_of_apptainer, *([] if SANITIZED else [prefix, image]))
