#!/usr/bin/env bash
# Sets up, builds and runs tomoprof. ./start.sh help says how. Sourced (tests/run.sh), it defines its functions alone.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
    cat <<'END'
./start.sh         set up, build, run the quick profile suite (15 seconds on 2 cores), say where the results are;
                   on a terminal the menu of the program (tomoprof menu): run, view past runs, compare two, doctor
./start.sh build   set up and build only: the program is then build/tomoprof
./start.sh cuda [12|13|both]
                   the same with the CUDA back end, for the driver that is here, else for CUDA 13: installs NVIDIA's toolkit
                   into build-toolkit (no root; 13: 600 MB by pip; 12: 1.2 GB, as Debian packages it). 13 needs driver 580, 12 needs 525.
                   Where an NVIDIA driver answers, run and build do this by themselves; TOMOPROF_CUDA_TOOLKIT=none forbids it
./start.sh test    set up, build, run all tests, and again with the address and undefined-behaviour sanitizers; with CI=true
                   the containers too: images built and run, with an engine of its own where none answers (minutes, 6 GB)
./start.sh gpu-check [FOLDER]
                   builds with CUDA, checks the GPU here in at most 10 minutes (results against the CPU's and against float64,
                   equal bits, recordings, times) and leaves one small archive without names in FOLDER (output unless given)
./start.sh docker [SERVICE] [WORDS]
                   build the container and run tomoprof WORDS in it (run --quick unless given): on the GPU where the engine
                   has NVIDIA's runtime, else on the CPU. Services: profiler profiler-full gpu-check cpu test nsys (compose.yaml).
                   It notes in .env which of both it is: then 'docker compose run --rm profiler WORDS' does the same
./start.sh help    this text

Set-up installs missing packages with apt where it may (root or password-less sudo on Debian and Ubuntu);
elsewhere it prints the line to run on this system, and stops.
END
}

recent_cmake() {
    local found
    command -v cmake >/dev/null || return 1
    found=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
    [ -n "$found" ] && [ "$(printf '3.22\n%s\n' "$found" | sort -V | head -n 1)" = 3.22 ]
}

use_brought_cmake() {
    [ ! -x build-tools/cmake/data/bin/cmake ] || PATH=$PWD/build-tools/cmake/data/bin:$PATH
}

# Brings CMake from PyPI into build-tools, where the system has an older one (Debian 11: 3.18).
bring_cmake() {
    python3 -m pip --version >/dev/null 2>&1 || return 0
    echo "CMake is older than 3.22 here: brings 3.31 from PyPI into build-tools (28 MB)"
    python3 -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check --target build-tools \
        --requirement packaging/cmake.txt || true
    use_brought_cmake
}

has_pip() {
    python3 -m pip --version >/dev/null 2>&1 || /usr/bin/python3 -m pip --version >/dev/null 2>&1
}

python_for_tests() {
    python3 -c 'import numpy, jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import numpy, jsonschema' 2>/dev/null
}

# Prints what is missing, one word each.
missing() {
    recent_cmake || echo "cmake>=3.22"
    command -v ninja >/dev/null || echo ninja
    command -v cc >/dev/null || echo cc
    if command -v pkg-config >/dev/null; then
        local package
        for package in zlib libcjson fftw3f; do
            pkg-config --exists "$package" || echo "$package"
        done
        pkg-config --exists hdf5-serial || pkg-config --exists hdf5 || echo hdf5
        [ "$1" != test ] || pkg-config --exists cmocka || echo cmocka
    else
        echo pkg-config
    fi
    [ "$1" = build ] || [ "$1" = run ] || command -v c++ >/dev/null || echo c++
    [ "$1" != cuda ] || has_pip || echo pip
    [ "$1" != test ] || python_for_tests || echo "python3 with numpy and jsonschema"
}

debian="cmake ninja-build gcc g++ libc6-dev pkg-config zlib1g-dev libcjson-dev libfftw3-dev libhdf5-dev libdw-dev libsqlite3-dev libdeflate-dev libzstd-dev libblosc-dev liblz4-dev liburing-dev libcurl4-openssl-dev libturbojpeg0-dev libjxr-dev libaec-dev libbz2-dev libtiff-dev libgdcm-dev"
debian_test="g++ libcmocka-dev python3-numpy python3-jsonschema"
fedora="cmake ninja-build gcc pkgconf-pkg-config zlib-devel cjson-devel fftw-devel hdf5-devel elfutils-devel sqlite-devel libdeflate-devel libzstd-devel blosc-devel lz4-devel liburing-devel libcurl-devel turbojpeg-devel jxrlib-devel bzip2-devel libtiff-devel blosc2-devel gdcm-devel gcc-c++ python3-pip"
fedora_test="gcc-c++ libcmocka-devel python3-numpy python3-jsonschema"
arch="cmake ninja gcc pkgconf zlib cjson fftw hdf5 libelf sqlite libdeflate zstd blosc lz4 liburing curl libjpeg-turbo bzip2 libtiff gdcm python-pip"
arch_test="cmocka python-numpy python-jsonschema"

# Installs packages with apt where it may: as root, or with a sudo that asks for no password. Exit code 1: it may not. A name that apt does
# not know would end the whole line, so those are then left out.
apt_install() {
    local root="" name known=""
    [ "$(id -u)" = 0 ] || root="sudo -n"
    command -v apt-get >/dev/null && { [ -z "$root" ] || $root true 2>/dev/null; } || return 1
    apt_now() { $root env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null; }
    apt_now update || true # one broken source need not matter
    apt_now install -y --no-install-recommends "$@" && return
    for name in "$@"; do
        if apt_now install -s "$name" >/dev/null 2>&1; then
            known="$known $name"
        else
            echo "apt cannot install $name here: left out"
        fi
    done
    # shellcheck disable=SC2086 # a list of words
    [ -z "$known" ] || apt_now install -y --no-install-recommends $known || true
}

# Prints the line that installs the packages on this system; those of all systems where it is none of them.
print_line() {
    local id line system=""
    # shellcheck disable=SC1091 # the system's
    id=$(. /etc/os-release 2>/dev/null && echo " ${ID-} ${ID_LIKE-} ") || id=""
    case $id in
    *" rhel "* | *" centos "*) system=RHEL ;;
    *" fedora "*) system=Fedora ;;
    *" debian "* | *" ubuntu "*) system=Debian ;;
    *" arch "*) system=Arch ;;
    esac
    while IFS= read -r line; do
        case $line in "  $system"*) echo "$line" ;; esac
    done <<END
  Debian, Ubuntu:  sudo apt-get install $debian
  Fedora:          sudo dnf install --setopt=strict=0 $fedora
  RHEL, Rocky:     sudo dnf install https://dl.fedoraproject.org/pub/epel/epel-release-latest-\$(rpm -E %rhel).noarch.rpm && sudo crb enable && sudo dnf install --setopt=strict=0 $fedora
  Arch:            sudo pacman -S --needed $arch
END
}

set_up() {
    local absent first tried=""
    use_brought_cmake
    first=$(missing "$1")
    [ -n "$first" ] || return 0
    echo "Missing: $(echo "$first" | paste -sd ' ')"
    if [ "$1" = cuda ]; then
        debian="$debian python3-pip"
    fi
    if [ "$1" = test ]; then
        debian="$debian $debian_test" fedora="$fedora $fedora_test" arch="$arch $arch_test"
    fi
    # shellcheck disable=SC2086 # lists of words
    if apt_install $debian; then
        tried=yes
        recent_cmake || has_pip || apt_install python3-pip
    fi
    recent_cmake || ! command -v cmake >/dev/null || bring_cmake
    absent=$(missing "$1")
    [ -n "$absent" ] || return 0
    [ "$absent" = "$first" ] || echo "Still missing: $(echo "$absent" | paste -sd ' ')"
    if [ "$absent" = "cmake>=3.22" ] && command -v cmake >/dev/null; then
        cat <<END
This system's package has CMake $(cmake --version | sed -n '1s/[^0-9]*//p'); 3.22 is needed. Install pip (Debian, Ubuntu: sudo apt-get install python3-pip),
then run this again: it brings CMake from PyPI into build-tools. Or put a newer cmake into your PATH.
END
        exit 1
    fi
    if [ -n "$tried" ]; then
        echo "apt did not install it: its messages are above. Ubuntu has most of these packages in universe: sudo add-apt-repository universe"
    else
        echo "Install what is missing, then run this again:"
        print_line
    fi
    exit 1
}

# Prints where the build folder $1 or its sources were when CMake last ran; nothing where they still are there.
moved_from() {
    local key place
    for key in CMAKE_HOME_DIRECTORY:. "CMAKE_CACHEFILE_DIR:$1"; do
        place=$(sed -n "s/^${key%%:*}:INTERNAL=//p" "$1/CMakeCache.txt" 2>/dev/null)
        if [ -n "$place" ] && ! [ "$place" -ef "${key#*:}" ]; then
            echo "$place"
            return
        fi
    done
}

# build PRESET FOLDER TESTS [CONTAINERS [TARGET]]
build() {
    local from
    mkdir -p "$2"
    from=$(moved_from "$2")
    [ -z "$from" ] || echo "$2 was made in $from: configured afresh"
    cmake --preset "$1" ${from:+--fresh} -DTP_TESTS="$3" -DTP_CONTAINER="${4-OFF}" >"$2/configure.log" 2>&1 || {
        cat "$2/configure.log"
        exit 1
    }
    cmake --build "$2" -j "$(nproc)" ${5:+--target "$5"}
}

build_program() {
    set_up "$1"
    cuda/set_up.sh auto
    build release build OFF
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
if [ $# = 0 ] && [ -t 0 ] && [ -t 1 ]; then
    build_program run
    exec build/tomoprof menu
fi
case "${1-run}" in
run)
    build_program run
    build/tomoprof run --quick
    newest=$(find tomoprof-runs -mindepth 1 -maxdepth 1 -type d -name '2*Z*' | sort | tail -n 1)
    echo "Open $newest/report.html in a browser; build/tomoprof info latest shows the times again."
    ;;
build)
    build_program build
    echo "Built: build/tomoprof (build/tomoprof --help)"
    ;;
cuda)
    set_up cuda
    cuda/set_up.sh "${2-driver}"
    build cuda build OFF
    echo "Built: build/tomoprof and $(cd build && echo libtomoprof_cuda1?.so) (build/tomoprof doctor says whether they work here)"
    ;;
test)
    exec tests/run.sh
    ;;
gpu-check)
    [ -n "${TOMOPROF_GPU_CHECK-}" ] || cuda/set_up.sh gpu
    set_up test
    cuda/set_up.sh auto
    build release build ON OFF "gpu_check${TOMOPROF_GPU_CHECK:+_emulator}"
    code=0
    python3 tests/gpu/gpu_check.py build "${2-output}" || code=$?
    exit "$code"
    ;;
docker)
    shift
    exec docker/run.sh "$@"
    ;;
help | --help | -h)
    usage
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
