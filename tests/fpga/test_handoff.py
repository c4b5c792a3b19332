"""The C++ kernels that the hand-off writes: compiled by g++, every result equal to the simulated one. TP_AP_TYPES names the include
folder of Xilinx's open ap_types headers: then they are compiled a second time with those instead of the stand-in."""

import os
import pathlib
import tempfile

import tools

KERNELS = ("median_filter3d", "flat_field_and_log", "parallel_fbp_filter", "cone_fdk_filter", "parallel_forward_project", "parallel_back_project",
           "parallel_hessian_diagonal", "cone_forward_project", "cone_back_project", "cone_hessian_diagonal")


def check(kernel, folder, flags):
    (folder / "bench").unlink(missing_ok=True)
    print(kernel, *flags, tools.call(["make", "-s", "-C", folder, "check", *flags]).strip(), flush=True)


def check_that_it_fails(folder):
    """A wrong golden value must not pass."""
    lines = (folder / "golden.txt").read_text().split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("out "))
    lines[first] = "out 12345 0"
    (folder / "golden.txt").write_text("\n".join(lines))
    if tools.subprocess.run(["make", "-s", "-C", folder, "check"], stdout=-3, stderr=-3, timeout=300).returncode == 0:
        tools.sys.exit("FAILED: the bench passes a wrong golden value")


def main():
    tools.need("g++", "make")
    program, types = os.environ["TOMOPROF"], os.environ.get("TP_AP_TYPES")
    for kernel in KERNELS:
        with tempfile.TemporaryDirectory(prefix="tomoprof-") as name:
            folder = pathlib.Path(name)
            tools.call([program, "width", "--size", "32", "--only", kernel, "--hls", folder])
            check(kernel, folder, [])
            if types:
                check(kernel, folder, [f"AP_TYPES={types}"])
            check_that_it_fails(folder)
    if not types:
        print("not tried: Xilinx's ap_types headers (TP_AP_TYPES is not set)")
    wrong = tools.subprocess.run([program, "width", "--only", "mbir_prior_and_updates", "--hls", "."], capture_output=True, text=True, timeout=300)
    assert wrong.returncode == 2 and "no kernel template" in wrong.stderr, wrong.stderr


if __name__ == "__main__":
    main()
