"""Translation and multi-axis scans from `simulate` to `recon`: projections near exact line integrals, volumes that explain them,
and the calls that such scans refuse."""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from tool import main, relative, tomoprof

KINDS = {"translation": 0.05, "multiaxis": 0.05}


def scan(check, folder, kind, *more):
    prefix = folder / "-".join([kind, *more[:1]]).strip("-")
    r = tomoprof("simulate", "--geometry", kind, "--size", "32", "--noise", "0", "--out", prefix, *more)
    check.that(r.returncode == 0, f"simulate {kind}: {r.stderr}")
    return prefix, np.load(f"{prefix}_sinogram.npy")


def chain(check, folder):
    for kind, limit in KINDS.items():
        prefix, y = scan(check, folder, kind)
        _, exact = scan(check, folder, kind, "--exact")
        check.that(relative(y, exact) < limit, f"{kind}: {relative(y, exact):.3g} from exact line integrals")
        info = tomoprof("info", f"{prefix}.json", "--json")
        check.that(json.loads(info.stdout)["beam"] == kind, f"info: {info.stdout} {info.stderr}")
        given = ["--geometry", f"{prefix}.json", "--in", f"{prefix}_sinogram.npy", "--out", folder / "v.npy"]
        r = tomoprof("recon", *given, "--method", "mbir", "--iterations", "10")
        check.that(r.returncode == 0, f"recon {kind}: {r.stderr}")
        r = tomoprof("apply", "forward_project", "--geometry", f"{prefix}.json", "--in", folder / "v.npy", "--out", folder / "again.npy")
        check.that(r.returncode == 0, f"apply {kind}: {r.stderr}")
        again = relative(np.load(folder / "again.npy"), y)
        check.that(again < 0.1, f"{kind}: the projection of the volume is {again:.3g} from the sinogram")
        print(f"  {kind}: {relative(y, exact):.3g} from exact line integrals, {again:.3g} after 10 iterations")


def refusals(check, folder):
    for kind in KINDS:
        prefix, _ = scan(check, folder, kind)
        given = ["--geometry", f"{prefix}.json", "--in", f"{prefix}_sinogram.npy", "--out", folder / "x.npy"]
        np.save(folder / "poses.npy", np.zeros((16, 5), np.float32))
        for call, words in ((["recon", *given, "--method", "fdk"], "take mbir"), (["recon", *given, "--method", "fbp"], "take mbir"),
                            (["recon", *given, "--method", "mbir", "--poses", folder / "poses.npy"], "--poses is for"),
                            (["apply", "fdk_recon", *given], f"use {kind}_direct_recon"),
                            (["apply", "cone_back_project", *given], f"use {kind}_back_project"),
                            (["apply", "cone_parker_weights", *given], "cone_parker_weights is for cone")):
            r = tomoprof(*call)
            check.that(r.returncode == 2 and words in r.stderr, f"{kind} {call[:2]}: {r.returncode} {r.stderr}")
    r = tomoprof("simulate", "--geometry", "translation", "--range", "90", "--out", folder / "no")
    check.that(r.returncode == 2 and "does not turn" in r.stderr, f"--range: {r.returncode} {r.stderr}")


if __name__ == "__main__":
    main(chain, refusals)
