"""Arithmetic of volumes as nvcc compiles it: its PTX, translated to C and executed here, gives the host's places for all pairs of sizes up
to 512, and the host's integers. PTX of places has no multiplication or sum in floats, which ptxas might still contract. Needs nvcc, no GPU."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["compute_75", "compute_120"]  # two compilers of nvcc 13: before Blackwell, and from it on
# `before`: places as they were until integers decided. Both checks must find it.
KERNELS = """
#include "host/backend/volume_math.h"
extern "C" __global__ void place(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at, float *t)
{
    volume_axis(kind, from, n, i, at, t);
}
extern "C" __global__ void before(enum volume_kind kind, int64_t from, int64_t n, int64_t i, int32_t *at, float *t)
{
    const double x = ((double)i + 0.5) * ((double)from / (double)n) - 0.5;
    const double last = (double)(from - 1);
    const double inside = x < 0 ? 0 : x > last ? last : x;
    const double low = floor(kind == VOLUME_NEAREST ? inside + 0.5 : inside);
    *at = (int32_t)(low > last ? last : low);
    *t = kind == VOLUME_NEAREST ? 0 : (float)(inside - low);
}
extern "C" __global__ void mapped(float x, float less, float factor, float plus, float *y, int32_t *whole)
{
    const struct volume_map m = {less, factor, plus, -INFINITY, INFINITY};
    *y = volume_mapped(x, &m);
    *whole = volume_whole(*y, -32768, 32767);
}
"""
HEAD = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "host/backend/volume_math.h"
static float to_f32(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
static double to_f64(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
static uint32_t of_f32(float x) { uint32_t u; memcpy(&u, &x, 4); return u; }
static uint64_t of_f64(double x) { uint64_t u; memcpy(&u, &x, 8); return u; }
"""
DRIVER = """
static long pairs(void (*kernel)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), enum volume_kind kind)
{
    long differ = 0;
    for (int64_t from = 1; from <= 512; from++)
        for (int64_t n = 1; n <= 512; n++) {
            int same = 1;
            for (int64_t i = 0; i < n; i++) {
                int32_t at, host_at;
                float t, host_t;
                volume_axis(kind, from, n, i, &host_at, &host_t);
                kernel(kind, from, n, i, (uintptr_t)&at, (uintptr_t)&t);
                same &= at == host_at && t == host_t;
            }
            differ += !same;
        }
    return differ;
}
int main(void)
{
    long values = 0;
    uint32_t state = 1;
    for (int i = 0; i < 1000000; i++) {
        const float x = (float)((state = state * 1664525u + 1013904223u) >> 16) - 32768;
        const struct volume_map m = {-1000, 65535.0f / (float)(1 + i % 4000), -32767.5f, -INFINITY, INFINITY};
        const float host_y = volume_mapped(x, &m);
        float y;
        int32_t whole;
        ptx_mapped(of_f32(x), of_f32(m.less), of_f32(m.factor), of_f32(m.plus), (uintptr_t)&y, (uintptr_t)&whole);
        values += y != host_y || whole != volume_whole(host_y, -32768, 32767);
    }
    printf("%ld %ld %ld %ld %ld\\n", pairs(ptx_place, VOLUME_NEAREST), pairs(ptx_place, VOLUME_LINEAR),
           pairs(ptx_before, VOLUME_NEAREST), pairs(ptx_before, VOLUME_LINEAR), values);
    return 0;
}
"""
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^"}


class Unknown(Exception):
    pass


def find_nvcc():
    cache = pathlib.Path(os.environ.get("TOMOPROF", "nowhere/tomoprof")).parent / "CMakeCache.txt"
    found = re.findall(r"^TP_CUDA\d+_NVCC:INTERNAL=(.+)$", cache.read_text(), re.M) if cache.exists() else []
    return next((n for n in [*found, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"] if n and pathlib.Path(n).exists()), None)


def kernels_of(ptx):
    """{name: (its parameters, its lines)} of PTX."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//[^\n]*", "", ptx), flags=re.S)
    return {m[1]: ([p.split()[-1] for p in m[2].split(",")], m[3])
            for m in re.finditer(r"\.entry\s+(\w+)\s*\((.*?)\)[^{]*\{(.*?)\n\}", text, re.S)}


def name_of(operand):
    return re.sub(r"\W", "_", operand)


class Kernel:
    """PTX of one thread, without shared memory and calls, as C: registers hold bits, each instruction has its type."""

    def __init__(self, name, parameters, body):
        arguments = ", ".join(f"uint64_t {p}" for p in parameters)
        lines = [self.line(" ".join(line.split())) for line in re.findall(r"[^;:{}]+[;:]", body)]
        self.text = f"static void ptx_{name}({arguments})\n{{\n" + "\n".join(lines) + "\n}\n"

    def value(self, operand, kind):
        if re.fullmatch(r"0[fFdD][0-9a-fA-F]+", operand):
            bits = f"0x{operand[2:]}ull"
        elif re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+U?", operand):
            bits = f"(uint64_t){operand.rstrip('U')}ll"
        elif operand.startswith("%") and "." not in operand:
            bits = name_of(operand)
        else:
            raise Unknown(operand)
        if kind == "pred":
            return bits
        size = kind[1:]
        return {"f": f"to_f{size}({bits})", "s": f"(int{size}_t){bits}", "u": f"(uint{size}_t){bits}", "b": f"(uint{size}_t){bits}"}[kind[0]]

    def line(self, text):
        if text.endswith(":"):
            return name_of(text[:-1]) + ":;"
        text = text[:-1]
        if text.startswith(".reg"):
            _, kind, register = text.split()
            base, count = re.fullmatch(r"(%\w+)<(\d+)>", register).groups()
            return f"uint64_t {', '.join(f'{name_of(base)}{k} = 0' for k in range(int(count)))}; (void){name_of(base)}0;"
        guard = re.match(r"@(!?)(%\w+) ", text)
        text = text[guard.end():] if guard else text
        operation, _, rest = text.partition(" ")
        operands = [o.strip() for o in rest.split(",")] if rest else []
        done = self.instruction(operation.split("."), operands)
        return f"if ({guard[1]}{name_of(guard[2])}) {{ {done} }}" if guard else done

    def instruction(self, words, operands):
        head, kind, modes = words[0], words[-1], words[1:-1]
        if head == "ret":
            return "return;"
        if head == "bra":
            return f"goto {name_of(operands[0])};"
        if head == "st" and modes == ["global"]:
            at = name_of(operands[0].strip("[]"))
            return f"{{ uint{kind[1:]}_t v_ = (uint{kind[1:]}_t){self.value(operands[1], 'b' + kind[1:])}; memcpy((void *){at}, &v_, sizeof v_); }}"
        to = name_of(operands[0])
        if head == "ld" and modes == ["param"]:
            return f"{to} = {operands[1].strip('[]')};"
        if head == "cvt":
            return self.conversion(to, kind, words[1:], operands[1])
        return f"{to} = {self.result(head, modes, kind, operands)};"

    def store(self, kind, expression):
        size = kind[1:]
        return f"of_f{size}({expression})" if kind[0] == "f" else expression if kind == "pred" else f"(uint{size}_t)({expression})"

    def conversion(self, to, source, words, operand):
        kind, rounding = words[-2], words[:-2]
        x = self.value(operand, source)
        if rounding not in ([], ["rn"], ["rzi"], ["rmi"]) or (rounding == ["rmi"] and kind != source):
            raise Unknown("cvt." + ".".join(words))
        if rounding == ["rmi"]:
            return f"{to} = {self.store(kind, f'floor({x})')};"
        c_type = {"f32": "float", "f64": "double"}.get(kind, f"{'u' if kind[0] in 'ub' else ''}int{kind[1:]}_t")
        return f"{to} = {self.store(kind, f'({c_type})({x})')};"

    def result(self, head, modes, kind, operands):
        a = [self.value(o, kind) for o in operands[1:]] if head not in ("selp", "setp", "cvta") else []
        floats = kind[0] == "f"
        if head == "mov" and not modes:
            return self.store(kind, a[0])
        if head == "cvta" and modes == ["to", "global"]:
            return self.value(operands[1], kind)
        if head == "setp" and modes and modes[0].rstrip("u") in COMPARE and len(modes) == 1:
            x, y = (self.value(o, kind) for o in operands[1:])
            unordered = floats and modes[0].endswith("u") and modes[0] not in COMPARE
            return f"({x} {COMPARE[modes[0].rstrip('u') if unordered else modes[0]]} {y})" + (f" || {x} != {x} || {y} != {y}" if unordered else "")
        if head == "setp" and modes in (["num"], ["nan"]):
            x, y = (self.value(o, kind) for o in operands[1:])
            return f"{'!' if modes == ['num'] else ''}isunordered({x}, {y})"
        if head == "selp":
            x, y = (self.value(o, kind) for o in operands[1:3])
            return self.store(kind, f"{name_of(operands[3])} ? {x} : {y}")
        if head == "fma" and modes == ["rn"]:
            return self.store(kind, f"{'fmaf' if kind == 'f32' else 'fma'}({', '.join(a)})")
        if head in ("shl", "shr"):
            return self.store(kind, f"{a[0]} {'<<' if head == 'shl' else '>>'} {self.value(operands[2], 'u32')}")
        if head in ("max", "min") and not modes:
            return self.store(kind, f"{a[0]} {'>' if head == 'max' else '<'} {a[1]} ? {a[0]} : {a[1]}" if not floats else f"f{head}({a[0]}, {a[1]})")
        if head == "not":
            return self.store(kind, f"{'!' if kind == 'pred' else '~'}{a[0]}")
        if head == "neg":
            return self.store(kind, f"-{a[0]}")
        if head == "mad" and modes == ["lo"] and not floats:
            return self.store(kind, f"{a[0]} * {a[1]} + {a[2]}")
        if head in BINARY and (modes in ([], ["rn"]) or (head == "mul" and modes == ["lo"])) and not (floats and head == "rem"):
            return self.store(kind, f"{a[0]} {BINARY[head]} {a[1]}")
        raise Unknown(".".join([head, *modes, kind]) + " " + ", ".join(operands))


def contractible(body):
    """Sums and products in floats: a compiler may still make one rounding of two."""
    return re.findall(r"\b(?:add|sub|mul|mad|fma)(?:\.\w+)*\.f(?:32|64)\b[^;]*", body)


def check_target(nvcc, target, folder):
    source, ptx, program = folder / "kernels.cu", folder / f"{target}.ptx", folder / target
    source.write_text(KERNELS)
    done = subprocess.run([nvcc, "-ptx", "-std=c++17", "-O3", f"-arch={target}", f"-I{ROOT}", source, "-o", ptx], capture_output=True, text=True, timeout=600)
    if done.returncode:
        if "Unsupported gpu architecture" in done.stderr or "is not defined for option 'gpu-architecture'" in done.stderr:
            print(f"{target}: this nvcc does not know it")
            return []
        return [f"{target}: nvcc: {done.stderr.strip()[-400:]}"]
    kernels = kernels_of(ptx.read_text())
    if sorted(kernels) != ["before", "mapped", "place"]:
        return [f"{target}: {ptx} has the kernels {sorted(kernels)}"]
    try:
        code = "".join(Kernel(name, *kernel).text for name, kernel in kernels.items())
    except Unknown as e:
        return [f"{target}: PTX that this test does not know: {e}"]
    (folder / f"{target}.c").write_text(HEAD + code + DRIVER)
    subprocess.run(["cc", "-std=gnu17", "-O2", "-ffp-contract=off", "-fno-strict-aliasing", "-w", f"-I{ROOT}", folder / f"{target}.c", "-o", program, "-lm"],
                   check=True, timeout=600)
    counts = subprocess.run([program], capture_output=True, text=True, check=True, timeout=1200).stdout
    nearest, linear, before_nearest, before_linear, values = map(int, counts.split())
    print(f"{target}: of 262144 pairs of sizes differ {nearest} (nearest) and {linear} (linear), before {before_nearest} and {before_linear}; "
          f"of 1000000 mapped values {values}")
    problems = [f"{target}: place has {line}, which may be contracted" for line in contractible(kernels["place"][1])]
    if nearest or linear:
        problems.append(f"{target}: places of {nearest} (nearest) and {linear} (linear) of 262144 pairs of sizes are not the host's")
    if values:
        problems.append(f"{target}: {values} of 1000000 mapped values are not the host's")
    if not contractible(kernels["before"][1]) or not before_nearest:
        problems.append(f"{target}: the check overlooks places in float64")
    return problems


def main():
    nvcc = find_nvcc()
    if not nvcc:
        print("skipped: no nvcc was found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        problems = [p for target in TARGETS for p in check_target(nvcc, target, pathlib.Path(folder))]
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
