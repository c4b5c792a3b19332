#!/bin/sh
# What a user does first, inside a bare root: try.sh wheel|archive|deb|rpm ARTEFACTS TESTS (the folder tests of the sources). Prints
# times and sizes; ends with 1 at the first thing that does not work.
set -eu
kind=$1 artefacts=$2 tests=$3 scans=$3/data
work=$(mktemp -d)
cd "$work"
now() { awk '{print $1}' /proc/uptime; }
took() { awk -v a="$began" -v b="$(now)" -v what="$1" 'BEGIN {printf "  %-28s %6.2f s\n", what, b - a}'; began=$(now); }
only() { # the one file of this name
    if [ $# != 1 ] || [ ! -e "$1" ]; then
        echo "try.sh: expected one file, found: $*" >&2
        exit 1
    fi
    echo "$1"
}

began=$(now)
case $kind in
wheel)
    python3 -m venv venv
    took "python3 -m venv"
    venv/bin/pip install --quiet --no-index --no-deps "$(only "$artefacts"/*.whl)"
    took "pip install"
    program=venv/bin/tomoprof
    python=venv/bin/python
    $python -c 'import tomoprof; print("  ", tomoprof.program())'
    ;;
archive)
    zstd -dcq "$(only "$artefacts"/*.tar.zst)" | { mkdir "a b" && tar -xf - -C "a b"; }
    chmod -R a-w "a b"
    took "unpack, to a path with spaces"
    program="$(only "a b"/tomoprof-*/tomoprof)"
    ;;
deb)
    dpkg -i "$(only "$artefacts"/*.deb)" > /dev/null
    took "dpkg -i"
    program=/usr/bin/tomoprof
    ;;
rpm)
    rpm -qpR "$(only "$artefacts"/*.rpm)" | sed 's/^/  requires /'
    rpm2cpio "$(only "$artefacts"/*.rpm)" | cpio -id --quiet
    took "rpm2cpio"
    program=usr/bin/tomoprof
    ;;
esac
[ -n "${python-}" ] || python=$(command -v python3 || true)

"$program" --version | sed 's/^/  /'
"$program" doctor --json > doctor.json
took "doctor"
cat > x.py <<'P'
import time
end = time.process_time() + 1
total = 0
while time.process_time() < end:
    total += sum(i * i for i in range(2000))
P
if [ -n "$python" ]; then
    began=$(now)
    "$program" record "$python" x.py > record.txt 2>&1 || { cat record.txt; exit 1; }
    took "record python x.py"
    "$program" report latest --text > report.txt
    took "report --text"
    grep -q 'x\.py' report.txt || { cat report.txt; echo "report --text does not name x.py" >&2; exit 1; }
    grep -m 1 '^x\.py\|: x\.py' report.txt | cut -c 1-110 | sed 's/^/  /'
fi
"$program" record -- /bin/ls / > /dev/null 2> record.txt || { cat record.txt; exit 1; }
began=$(now)
"$program" recon --in "$scans/tooth.h5" --out tooth.npy > recon.txt 2>&1 || { cat recon.txt; exit 1; }
took "recon of the tooth"
tail -2 recon.txt | cut -c 1-130 | sed 's/^/  /'
[ "$(wc -c < tooth.npy)" -gt 1000000 ] || { echo "tooth.npy has $(wc -c < tooth.npy) bytes" >&2; exit 1; }

# A file of a server, by the system's libcurl where there is one: the bare root has none.
if [ -n "$python" ]; then
    began=$(now)
    cat > served.py <<'P'
import subprocess, sys
sys.path.insert(0, sys.argv[2] + "/pipe")
from ranges import serve
with serve(sys.argv[2] + "/data") as (url, _):
    done = subprocess.run([sys.argv[1], "info", url + "/tooth.h5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=300)
there = "libcurl cannot be opened" not in done.stderr
print("  " + (done.stderr if done.returncode else "info http://.../tooth.h5: " + done.stdout.splitlines()[0])[:150].strip())
sys.exit(done.returncode if there else "install libcurl4" not in done.stderr)
P
    "$python" served.py "$program" "$tests"
    took "info of a served scan"
    grep -q 'libfftw3-dev' doctor.json && { echo "doctor advises to install what the package does not use" >&2; exit 1; }
fi

# Ranks: record works under mpirun, recon of several ranks names what it needs.
if command -v mpirun > /dev/null; then
    ranks() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 "$@"; }
    ranks "$program" record --out "$work/ranks" -- /bin/ls -R /usr > ranks.txt 2>&1 || { cat ranks.txt; exit 1; }
    "$program" report --text "$work"/ranks/latest | sed -n 1p | sed 's/^/  two ranks: /'
    ranks "$program" recon --in "$scans/tooth.h5" --out ranks.npy > ranks.txt 2>&1 && { echo "recon of two ranks worked without MPI" >&2; exit 1; }
    grep -m 1 "no MPI, as the packages have none" ranks.txt | sed 's/^/  /'
    grep -q "build tomoprof from source, or start one process" ranks.txt || { cat ranks.txt; exit 1; }
fi
echo "$kind works on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), glibc $(ldd --version | sed -n '1s/.* //p')${python:+, $("$python" --version)}"
