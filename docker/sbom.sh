#!/bin/sh
# Lists the contents of the image as a table: kind, name, version, licences. sbom.sh wheels FOLDER: what pip installed there.
# sbom.sh spdx < TABLE: the same as an SPDX 2.3 document. Debian's names of licences are not SPDX's: they stand in comments.
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
if [ "${1-}" = spdx ]; then
    table=$(cat)
    now=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
    sum=$(printf '%s' "$table" | sha256sum | cut -d ' ' -f 1)
    printf '%s\n' "$table" | LC_ALL=C awk -F '\t' -v sum="$sum" -v now="$now" '
        function quoted(s) { gsub(/\\/, "/", s); gsub(/"/, "\\\"", s); gsub(/[\001-\037]/, " ", s); return "\"" s "\"" }
        function address(s) { gsub(/%/, "%25", s); gsub(/\+/, "%2B", s); gsub(/:/, "%3A", s); gsub(/~/, "%7E", s); return s }
        NR == 1 { next }
        {
            name = $2; arch = ""
            if (i = index(name, ":")) { arch = substr(name, i + 1); name = substr(name, 1, i - 1) }
            id = "SPDXRef-" $1 "-" $2; gsub(/[^A-Za-z0-9.-]/, "-", id)
            place = $1 == "wheel" ? "pkg:pypi/" address(name) "@" address($3) : $1 == "debian" ? "pkg:deb/debian/" address(name) "@" address($3) (arch == "" ? "" : "?arch=" arch) : ""
            if (NR == 2) {
                printf "{\"spdxVersion\": \"SPDX-2.3\", \"dataLicense\": \"CC0-1.0\", \"SPDXID\": \"SPDXRef-DOCUMENT\",\n"
                printf " \"name\": %s,\n \"documentNamespace\": \"https://spdx.org/spdxdocs/tomoprof-%s\",\n", quoted(name "-" $3), sum
                printf " \"creationInfo\": {\"created\": \"%s\", \"creators\": [\"Tool: tomoprof-sbom.sh\"]},\n \"packages\": [\n", now
                first = id
            }
            printf "%s  {\"SPDXID\": %s, \"name\": %s, \"versionInfo\": %s, \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false,\n", (NR > 2 ? ",\n" : ""), quoted(id), quoted(name), quoted($3)
            printf "   \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": %s, \"licenseComments\": %s, \"copyrightText\": \"NOASSERTION\"", $1 == "source" ? quoted($4) : "\"NOASSERTION\"", quoted($4)
            if (place != "")
                printf ",\n   \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", \"referenceLocator\": %s}]", quoted(place)
            printf "}"
        }
        END { printf "],\n \"relationships\": [{\"spdxElementId\": \"SPDXRef-DOCUMENT\", \"relationshipType\": \"DESCRIBES\", \"relatedSpdxElement\": %s}]}\n", quoted(first) }'
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
