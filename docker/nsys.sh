#!/bin/sh
# Captures a run of tomoprof, or of the program given, with NVIDIA Nsight Systems into output/.
set -eu
nsys=$(command -v nsys || true)
for file in /usr/local/cuda/bin/nsys /opt/nvidia/nsight-systems*/bin/nsys /opt/nvidia/nsight-systems/*/bin/nsys; do
    if [ -z "$nsys" ] && [ -x "$file" ]; then
        nsys=$file
    fi
done
if [ -z "$nsys" ]; then
    echo "nsys: NVIDIA Nsight Systems is not in this container; it comes with the CUDA toolkit or from" \
        "developer.nvidia.com/nsight-systems. Mount the host's:" \
        "docker compose run --rm -v /opt/nvidia:/opt/nvidia:ro nsys" >&2
    exit 1
fi
[ $# -gt 0 ] || set -- tomoprof run --quick --no-trace
out=/work/output/nsys-$(date -u +%Y%m%dT%H%M%SZ)
"$nsys" profile --trace=cuda,nvtx,osrt --cuda-graph-trace=node --export=sqlite --output="$out" "$@"
echo "Capture: $out.nsys-rep and $out.sqlite" >&2
