#!/bin/sh
# Captures a run of tomoprof, or of the program given, with NVIDIA Nsight Systems into output/, and makes a report of it.
set -eu
nsys= # one that was mounted comes before the image's own
for file in /usr/local/cuda/bin/nsys /opt/nvidia/nsight-systems*/bin/nsys /opt/nvidia/nsight-systems/*/bin/nsys; do
    if [ -z "$nsys" ] && [ -x "$file" ]; then
        nsys=$file
    fi
done
[ -n "$nsys" ] || nsys=$(command -v nsys || true)
if [ -z "$nsys" ]; then
    echo "nsys: NVIDIA Nsight Systems is not in this container; it comes with the CUDA toolkit or from" \
        "developer.nvidia.com/nsight-systems. Mount the host's:" \
        "docker compose run --rm -v /opt/nvidia:/opt/nvidia:ro nsys" >&2
    exit 1
fi
[ $# -gt 0 ] || set -- tomoprof run --quick --no-trace
to=${TOMOPROF_OUTPUT_DIR:-/work/output}
out=$to/nsys-$(date -u +%Y%m%dT%H%M%SZ)
status=0
# Sampling needs perf events, which an engine's system call filter may refuse: nsys then says so and goes on.
"$nsys" profile --trace=cuda,nvtx,osrt --cuda-graph-trace=node --output="$out" "$@" || status=$?
if [ ! -e "$out.nsys-rep" ] && [ -e "$out.qdstrm" ]; then # Debian's nsys leaves the last step to its importer
    QdstrmImporter -i "$out.qdstrm" -o "$out.nsys-rep" >/dev/null
    rm -f "$out.qdstrm"
fi
if [ ! -e "$out.nsys-rep" ]; then
    echo "nsys left no capture (exit status $status)" >&2
    exit 1
fi
"$nsys" export --quiet=true --type=sqlite --force-overwrite=true --output="$out.sqlite" "$out.nsys-rep" >/dev/null
echo "Capture: $out.nsys-rep and $out.sqlite" >&2
tomoprof import --out "$to" "$out.sqlite"
exit "$status"
