"""Supply chain: the workflow may only read and runs actions of fixed commits, the base image and the build's requirement are
fixed, and the images' list of packages is an SPDX document."""

import json
import re
import subprocess
import sys

from sources import ROOT, report

TSV = ("kind\tname\tversion\tlicences\nsource\ttomoprof\t0.1.0\tApache-2.0\nwheel\tnvidia-nvtx\t13.0.85\tApache 2.0 with \"LLVM\"\n"
       "debian\tlibc6:amd64\t2.36-9+deb12u10\tGPL-2; LGPL-2.1\n")


def check_workflows():
    problems = []
    for path in sorted((ROOT / ".github/workflows").glob("*.y*ml")):
        text = path.read_text()
        if not re.search(r"^permissions:\n  contents: read\n(?! )", text, re.M):
            problems.append(f"{path.name}: no top-level \"permissions: contents: read\"")
        for action in re.findall(r"uses:\s*(\S+)", text):
            if not action.startswith("./") and not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action):
                problems.append(f"{path.name}: {action} is not pinned by its commit")
    return problems


def check_base():
    names = {name: set(re.findall(r"debian:bookworm-slim[\w@:]*", (ROOT / name).read_text()))
             for name in ("docker/Dockerfile", "compose.yaml", "docker/run.sh", "start.ps1")}
    problems = [f"{name}: {base} has no digest" for name, bases in names.items() for base in bases
                if not re.fullmatch(r"[\w:-]+@sha256:[0-9a-f]{64}", base)]
    if len(set().union(*names.values())) != 1 or not all(names.values()):
        problems.append(f"the base image differs: {names}")
    return problems


def check_requirement():
    required = re.search(r"^requires = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M).group(1)
    return [f"pyproject.toml: {r} is not one version" for r in required.split(",") if not re.fullmatch(r'\s*"[\w-]+==[\d.]+"', r)]


def check_spdx():
    """What SPDX 2.3 asks of a document and its packages."""
    made = subprocess.run([ROOT / "docker/sbom.sh", "spdx"], input=TSV, capture_output=True, text=True)
    if made.returncode:
        return [f"sbom.sh spdx: {made.stderr}"]
    s = json.loads(made.stdout)
    problems = [f"SPDX: {key} is {s.get(key)!r}" for key, form in (
        ("spdxVersion", r"SPDX-2\.3"), ("dataLicense", "CC0-1.0"), ("SPDXID", "SPDXRef-DOCUMENT"), ("name", r"tomoprof-0\.1\.0"),
        ("documentNamespace", r"https?://\S+[0-9a-f]{64}")) if not re.fullmatch(form, str(s.get(key)))]
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", s["creationInfo"]["created"]) or not s["creationInfo"]["creators"]:
        problems.append(f"SPDX: {s['creationInfo']}")
    packages = {p["name"]: p for p in s["packages"]}
    if {n: p["versionInfo"] for n, p in packages.items()} != {"tomoprof": "0.1.0", "nvidia-nvtx": "13.0.85", "libc6": "2.36-9+deb12u10"}:
        problems.append(f"SPDX: the packages are {packages}")
    ids = [p["SPDXID"] for p in s["packages"]]
    if len(set(ids)) != len(ids) or not all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i) for i in ids):
        problems.append(f"SPDX: ids {ids}")
    if [r["relatedSpdxElement"] for r in s["relationships"] if r["relationshipType"] == "DESCRIBES"] != ids[:1]:
        problems.append(f"SPDX: {s['relationships']}")
    places = [r["referenceLocator"] for p in s["packages"] for r in p.get("externalRefs", [])]
    if places != ["pkg:pypi/nvidia-nvtx@13.0.85", "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64"]:
        problems.append(f"SPDX: {places}")
    return problems


if __name__ == "__main__":
    sys.exit(report(check_workflows() + check_base() + check_requirement() + check_spdx()))
