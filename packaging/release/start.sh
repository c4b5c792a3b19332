#!/bin/sh
# Starts tomoprof from the folder that the archive unpacks to, and explains itself where the system cannot run it.
folder=$(dirname -- "$(readlink -f -- "$0")")
for loader in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
    [ ! -e "$loader" ] || exec "$folder/bin/tomoprof" "$@"
done
echo "tomoprof: this system has no GNU C library (glibc); tomoprof needs glibc 2.28 or newer. Alpine and other systems with musl:" \
    "run tomoprof in a container of Debian, Ubuntu, Fedora or Rocky Linux." >&2
exit 1
