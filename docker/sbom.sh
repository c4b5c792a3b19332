#!/bin/sh
# What is in the image, as a table: kind, name, version, licences. sbom.sh wheels FOLDER: what pip installed there.
set -eu
tab=$(printf '\t')

if [ "${1-}" = wheels ]; then
    for file in "$2"/*.dist-info/METADATA; do
        field() { sed -n "s/^$1: *//p;/^$/q" "$file" | head -n 1; }
        licence=$(field License-Expression)
        [ -n "$licence" ] || licence=$(field License)
        echo "wheel${tab}$(field Name)${tab}$(field Version)${tab}${licence:-unknown}"
    done
    exit
fi
echo "kind${tab}name${tab}version${tab}licences"
echo "source${tab}tomoprof${tab}$(tomoprof --version | cut -d ' ' -f 2)${tab}Apache-2.0"
cat /usr/local/share/doc/tomoprof/wheels.tsv
dpkg-query -W -f '${binary:Package}\t${Version}\n' | while IFS=$tab read -r name version; do
    file=/usr/share/doc/${name%%:*}/copyright
    licences=
    if [ -r "$file" ]; then
        licences=$(sed -n 's/^License: *\([^ ].*\)/\1/p' "$file" | sort -u | paste -sd ';' | sed 's/;/; /g')
        [ -n "$licences" ] || licences="see $file"
    fi
    echo "debian${tab}$name${tab}$version${tab}${licences:-unknown}"
done
