#!/bin/sh
# Nsight Systems as Debian packages it (trixie, non-free), unpacked into FOLDER with a launcher of its own in FOLDER/bin;
# nothing is installed. For Debian and what derives from it:  docker/nsight.sh FOLDER
set -eu
[ $# = 1 ] || {
    echo "docker/nsight.sh FOLDER" >&2
    exit 2
}
mkdir -p "$1"
to=$(cd "$1" && pwd)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(grep -rhE '^(URIs:|deb )' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | grep -oE 'https?://[^ ]+/debian/?( |$)' |
    sed -n '1s|/* *$||p')
if [ -z "$mirror" ] || [ ! -e "$keys" ]; then
    echo "docker/nsight.sh: Debian's apt and $keys are needed; elsewhere install Nsight Systems from NVIDIA" >&2
    exit 1
fi
apt=$to/apt
rm -rf "$apt" "${to:?}/usr" "${to:?}/bin"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$to/bin"
echo "deb [signed-by=$keys] $mirror trixie main non-free" >"$apt/list"
get() { apt-get -q -o "Dir::Etc::sourcelist=$apt/list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" "$@"; }
get update >/dev/null
(cd "$apt/debs" && get download nsight-systems/trixie nsight-systems-target/trixie libssh-4/trixie >/dev/null)
for file in "$apt"/debs/*.deb; do
    dpkg -x "$file" "$to"
    printf 'debian\t%s\t%s\tLicenseRef-NVIDIA-Proprietary\n' "$(dpkg-deb -f "$file" Package)" "$(dpkg-deb -f "$file" Version)" >>"$to/packages.tsv"
done
rm -rf "$apt"
# nsys does not find its importer where Debian puts it, and leaves a .qdstrm, which QdstrmImporter turns into a report.
for name in nsys:target-linux-x64 QdstrmImporter:host-linux-x64; do
    cat >"$to/bin/${name%%:*}" <<EOF
#!/bin/sh
at=\$(CDPATH= cd -- "\$(dirname -- "\$(readlink -f -- "\$0")")/../usr/lib" && pwd)
LD_LIBRARY_PATH="\$at/nsight-systems/host-linux-x64:\$at/x86_64-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "\$at/nsight-systems/${name##*:}/${name%%:*}" "\$@"
EOF
    chmod 0755 "$to/bin/${name%%:*}"
done
ln -sf ../../x86_64-linux-gnu/libssh.so.4 "$to/usr/lib/nsight-systems/host-linux-x64/libssh.so"
"$to/bin/nsys" --version
