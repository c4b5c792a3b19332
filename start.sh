#!/usr/bin/env bash
# Sets up, builds and runs tomoprof. ./start.sh help says how.
set -eu
cd "$(dirname "$0")"

usage() {
    cat <<'END'
./start.sh         set up, build, run the quick profile suite (15 seconds on 2 cores), say where the results are;
                   on a terminal a menu: run, view past runs, compare two, doctor
./start.sh build   set up and build only: the program is then build/tomoprof
./start.sh cuda [12|13|both]
                   the same with the CUDA back end, for the driver that is here, else for CUDA 13: installs NVIDIA's toolkit
                   into build-toolkit (no root; 13: pip, 600 MB; 12: Debian's packages, 1.4 GB). 13 needs driver 580, 12 needs 525.
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
elsewhere it prints the one line to run and stops.
END
}

recent_cmake() {
    local found
    found=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*//p')
    [ -n "$found" ] && [ "$(printf '3.25\n%s\n' "$found" | sort -V | head -n 1)" = 3.25 ]
}

python_for_tests() {
    python3 -c 'import numpy, jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import numpy, jsonschema' 2>/dev/null
}

# Prints what is missing, one word each.
missing() {
    recent_cmake || echo "cmake>=3.25"
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
    [ "$1" != test ] || python_for_tests || echo "python3 with numpy and jsonschema"
}

debian="cmake ninja-build gcc libc6-dev pkg-config zlib1g-dev libcjson-dev libfftw3-dev libhdf5-dev libdw-dev libsqlite3-dev libdeflate-dev libzstd-dev libblosc-dev liblz4-dev liburing-dev libcurl4-openssl-dev libturbojpeg0-dev libjxr-dev libaec-dev"
debian_test="g++ libcmocka-dev python3-numpy python3-jsonschema"
fedora="cmake ninja-build gcc pkgconf-pkg-config zlib-devel cjson-devel fftw-devel hdf5-devel elfutils-devel sqlite-devel libdeflate-devel libzstd-devel blosc-devel lz4-devel liburing-devel libcurl-devel turbojpeg-devel jxrlib-devel"
fedora_test="gcc-c++ libcmocka-devel python3-numpy python3-jsonschema"
arch="cmake ninja gcc pkgconf zlib cjson fftw hdf5 libelf sqlite libdeflate zstd blosc lz4 liburing curl libjpeg-turbo"
arch_test="cmocka python-numpy python-jsonschema"

set_up() {
    local absent root=""
    absent=$(missing "$1")
    [ -n "$absent" ] || return 0
    echo "Missing: $(echo "$absent" | paste -sd ' ')"
    if [ "$1" = cuda ]; then
        debian="$debian g++ python3-pip" fedora="$fedora gcc-c++ python3-pip" arch="$arch python-pip"
    fi
    if [ "$1" = test ]; then
        debian="$debian $debian_test" fedora="$fedora $fedora_test" arch="$arch $arch_test"
    fi
    [ "$(id -u)" = 0 ] || root="sudo -n"
    if command -v apt-get >/dev/null && { [ -z "$root" ] || $root true 2>/dev/null; }; then
        $root apt-get update </dev/null || true # one broken source need not matter
        # shellcheck disable=SC2086 # lists of words
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $debian </dev/null || true
        absent=$(missing "$1")
        [ -n "$absent" ] || return 0
        echo "Still missing: $(echo "$absent" | paste -sd ' ')"
    fi
    cat <<END
Install them with the line for your system, then run this again:
  Debian, Ubuntu:  sudo apt-get install $debian
  Fedora:          sudo dnf install $fedora
  Arch:            sudo pacman -S --needed $arch
END
    exit 1
}

# The version of NVIDIA's driver, as 565; nothing where none answers.
driver() {
    local smi
    for smi in nvidia-smi /usr/lib/wsl/lib/nvidia-smi; do
        if command -v "$smi" >/dev/null; then
            "$smi" --query-gpu=driver_version --format=csv,noheader 2>/dev/null | sed -n '1s/^\([0-9]*\)\..*/\1/p'
            return
        fi
    done
}

# The CUDA that this driver serves, of those that the back end is built for; nothing where none does.
cuda_of_driver() {
    local version
    version=$(driver)
    if [ "${version:-0}" -ge 580 ]; then
        echo 13
    elif [ "${version:-0}" -ge 525 ]; then
        echo 12
    fi
}

# Whether a toolkit of CUDA $1 is on this machine, ours or another.
has_toolkit() {
    local root
    for root in build-toolkit/nvidia/cu"$1" "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda-"$1".* /usr; do
        if [ -e "$root/include/cufft.h" ] && "$root/bin/nvcc" --version 2>/dev/null | grep -q "release $1\."; then
            return 0
        fi
    done
    return 1
}

# What the driver here needs to compute; without it the CPU does, and a sentence says so.
set_up_gpu() {
    local version
    [ "${TOMOPROF_CUDA_TOOLKIT-}" != none ] || return 0
    version=$(cuda_of_driver)
    if [ -z "$version" ] || has_toolkit "$version"; then
        return 0
    fi
    echo "NVIDIA's driver $(driver) is here: CUDA $version is set up in build-toolkit, once (TOMOPROF_CUDA_TOOLKIT=none forbids it)."
    cuda/toolkit.sh "$version" || echo "CUDA $version could not be set up, so the CPU computes: ./start.sh cuda tries again." >&2
}

# Where the build folder $1 or its sources were when CMake last ran; nothing where they still are there.
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

# The browser tests and those of the FPGA cores skip with a reason where these cannot be had: not every system has them under
# these names.
set_up_optional() {
    local root="" wanted="" package
    command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || wanted="chromium-headless-shell"
    command -v npm >/dev/null || wanted="$wanted nodejs npm"
    for package in verilator yosys; do command -v $package >/dev/null || wanted="$wanted $package"; done
    command -v mpirun >/dev/null || wanted="$wanted openmpi-bin libopenmpi-dev"
    if [ "${CI-}" = true ]; then
        [ -x /usr/sbin/slurmctld ] || wanted="$wanted slurm-wlm munge"
        docker info >/dev/null 2>&1 || command -v dockerd >/dev/null || wanted="$wanted docker.io"
        docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || wanted="$wanted docker-compose"
        command -v debootstrap >/dev/null || wanted="$wanted debootstrap"
        python3 -m pip --version >/dev/null 2>&1 || wanted="$wanted python3-pip"
        python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || wanted="$wanted python3-venv"
    fi
    [ -n "$wanted" ] && command -v apt-get >/dev/null || return 0
    [ "$(id -u)" = 0 ] || root="sudo -n"
    $root apt-get update </dev/null || true
    # shellcheck disable=SC2086 # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $wanted </dev/null && return
    for package in $wanted; do # what the system does not have under this name must not cost the rest
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" </dev/null || true
    done
}

SANITIZED='unit|operators|device|trace|pipe|fuzz' # labels of tests that run C code which the compiler has instrumented

# Prints why tests of a log were skipped.
reasons() {
    echo "Not run here:"
    sed -n 's/^skipped: /  /p' "$1" | sort -u
}

# Everything once, then what runs C code of its own under the sanitizers, which alone see what is labelled `again` (kernels on the
# emulator, mutated files). A test that cannot run here says why. Tests wait much: the second build and the containers work beside.
run_tests() {
    local containers=OFF code=0 sanitized contained jobs=$(($(nproc) + 1)) # one more than CPUs: some tests mostly wait
    if [ "${CI-}" = true ]; then # one architecture of GPU, and not the whole of README in a bare Debian: within minutes
        containers=ON
        export TP_CONTAINER_PARTS="${TP_CONTAINER_PARTS-cuda}" TP_CONTAINER_ARCH="${TP_CONTAINER_ARCH-86}"
        export TP_CONTAINER_MINUTES="${TP_CONTAINER_MINUTES-20}" TP_CONTAINER_CUDA12="${TP_CONTAINER_CUDA12-no}" TOMOPROF_BUILD_TYPE="${TOMOPROF_BUILD_TYPE-Quick}"
    fi
    build release build ON "$containers"
    beside build/asan.log build asan build-asan ON
    sanitized=$!
    [ "$containers" = OFF ] || # from a folder of its own: ctest keeps notes in it
        beside build/containers.log ctest --test-dir build/tests/container --output-on-failure -E fresh
    contained=$!
    ctest --test-dir build --output-on-failure -j "$jobs" -LE 'container|again' || code=$?
    reasons build/Testing/Temporary/LastTest.log
    [ "$code" = 0 ] || return "$code"
    finished "$sanitized" build/asan.log
    ctest --test-dir build-asan --output-on-failure -j "$((jobs + 2))" -L "$SANITIZED" || code=$? # beside nothing, and no samples
    [ "$code" = 0 ] || return "$code"
    if [ "$containers" = ON ]; then
        finished "$contained" build/containers.log
        reasons build/tests/container/Testing/Temporary/LastTest.log
    fi
}

# beside LOG COMMAND...: begins it, behind what else computes, in a process group of its own, which ends with us.
beside() {
    local log=$1
    set -m
    (
        renice -n 5 -p "$BASHPID" >/dev/null || true
        "${@:2}"
    ) >"$log" 2>&1 </dev/null &
    set +m
    running="${running-} -$!"
    # shellcheck disable=SC2086 # a list
    trap '[ -z "$running" ] || kill -- $running 2>/dev/null || true' EXIT
}

# finished PROCESS LOG: waits for what `beside` began and shows its LOG; fails where that did.
finished() {
    local code=0
    wait "$1" || code=$?
    running=${running/ -$1/}
    cat "$2"
    return "$code"
}

# The menu of a terminal -----------------------------------------------------------------------------------------------

runs() {
    [ -d output ] || return 0
    find output -mindepth 1 -maxdepth 1 -type d -name '2*Z*' | sort -r | head -n 20
}

newest_run() { runs | head -n 1; }

# What a run was, in a line: its command, or the suite, and what that took.
headline() {
    local what="suite"
    if [ -e "$1/record.json" ]; then
        what=$(sed -n '/"command"/,/\]/s/^  "\(.*\)",*$/\1/p' "$1/record.json" | paste -sd ' ' | cut -c 1-40)
    fi
    echo "$what: $(build/tomoprof report --text --top 1 "$1" 2>/dev/null | sed '1s/ (.*//;q')"
}

list_runs() {
    local run stamp n=0
    for run in $(runs); do
        n=$((n + 1)) stamp=$(basename "$run")
        printf '%3d  %s-%s-%s %s:%s UTC  %6s  %s\n' "$n" "${stamp:0:4}" "${stamp:4:2}" "${stamp:6:2}" "${stamp:9:2}" \
            "${stamp:11:2}" "$(du -sh "$run" | cut -f 1)" "$(headline "$run")"
    done
    [ "$n" -gt 0 ] || echo "No runs yet."
}

# Sets `picked` to the run that the answer's number names, to "" when it names none.
pick() {
    local number
    read -r -p "$1 (number, Enter for none): " number || number=""
    picked=""
    case $number in
    "" | *[!0-9]*) ;;
    *) picked=$(runs | sed -n "${number}p") ;;
    esac
}

open_report() {
    local page=$1/report.html opener
    [ -e "$page" ] || build/tomoprof report "$1" || return 0
    for opener in xdg-open wslview open; do
        if command -v "$opener" >/dev/null; then
            "$opener" "$page" >/dev/null 2>&1 && return 0
        fi
    done
    echo "Open it in a browser: $PWD/$page"
}

# A command line as a person types it, recorded; the page opens also when the program failed.
profile_program() {
    local line before
    read -r -p "Command line of the program (as python3 recon.py; Enter for none): " line || line=""
    [ -n "$line" ] || return 0
    before=$(newest_run)
    build/tomoprof record -- bash -c "$line" || true
    [ "$(newest_run)" = "$before" ] || open_report "$(newest_run)"
}

# The volume lies beside the runs, under the scan's name.
reconstruct_scan() {
    local scan geometry=()
    read -r -p "Scan (.h5, .txrm, a folder of TIFF, .npy with a geometry beside it; Enter for none): " scan || scan=""
    [ -n "$scan" ] || return 0
    [ ! -e "${scan%.*}.json" ] || geometry=(--geometry "${scan%.*}.json")
    mkdir -p output
    build/tomoprof recon --in "$scan" "${geometry[@]}" --out "output/$(basename "${scan%.*}").nii" || true
}

# A name that is not here is looked up below /data, where containers have a folder of data mounted.
load_file() {
    local file
    read -r -p "File, folder or URL to load (Enter for none): " file || file=""
    [ -n "$file" ] || return 0
    if [ ! -e "$file" ] && [ -e "/data/$file" ]; then
        echo "$file is not in $PWD; the mounted folder has it: /data/$file"
        file=/data/$file
    fi
    build/tomoprof load "$file" --sweep quick || true
}

menu() {
    local answer first picked
    build_program
    while :; do
        printf '\n  p  Profile a program\n  s  Reconstruct a scan\n  l  Find the fastest way to load a file\n  r  Run the quick suite\n'
        printf '  v  View a past run\n  c  Compare two runs\n  d  Doctor\n  q  Quit\n'
        read -r -p "Choice: " answer || return 0
        case $answer in
        p | P) profile_program ;;
        s | S) reconstruct_scan ;;
        l | L) load_file ;;
        r | R)
            if build/tomoprof run --quick; then
                open_report "$(newest_run)"
            fi
            ;;
        v | V)
            list_runs
            pick "View which"
            [ -z "$picked" ] || open_report "$picked"
            ;;
        c | C)
            list_runs
            pick "Before"
            first=$picked
            pick "After"
            [ -z "$first" ] || [ -z "$picked" ] || build/tomoprof compare "$first" "$picked" || true
            ;;
        d | D) build/tomoprof doctor || true ;;
        q | Q) return 0 ;;
        *) echo "p, s, l, r, v, c, d or q" ;;
        esac
    done
}

# Containers -----------------------------------------------------------------------------------------------------------

# What compose gets when it is called by itself: .env beside compose.yaml, unless that is somebody's own.
remember() {
    local mark="# Written by ./start.sh docker, each time anew; without this line it is yours and stays."
    if [ ! -e .env ] || [ "$(head -n 1 .env)" = "$mark" ]; then
        printf '%s\n' "$mark" "TOMOPROF_GPU=$1" "TOMOPROF_UID=$(id -u)" "TOMOPROF_GID=$(id -g)" >.env
    fi
}

# in_container [SERVICE] [WORDS]
in_container() {
    local compose service target gpu=none base
    base=${TOMOPROF_BASE-debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241}
    if docker compose version >/dev/null 2>&1; then
        compose="docker compose"
    elif command -v docker-compose >/dev/null; then
        compose=docker-compose
    else
        echo "./start.sh docker needs Docker and its compose (Debian: sudo apt-get install docker.io docker-compose)" >&2
        exit 1
    fi
    if ! docker info >/dev/null 2>&1; then
        echo "No container engine answers: start it (sudo systemctl start docker), or join its group (sudo usermod -aG" \
            "docker $(id -un), then log in again)" >&2
        exit 1
    fi
    export DOCKER_BUILDKIT=1 TOMOPROF_UID="${TOMOPROF_UID-$(id -u)}" TOMOPROF_GID="${TOMOPROF_GID-$(id -g)}"
    if docker info --format '{{json .}}' | grep -q '"nvidia\|nvidia.com/gpu'; then
        gpu=nvidia
        # Docker Desktop lists NVIDIA's runtime on machines without a GPU too: a container that asks for one would not start.
        if ! docker run --rm --gpus all --env NVIDIA_DRIVER_CAPABILITIES=utility "$base" nvidia-smi -L >/dev/null 2>&1; then
            gpu=none
            echo "This container engine has NVIDIA's runtime, but gives a container no GPU (docker run --rm --gpus all $base nvidia-smi" \
                "says why)." >&2
        fi
    fi
    remember "$gpu"
    export TOMOPROF_GPU="${TOMOPROF_GPU:-$gpu}"
    case ${1-} in
    profiler | profiler-full | gpu-check | cpu | test | nsys)
        service=$1
        shift
        ;;
    *)
        service=profiler
        if [ "$TOMOPROF_GPU" = none ]; then
            service=cpu
            echo "This container engine has no NVIDIA runtime that works, so the CPU computes (a GPU needs NVIDIA's driver and" \
                "nvidia-container-toolkit on this machine)." >&2
        fi
        ;;
    esac
    case $service in
    cpu) target=python ;;
    test | gpu-check | nsys) target=$service ;;
    *) target=cuda ;;
    esac
    mkdir -p output
    docker build --file docker/Dockerfile --target "$target" --tag "tomoprof:$target" \
        --build-arg BASE="$base" --build-arg GPU="$TOMOPROF_GPU" --build-arg SNAPSHOT="${TOMOPROF_SNAPSHOT-}" --build-arg BUILD_TYPE="${TOMOPROF_BUILD_TYPE-RelWithDebInfo}" \
        --network "${TOMOPROF_BUILD_NETWORK-default}" ${TOMOPROF_CA:+--secret "id=ca,src=$TOMOPROF_CA"} . >&2
    if [ ! -t 0 ]; then # v1 of compose asks for a terminal unless told
        set -- -T "$service" "$@"
    else
        set -- "$service" "$@"
    fi
    $compose run --rm "$@"
}

build_program() {
    set_up run
    set_up_gpu
    build release build OFF
}

if [ $# = 0 ] && [ -t 0 ] && [ -t 1 ]; then
    menu
    exit
fi
case "${1-run}" in
run)
    build_program
    build/tomoprof run --quick
    echo "Open $(newest_run)/report.html in a browser; build/tomoprof info output/latest shows the times again."
    ;;
build)
    set_up build
    set_up_gpu
    build release build OFF
    echo "Built: build/tomoprof (build/tomoprof --help)"
    ;;
cuda)
    set_up cuda
    version=${2-$(cuda_of_driver)}
    case ${version:=13} in
    12 | 13) cuda/toolkit.sh "$version" ;;
    both)
        cuda/toolkit.sh 13
        cuda/toolkit.sh 12
        ;;
    *)
        echo "./start.sh cuda $version: 12, 13 or both" >&2
        exit 2
        ;;
    esac
    build cuda build OFF
    echo "Built: build/tomoprof and $(cd build && echo libtomoprof_cuda1?.so) (build/tomoprof doctor says whether they work here)"
    ;;
test)
    set_up test
    set_up_optional
    run_tests
    ;;
gpu-check)
    set_up test
    set_up_gpu
    build release build ON OFF "gpu_check${TOMOPROF_GPU_CHECK:+_emulator}"
    code=0
    python3 tests/gpu/gpu_check.py build "${2-output}" || code=$?
    exit "$code"
    ;;
docker)
    shift
    in_container "$@"
    ;;
help | --help | -h)
    usage
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
