#!/bin/sh
# Builds the program that runs on every Linux with glibc 2.28 or newer, in a root of Debian 11, with libraries under
# permissive licences. build.sh setup: what it needs (packages.tsv). build.sh build SOURCE BUILD TREE: TREE is then the
# program with the libraries that a system may lack, and runs from any place. $SOURCE_DATE_EPOCH must be set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
libraries=/usr/lib/$(uname -m)-linux-gnu
own=/opt/tomoprof-libraries

rows() { sed -n "s/^$1	//p" "$here/packages.tsv"; }

pc() { # NAME LIBRARIES [FLAGS]: for libraries without a file of pkg-config
    printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: %s\nCflags: %s\n' "$1" "$1" \
        "$(dpkg-query -W -f '${Version}' "$4" | sed 's/^[0-9]*://;s/[+-].*//')" "$2" "$3" > "$own/pkgconfig/$1.pc"
}

setup() {
    [ ! -e /opt/.tomoprof-setup ] || cmp -s /opt/.tomoprof-setup "$here/packages.tsv" || rm /opt/.tomoprof-setup
    [ ! -e /opt/.tomoprof-setup ] || return 0
    main=$(sed -n 's/^deb \([^ ]*\) bullseye main$/\1/p' /etc/apt/sources.list | head -1)
    printf 'deb %s bullseye main\ndeb %s-security bullseye-security main\ndeb %s bookworm main\ndeb-src %s trixie main\n' \
        "$main" "${main%/}" "$main" "$main" > /etc/apt/sources.list
    printf 'Package: *\nPin: release n=bookworm\nPin-Priority: -1\n' > /etc/apt/preferences.d/tomoprof
    apt-get -qq update
    # shellcheck disable=SC2046
    apt-get -qq install -y --no-install-recommends $(rows debian | awk -F '\t' '{print $1 "=" $2}') > /dev/null
    # Static where there is a static library, so that the tree has few files; elfutils stays shared, for its licence.
    for name in hdf5_serial deflate zstd lz4 sz aec turbojpeg uring snappy; do
        [ ! -e "$libraries/lib$name.a" ] || rm -f "$libraries/lib$name.so"
    done
    rm -f "$libraries/hdf5/serial/libhdf5.so" /usr/lib/libblosc.so "$libraries/libdw.a" "$libraries/libelf.a" "$libraries/libz.a"
    mkdir -p "$own/pkgconfig"
    pc libdeflate -ldeflate "" libdeflate-dev
    pc blosc -lblosc "" libblosc-dev
    pc libjxr "-ljxrglue -ljpegxr" "-I/usr/include/jxrlib -D__ANSI__" libjxr-dev
    rows debian12 | while IFS='	' read -r name version _; do
        cd "$own"
        apt-get -qq download "$name=$version"
        dpkg-deb -x "${name}"_*.deb "$own/debian12"
        printf 'Name: sqlite3\nDescription: SQLite\nVersion: %s\nLibs: -L%s -lsqlite3\nCflags: -I%s\n' "${version%-*}" \
            "$own/debian12$libraries" "$own/debian12/usr/include" > "$own/pkgconfig/sqlite3.pc"
    done
    rows source | while IFS='	' read -r name version _ _ hash; do
        cd /opt
        apt-get -qq source --download-only "$name" > /dev/null
        echo "$hash  ${name}_$version.orig.tar.gz" | sha256sum --check --quiet
        tar -xf "${name}_$version.orig.tar.gz"
    done
    cd /opt
    rm -rf "$own/cjson"
    mv cJSON-* "$own/cjson"
    # shellcheck disable=SC2046
    python3 -m venv /opt/tools && /opt/tools/bin/pip -q install $(rows pypi | awk -F '\t' '{print $1 "==" $2}')
    cp "$here/packages.tsv" /opt/.tomoprof-setup
}

# The functions of old_glibc.c, and cJSON.
own_libraries() {
    mkdir -p "$own/include/cjson"
    cp "$own"/cjson/cJSON.h "$own/include/cjson/"
    gcc -O2 -fPIC -c "$own/cjson/cJSON.c" -o "$own/cJSON.o"
    printf 'Name: libcjson\nDescription: cJSON\nVersion: %s\nLibs: -L%s -lcjson\nCflags: -I%s/include\n' \
        "$(rows source | awk -F '\t' '$1 == "cjson" {print $2}')" "$own" "$own" > "$own/pkgconfig/libcjson.pc"
    rm -f "$own"/*.a
    ar rcD "$own/libcjson.a" "$own/cJSON.o"
    for name in exp exp2 log log2 pow; do
        count=1
        [ $name != pow ] || count=2
        gcc -O2 -fPIC -DNAME=$name -DPARAMETERS=$count -c "$here/old_glibc.c" -o "$own/$name.o"
        ar rcD "$own/libold_glibc.a" "$own/$name.o"
        wraps="${wraps-}-Wl,--wrap=$name "
    done
}

build() {
    source=$1 build=$2 tree=$3
    : "${SOURCE_DATE_EPOCH:?}"
    own_libraries
    export PATH="/opt/tools/bin:$PATH" PKG_CONFIG_PATH="$own/pkgconfig"
    # No path of this build and no time is in what it makes.
    flags="-ffile-prefix-map=$source=. -ffile-prefix-map=$build=build"
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTP_TESTS=OFF -DTP_KISSFFT=ON \
        -DTP_CUDA="${TP_CUDA-OFF}" -DNVTX_INCLUDE="$(echo /opt/tools/lib/python3*/site-packages/nvidia/cu13/include)" -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_C_FLAGS=$flags" \
        "-DCMAKE_EXE_LINKER_FLAGS=$wraps" "-DCMAKE_MODULE_LINKER_FLAGS=$wraps" "-DCMAKE_SHARED_LINKER_FLAGS=$wraps" \
        "-DCMAKE_C_STANDARD_LIBRARIES=-lsz -laec -lz -llz4 -lzstd -lsnappy -l:libstdc++.a -ldl -lrt -lpthread -lm -L$own -lold_glibc" \
        ${TP_LAUNCHER:+-DCMAKE_C_COMPILER_LAUNCHER=$TP_LAUNCHER}
    cmake --build "$build"
    rm -rf "$tree" "$tree.install"
    DESTDIR="$tree.install" cmake --install "$build" > /dev/null
    mv "$tree.install/usr" "$tree"
    rmdir "$tree.install"
    python3 "$here/bundle.py" "$tree"
}

case ${1-} in
setup) setup ;;
build)
    shift
    build "$@"
    ;;
*)
    echo "usage: build.sh setup | build SOURCE BUILD TREE" >&2
    exit 2
    ;;
esac
