#!/bin/sh
# Entry of the images: runs tomoprof with the words given, or the program that the first word names (sh, python).
set -eu
output=/work/output
export TOMOPROF_RUNS=output

if [ ! -w "$output" ]; then
    echo "tomoprof: $output is owned by uid $(stat -c %u "$output"), this container runs as uid $(id -u):" \
        "set TOMOPROF_UID=\$(id -u) TOMOPROF_GID=\$(id -g), or use ./start.sh docker" >&2
    exit 1
fi
if [ -n "${TOMOPROF_EXPECTS_GPU-}" ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
    if [ -e /proc/driver/nvidia/version ]; then # the host's: its modules show in every container
        echo "tomoprof: this machine has a GPU of NVIDIA, but the container was not given it, so the CPU computes: install" \
            "nvidia-container-toolkit, then ./start.sh docker, or docker compose run --rm profiler" >&2
    else
        echo "tomoprof: no GPU is visible in this container, so the CPU computes; for a GPU install NVIDIA's driver and" \
            "nvidia-container-toolkit on the host, then ./start.sh docker, or docker compose run --rm profiler" >&2
    fi
elif [ -n "${TOMOPROF_CPU_SERVICE-}" ]; then
    case ${1-} in
    run | recon | apply | simulate)
        echo "tomoprof: this is the service for the CPU; on a machine with a GPU of NVIDIA:" \
            "docker compose run --rm profiler $*" >&2
        ;;
    esac
fi
case ${1-} in
"" | -* | run | record | report | recon | apply | op | bench | simulate | gen | info | load | convert | doctor | export | compare | triage | width | help | reference | \
    import | try | top | dump | list | menu)
    set -- tomoprof "$@"
    ;;
esac
if [ "$(id -u)" != 0 ] || [ -z "${TOMOPROF_UID-}" ]; then
    exec "$@"
fi

# As root (counters ask for it): what was written goes to the caller. The signal reaches the program itself, tini -g sees to that.
trap : INT TERM HUP
code=0
"$@" || code=$?
chown -hR "$TOMOPROF_UID:${TOMOPROF_GID-$TOMOPROF_UID}" "$output"
exit "$code"
