#!/bin/sh
# Packs what build.sh built, in the same root: pack.sh SOURCE TREE OUT writes the wheel, the archive, the .deb, the .rpm and
# the list of what is inside (SPDX). The same tree and $SOURCE_DATE_EPOCH give the same bytes.
set -eu
: "${SOURCE_DATE_EPOCH:?}"
here=$(cd "$(dirname "$0")" && pwd)
source=$1 tree=$2 out=$3
export PATH="/opt/tools/bin:$PATH"
version=$("$tree/bin/tomoprof" --version | cut -d ' ' -f 2)
machine=$(uname -m)
mkdir -p "$out"

# What is inside, and its licences.
docs=$tree/share/doc/tomoprof
mkdir -p "$docs/licenses"
{
    printf 'kind\tname\tversion\tlicences\nsource\ttomoprof\t%s\tApache-2.0\n' "$version"
    awk -F '\t' -v OFS='\t' '!/^#/ && $4 != "no" {print $1 == "source" ? "library" : $1 ~ /^debian/ ? "debian" : "wheel", $2, $3, $5 " (" $4 ")"}' "$here/packages.tsv"
} > "$out/inside.tsv"
"$source/docker/sbom.sh" spdx < "$out/inside.tsv" > "$docs/sbom.spdx.json"
rm "$out/inside.tsv"
cp "$docs/sbom.spdx.json" "$out/tomoprof-$version.spdx.json"
awk -F '\t' '$1 == "debian" && $4 != "no" {print $2}' "$here/packages.tsv" | while read -r name; do
    cp -L "/usr/share/doc/$name/copyright" "$docs/licenses/$name.txt"
done
cp -L /opt/tomoprof-libraries/debian12/usr/share/doc/libsqlite3-dev/copyright "$docs/licenses/libsqlite3-dev.txt"
cp /opt/tools/lib/python3*/site-packages/nvidia_nvtx-*.dist-info/licenses/License.txt "$docs/licenses/nvidia-nvtx.txt"
cp /opt/tomoprof-libraries/cjson/LICENSE "$docs/licenses/cjson.txt"
# One time for all, that of the commit.
find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +

wheel=$(/opt/tools/bin/python "$here/wheel.py" "$tree" "$out" --sbom "$docs/sbom.spdx.json")
glibc=$(basename "$wheel" | sed 's/.*manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/') # the newest version that a file of the tree asks for

name=tomoprof-$version-linux-$machine
rm -rf "${tree:?}.archive"
mkdir "$tree.archive"
cp -a "$tree" "$tree.archive/$name"
install -m 755 "$here/start.sh" "$tree.archive/$name/tomoprof"
touch --date "@$SOURCE_DATE_EPOCH" "$tree.archive/$name/tomoprof" "$tree.archive/$name"
tar -C "$tree.archive" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mode=go=u-w \
    --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | zstd -q -19 -T1 -f -o "$out/$name.tar.zst"
chmod 644 "$out/$name.tar.zst"

for generator in DEB RPM; do
    TP_TREE=$tree TP_VERSION=$version TP_GLIBC=$glibc cpack -G $generator --config "$here/cpack.cmake" -B "$tree.cpack" > "$tree.cpack.log" || { cat "$tree.cpack.log"; exit 1; }
done
mv "$tree.cpack"/*.deb "$tree.cpack"/*.rpm "$out/"
