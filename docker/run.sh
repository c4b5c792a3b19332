#!/usr/bin/env bash
# Builds the container and runs tomoprof in it: what ./start.sh docker [SERVICE] [WORDS] does.
set -eu
cd "$(dirname "$0")/.."

NSIGHT=${TOMOPROF_NSIGHT-/opt/nvidia} # where NVIDIA's packages put Nsight Systems

# Writes what compose gets when it is called by itself: .env beside compose.yaml, unless that is somebody's own.
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
    if [ "$service" = nsys ] && [ -d "$NSIGHT" ]; then # newer than Debian's, or of the user's choice
        set -- -v "$NSIGHT:/opt/nvidia:ro" "$service" "$@"
    else
        set -- "$service" "$@"
    fi
    if [ ! -t 0 ]; then # v1 of compose asks for a terminal unless told
        set -- -T "$@"
    fi
    $compose run --rm "$@"
}

in_container "$@"
