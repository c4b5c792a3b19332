#!/bin/sh
# Captures a run of tomoprof, or of the program given, with NVIDIA Nsight Systems into output/, and makes a report of it.
set -eu
# Prints the version of an nsys as 2024.5.
version_of() { "$1" --version 2>/dev/null | sed -n 's/.*[Vv]ersion \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1; }
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

nsys= # one that was mounted comes before the image's own, and the newest of those first
for file in /usr/local/cuda/bin/nsys /opt/nvidia/nsight-systems*/bin/nsys /opt/nvidia/nsight-systems/*/bin/nsys; do
    if [ -x "$file" ] && { [ -z "$nsys" ] || older "$(version_of "$nsys")" "$(version_of "$file")"; }; then
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
# Blackwell came with CUDA 12.8, of which Nsight Systems 2024.6 is a part.
card=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -V | tail -n 1 || true)
has=$(version_of "$nsys")
if [ "${card%%.*}" -ge 10 ] 2>/dev/null && [ -n "$has" ] && older "$has" 2024.6; then
    echo "nsys: this GPU has compute capability $card, which needs Nsight Systems 2024.6 or newer; this is $has and may miss its" \
        "kernels. Install a newer one on the host (developer.nvidia.com/nsight-systems): ./start.sh docker nsys mounts it, or" \
        "docker compose run --rm -v /opt/nvidia:/opt/nvidia:ro nsys" >&2
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
