#!/usr/bin/env bash
# Sets up and builds, runs all tests, and again with sanitizers: what ./start.sh test does. With CI=true the containers too.
# shellcheck source=/dev/null
. "$(dirname "$0")/../start.sh"

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

set_up test
set_up_optional
run_tests
