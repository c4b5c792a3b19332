"""Fetches Debian's packages of a list and unpacks them, on any Linux: unpack.py FOLDER MIRROR... < LIST. A line of LIST is a SHA-256 and
a path below a mirror. Each package comes from the first mirror that has it with this hash; FOLDER/packages.tsv names what came."""

import hashlib
import http.client
import pathlib
import sys
import tarfile
import tempfile
import urllib.request

AR, HEADER = b"!<arch>\n", 60  # ar(5): after its magic number, 60 bytes before each file


def fetch(path, wanted, mirrors, file):
    """Writes a package to an open file; ends where no mirror has it."""
    reasons = []
    for mirror in mirrors:
        file.seek(0)
        file.truncate()
        found = hashlib.sha256()
        try:
            with urllib.request.urlopen(f"{mirror}/{path}", timeout=60) as answer:
                while part := answer.read(1 << 20):
                    found.update(part)
                    file.write(part)
        except (OSError, http.client.HTTPException) as error:
            reasons.append(f"{mirror}: {error}")
            continue
        if found.hexdigest() == wanted:
            return
        reasons.append(f"{mirror}: SHA-256 is {found.hexdigest()}, expected {wanted}")
    sys.exit("\n".join([f"{path} cannot be fetched:", *reasons]))


def to_data(file, path):
    """Moves to the packed files inside a package."""
    file.seek(0)
    if file.read(len(AR)) != AR:
        sys.exit(f"{path}: not a Debian package")
    while len(header := file.read(HEADER)) == HEADER:
        if header.startswith(b"data.tar"):
            return
        size = int(header[48:58])
        file.seek(size + size % 2, 1)
    sys.exit(f"{path}: has no data.tar")


def unpack(file, path, folder):
    """Static libraries, but for the runtime's, are left out: no build needs them, and they are two thirds of the space."""
    to_data(file, path)
    with tarfile.open(fileobj=file, mode="r|*") as archive:
        archive.extraction_filter = lambda member, _: member  # the hash has been checked
        for member in archive:
            name = pathlib.PurePath(member.name).name
            if not name.endswith(".a") or name.startswith("libcuda"):
                archive.extract(member, folder)


def main(folder, *mirrors):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "packages.tsv", "a", encoding="ascii") as packages:
        for line in sys.stdin:
            wanted, path = line.split()
            name, version, _ = path.rpartition("/")[2].split("_")
            with tempfile.TemporaryFile(dir=folder) as file:
                fetch(path, wanted, mirrors, file)
                unpack(file, path, folder)
            print(f"debian\t{name}\t{version}\tLicenseRef-NVIDIA-Proprietary", file=packages)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("unpack.py FOLDER MIRROR... < LIST")
    main(*sys.argv[1:])
