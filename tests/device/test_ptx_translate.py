"""tests/device/ptx/translate.py: what it does not know is an error with its line, not a guess."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "ptx"))
import translate  # noqa: E402

KERNEL = """.version 9.0
.target sm_120
.address_size 64
.visible .entry twice(
 .param .u64 twice_param_0
)
{
 .reg .pred  %p<2>;
 .reg .b32  %r<4>;
 .reg .b64  %rd<3>;

 ld.param.b64  %rd1, [twice_param_0];
 cvta.to.global.u64  %rd2, %rd1;
 ld.global.b32  %r1, [%rd2+4];
 setp.gt.s32  %p1, %r1, 7;
 @%p1 bra  $L__BB0_2;
 add.s32  %r2, %r1, %r1;
 st.global.b32  [%rd2], %r2;
$L__BB0_2:
 ret;
}
"""
# What is put in the place of the addition (line 17), and what of it is to be told.
UNKNOWN = ["wmma.load.a.sync  %r2, %r1;", "add.sat.s32  %r2, %r1, %r1;", "add.s32  %r2, %r1, nowhere;", "div.approx.f32  %r2, %r1, %r1;",
           "cvt.rna.tf32.f32  %r2, %r1;", "bar.sync  1;", "call.uni  (), nobody, ();", "ld.global.v2.b32  %r2, [%rd2];", ".reg .v4  %x;",
           "shfl.down.b32  %r2, %r1, 1, 31;", "clz.b32  %r2;"]


def problem(kernel):
    try:
        translate.translated(kernel, "kernel.ptx")
    except translate.Unknown as e:
        return str(e)
    return ""


def main():
    wrong = [f"a kernel that it knows: {problem(KERNEL)}"] if problem(KERNEL) else []
    for line in UNKNOWN:
        said = problem(KERNEL.replace("add.s32  %r2, %r1, %r1;", line))
        if not said.startswith("line 17: " + " ".join(line.split())[:12]):
            wrong.append(f"{line!r}: {said!r}")
    said = problem(KERNEL.replace(".target", ".file 1 \"a\"\n.target"))
    if not said.startswith("line 2: .file"):
        wrong.append(f"a directive: {said!r}")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
