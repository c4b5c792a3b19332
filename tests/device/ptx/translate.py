#!/usr/bin/env python3
"""nvcc's PTX as C++: each kernel a function that a thread of the emulator runs, each instruction what instructions.h makes of it.

    translate.py FILE.ptx OUT.cpp

Registers hold bits; the type is the instruction's. An instruction, a mode or an operand that is not known is an error with its
line. Not seen: what ptxas does afterwards, and fences, for threads of the emulator run one after the other."""

import re
import sys

TYPES = {f"{letter}{size}": f"{'s' if letter == 's' else 'u'}{size}" for letter in "bus" for size in (8, 16, 32, 64)}
TYPES |= {"f32": "float", "f64": "double", "pred": "bool"}
SPECIAL = {f"%{ptx}.{axis}": f"host->{ours}->{axis}" for ptx, ours in
           {"tid": "thread", "ntid": "threads", "ctaid": "block", "nctaid": "blocks"}.items() for axis in "xyz"}
SPECIAL |= {"%laneid": "(u32)host->lane()", "WARP_SZ": "32"}
ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
SPACES = ("global", "shared", "local", "param", "const")
# Of no meaning where memory is sequential, or for what is cached where.
ACCESS = {*SPACES, "nc", "volatile", "relaxed", "weak", "gpu", "sys", "ca", "cg", "cs", "cv"}
# The whole instruction: its expression, of its operands by their types.
WHOLE = {
    "rcp.approx.ftz.f32": ("host->reciprocal({})", "f32"), "rcp.approx.ftz.f64": ("host->rough_reciprocal({})", "f64"),
    "rcp.rn.f32": ("1 / {}", "f32"), "rcp.rn.f64": ("1 / {}", "f64"),
    "rsqrt.approx.ftz.f32": ("host->inverse_root({})", "f32"), "rsqrt.approx.ftz.f64": ("rough_root({})", "f64"),
    "sqrt.approx.ftz.f32": ("host->root({})", "f32"), "sqrt.rn.f32": ("sqrtf({})", "f32"), "sqrt.rn.f64": ("sqrt({})", "f64"),
    "ex2.approx.ftz.f32": ("exp2f({})", "f32"),
    "shf.l.wrap.b32": ("funnel_left({}, {}, {})", "b32 b32 b32"), "shf.r.wrap.b32": ("funnel_right({}, {}, {})", "b32 b32 b32"),
    "bfind.shiftamt.u32": ("leading_zeros({}, ~0u)", "b32"), "clz.b32": ("leading_zeros({}, 32u)", "b32"), "clz.b64": ("leading_zeros({}, 64u)", "b64"),
    "popc.b32": ("(u32)__builtin_popcount({})", "b32"), "popc.b64": ("(u32)__builtin_popcountll({})", "b64"),
    "brev.b32": ("reversed({})", "b32"), "brev.b64": ("reversed({})", "b64"),
    "bfi.b32": ("inserted({}, {}, {}, {})", "b32 b32 u32 u32"), "bfi.b64": ("inserted({}, {}, {}, {})", "b64 b64 u32 u32"),
    "copysign.f32": ("copysignf({1}, {0})", "f32 f32"), "copysign.f64": ("copysign({1}, {0})", "f64 f64"),
    "match.any.sync.b32": ("host->match({1}, (int){0})", "b32 b32"),
    "prmt.b32": ("permuted_bytes({}, {}, {})", "b32 b32 b32"),
}
ARITHMETIC = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "and": "{} & {}", "or": "{} | {}", "xor": "{} ^ {}"}


class Unknown(Exception):
    pass


def name_of(text):
    return "r_" + re.sub(r"\W", "_", text)


def split_operands(text):
    """At commas outside of braces, brackets and parentheses."""
    found, depth = [""], 0
    for c in text:
        depth += (c in "{[(") - (c in ")]}")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [operand.strip() for operand in found if operand.strip()]


class Function:
    """The body of a kernel or of a function of the device. symbols: {name: an expression with its address}."""

    def __init__(self, symbols, functions):
        self.symbols, self.functions = dict(symbols), functions

    # Operands.
    def bits(self, operand):
        if operand in SPECIAL:
            return f"(u32){SPECIAL[operand]}"
        if operand in self.symbols:
            return self.symbols[operand]
        if re.fullmatch(r"%\w+|temp_param_reg", operand):
            return name_of(operand)
        if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", operand):
            return f"0x{operand[2:]}u"
        if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", operand):
            return f"0x{operand[2:]}ull"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", operand):
            return f"0x{int(operand.rstrip('U'), 0) & 2**64 - 1:x}ull"
        raise Unknown(f"operand {operand}")

    def read(self, kind, operand):
        if kind == "pred":
            return self.predicate(operand)
        return f"get<{TYPES[kind]}>({self.bits(operand)})"

    def predicate(self, operand):
        if operand in ("0", "1", "-1"):
            return "false" if operand == "0" else "true"
        if not re.fullmatch(r"!?%\w+", operand):
            raise Unknown(f"predicate {operand}")
        return ("!" if operand[0] == "!" else "") + name_of(operand.lstrip("!"))

    def write(self, kind, operand, expression):
        if kind == "pred":
            return f"{name_of(operand)} = {expression};"
        return f"put<{TYPES[kind]}>({name_of(operand)}, {expression});"

    def address(self, operand, space):
        parts = re.fullmatch(r"\[\s*([^+\]]+?)\s*(?:\+\s*(-?\d+))?\s*\]", operand)
        if not parts:
            raise Unknown(f"address {operand}")
        at, offset = self.bits(parts[1]), int(parts[2] or 0)
        return f"shared + (u32)({at} + (u64){offset}ll)" if space == "shared" else f"(u64)({at}) + (u64){offset}ll"

    # Instructions: words of the operation, operands.
    def instruction(self, operation, operands):
        if operation in WHOLE:
            form, kinds = WHOLE[operation]
            kinds = kinds.split()
            if len(operands) != len(kinds) + 1:
                raise Unknown("number of operands")
            result = "b32" if operation.split(".")[0] in ("clz", "popc", "bfind") else operation.rsplit(".", 1)[1]
            return self.write(result, operands[0], form.format(*map(self.read, kinds, operands[1:])))
        words = operation.split(".")
        do = getattr(self, "do_" + words[0], None)
        if not do:
            raise Unknown("instruction")
        return do(words[1:-1], words[-1], operands)

    def only(self, modes, *allowed):
        if set(modes) - set(allowed):
            raise Unknown("mode " + ".".join(modes))

    def do_mov(self, modes, kind, operands):
        self.only(modes)
        to, source = operands
        if to[0] == "{" or source[0] == "{":
            parts = split_operands((to if to[0] == "{" else source)[1:-1])
            size = int(kind[1:]) // len(parts)
            if to[0] == "{":
                return " ".join(self.write(f"b{size}", part, f"(u{size})((u64){self.bits(source)} >> {k * size})")
                                for k, part in enumerate(parts) if part != "_")
            joined = " | ".join(f"(u64){self.read(f'b{size}', part)} << {k * size}" for k, part in enumerate(parts))
            return self.write(kind, to, f"({TYPES[kind]})({joined})")
        return self.write(kind, to, self.read(kind, source))

    def access(self, modes, kind):
        self.only(modes, *ACCESS, "v2", "v4")
        count = 4 if "v4" in modes else 2 if "v2" in modes else 1
        return next((s for s in SPACES if s in modes), "generic"), count

    def do_ld(self, modes, kind, operands):
        space, count = self.access(modes, kind)
        to = split_operands(operands[0].strip("{}"))
        if len(to) != count:
            raise Unknown("number of registers")
        loads = " ".join(f"const {TYPES[kind]} v{k} = load<{TYPES[kind]}>(at, {k});" for k in range(count))
        puts = " ".join(self.write(kind, register, f"v{k}") for k, register in enumerate(to) if register != "_")
        return f"{{ const u8 *at = aligned({self.address(operands[1], space)}, {count} * sizeof({TYPES[kind]})); {loads} {puts} }}"

    def do_st(self, modes, kind, operands):
        space, count = self.access(modes, kind)
        values = split_operands(operands[1].strip("{}"))
        if len(values) != count:
            raise Unknown("number of registers")
        stores = " ".join(f"store<{TYPES[kind]}>(at, {k}, {self.read(kind, value)});" for k, value in enumerate(values))
        return f"{{ u8 *at = aligned({self.address(operands[0], space)}, {count} * sizeof({TYPES[kind]})); {stores} }}"

    def do_cvta(self, modes, kind, operands):
        self.only(modes, "to", *SPACES)
        base = "" if "shared" not in modes else " - shared" if "to" in modes else " + shared"
        return self.write(kind, operands[0], self.read(kind, operands[1]) + base)

    def do_cvt(self, modes, kind, operands):
        *rounding, to = modes
        return self.write(to, operands[0], f"converted<{TYPES[to]}, {TYPES[kind]}, {'_'.join(rounding) or 'plain'}>({self.read(kind, operands[1])})")

    def do_setp(self, modes, kind, operands):
        compare, *join = modes
        a, b = self.read(kind, operands[1]), self.read(kind, operands[2])
        if compare in ("num", "nan"):
            test = f"{'!' if compare == 'num' else ''}__builtin_isunordered({a}, {b})"
        elif compare in ORDERED and kind[0] == "f":
            test = f"!__builtin_isunordered({a}, {b}) && {a} {ORDERED[compare]} {b}"
        elif compare in ORDERED:
            test = f"{a} {ORDERED[compare]} {b}"
        elif compare[-1] == "u" and compare[:-1] in ORDERED and kind[0] == "f":
            test = f"__builtin_isunordered({a}, {b}) || {a} {ORDERED[compare[:-1]]} {b}"
        else:
            raise Unknown(f"comparison {compare}")
        if join:
            test = f"({test}) {({'and': '&&', 'or': '||', 'xor': '!='})[join[0]]} {self.predicate(operands[3])}"
        to = operands[0].split("|")
        other = f" {name_of(to[1].strip())} = !c;" if len(to) > 1 else ""
        return f"{{ const bool c = {test}; {name_of(to[0].strip())} = c;{other} }}"

    def do_selp(self, modes, kind, operands):
        self.only(modes)
        return self.write(kind, operands[0], f"{self.predicate(operands[3])} ? {self.read(kind, operands[1])} : {self.read(kind, operands[2])}")

    def with_carry(self, head, modes, operands):
        """32 bits with a carry in or out."""
        self.only(modes, "cc", "lo", "hi")
        a = [self.read("u32", operand) for operand in operands[1:]]
        carry = "carry" if head[-1] == "c" else "0"
        if head in ("sub", "subc"):
            total, out = f"(u64){a[0]} - {a[1]} - {carry}", "(u32)(total >> 32) & 1"
        elif head in ("add", "addc"):
            total, out = f"(u64){a[0]} + {a[1]} + {carry}", "(u32)(total >> 32)"
        else:
            total, out = f"(u64)(u32)((u64){a[0]} * {a[1]}{' >> 32' if 'hi' in modes else ''}) + {a[2]} + {carry}", "(u32)(total >> 32)"
        keeps = f" carry = {out};" if "cc" in modes else ""
        return f"{{ const u64 total = {total}; {name_of(operands[0])} = (u32)total;{keeps} }}"

    def sum_or_product(self, head, modes, kind, operands):
        if "cc" in modes or head in ("addc", "subc", "madc"):
            if kind not in ("u32", "s32"):
                raise Unknown("carry of this type")
            return self.with_carry(head, modes, operands)
        if kind[0] == "f":
            self.only(modes, "rn")
            return self.write(kind, operands[0], ARITHMETIC[head].format(*(self.read(kind, o) for o in operands[1:])))
        size, plain = int(kind[1:]), "u" + kind[1:]
        if head in ("add", "sub"):
            self.only(modes)
            result = plain, ARITHMETIC[head].format(*(self.read(plain, o) for o in operands[1:]))
        elif modes == ["lo"]:
            result = plain, f"{self.read(plain, operands[1])} * {self.read(plain, operands[2])}"
        elif modes == ["wide"] and kind[0] in "us":
            wide = f"{kind[0]}{2 * size}"
            result = f"u{2 * size}", f"(u{2 * size})(({wide}){self.read(kind, operands[1])} * ({wide}){self.read(kind, operands[2])})"
        elif modes == ["hi"]:
            wide = f"{kind[0]}64" if size == 32 else "__int128" if kind[0] == "s" else "unsigned __int128"
            result = plain, f"({plain})((({wide}){self.read(kind, operands[1])} * ({wide}){self.read(kind, operands[2])}) >> {size})"
        else:
            raise Unknown("mode " + ".".join(modes))
        if head == "mad":
            result = result[0], f"{result[1]} + {self.read(result[0], operands[3])}"
        return self.write(result[0], operands[0], f"({TYPES[result[0]]})({result[1]})")

    def do_add(self, *rest):
        return self.sum_or_product("add", *rest)

    def do_sub(self, *rest):
        return self.sum_or_product("sub", *rest)

    def do_mul(self, *rest):
        return self.sum_or_product("mul", *rest)

    def do_mad(self, *rest):
        return self.sum_or_product("mad", *rest)

    def do_addc(self, *rest):
        return self.sum_or_product("addc", *rest)

    def do_subc(self, *rest):
        return self.sum_or_product("subc", *rest)

    def do_madc(self, *rest):
        return self.sum_or_product("madc", *rest)

    def two(self, function, modes, kind, operands, *allowed):
        self.only(modes, *allowed)
        return self.write(kind, operands[0], f"{function}({', '.join(self.read(kind, o) for o in operands[1:])})")

    def do_div(self, modes, kind, operands):
        if kind[0] == "f" and modes != ["rn"]:
            raise Unknown("approximate division")
        return self.two("quotient", modes, kind, operands, *(["rn"] if kind[0] == "f" else []))

    def do_rem(self, modes, kind, operands):
        return self.two("remainder_of", modes, kind, operands)

    def do_min(self, modes, kind, operands):
        return self.two("least", modes, kind, operands)

    def do_max(self, modes, kind, operands):
        return self.two("most", modes, kind, operands)

    def do_neg(self, modes, kind, operands):
        return self.two("negative", modes, kind, operands)

    def do_abs(self, modes, kind, operands):
        return self.two("magnitude", modes, kind, operands)

    def do_fma(self, modes, kind, operands):
        if modes not in (["rn"], ["rm"]) or (modes == ["rm"] and kind != "f32"):
            raise Unknown("mode " + ".".join(modes))
        return self.two("fused_sum" if modes == ["rn"] else "fused_down", modes, kind, operands, *modes)

    def bitwise(self, head, modes, kind, operands):
        self.only(modes)
        a, b = (self.read(kind, operand) for operand in operands[1:])
        if kind == "pred":
            return self.write(kind, operands[0], {"and": f"{a} && {b}", "or": f"{a} || {b}", "xor": f"({a}) != ({b})"}[head])
        return self.write(kind, operands[0], f"({TYPES[kind]})({ARITHMETIC[head].format(a, b)})")

    def do_and(self, *rest):
        return self.bitwise("and", *rest)

    def do_or(self, *rest):
        return self.bitwise("or", *rest)

    def do_xor(self, *rest):
        return self.bitwise("xor", *rest)

    def do_not(self, modes, kind, operands):
        self.only(modes)
        a = self.read(kind, operands[1])
        return self.write(kind, operands[0], f"!{a}" if kind == "pred" else f"({TYPES[kind]})~{a}")

    def do_shl(self, modes, kind, operands):
        self.only(modes)
        return self.write(kind, operands[0], f"shifted_left({self.read(kind, operands[1])}, {self.read('u32', operands[2])})")

    def do_shr(self, modes, kind, operands):
        self.only(modes)
        return self.write(kind, operands[0], f"shifted_right({self.read(kind, operands[1])}, {self.read('u32', operands[2])})")

    def do_shfl(self, modes, kind, operands):
        if len(modes) != 2 or modes[0] != "sync" or kind != "b32":
            raise Unknown("mode " + ".".join(modes))
        how = {"down": "SHIM_DOWN", "up": "SHIM_UP", "bfly": "SHIM_XOR", "idx": "SHIM_SHFL"}[modes[1]]
        to = [register.strip() for register in operands[0].split("|")]
        inside = f" {name_of(to[1])} = inside;" if len(to) > 1 else ""
        return f"{{ bool inside; const u32 v = shuffled({how}, {', '.join(self.read('u32', o) for o in operands[1:])}, &inside); {name_of(to[0])} = v;{inside} }}"

    def do_vote(self, modes, kind, operands):
        if (modes, kind) != (["sync", "ballot"], "b32"):
            raise Unknown("mode " + ".".join(modes))
        return self.write("b32", operands[0], f"host->ballot({self.read('u32', operands[2])}, {self.predicate(operands[1])})")

    def do_bar(self, modes, kind, operands):
        if (modes, kind) == (["warp"], "sync"):
            return f"host->sync_warp({self.read('u32', operands[0])});"
        if modes or kind != "sync" or operands != ["0"]:
            raise Unknown("barrier")
        return "host->sync_block();"

    def do_bra(self, modes, kind, operands):
        return f"goto {name_of(operands[0])};"

    def do_ret(self, modes, kind, operands):
        return "return;"

    do_exit = do_ret

    def do_call(self, modes, kind, operands):
        to, name, *given = operands
        if name not in self.functions:
            raise Unknown(f"function {name}")
        arguments = split_operands(to.strip("()")) + [a for g in given for a in split_operands(g.strip("()"))]
        return f"{name_of(name)}({', '.join(name_of(a) for a in arguments)});"

    # Statements.
    def declaration(self, text):
        registers = re.fullmatch(r"\.reg \.(pred|[bsuf](?:8|16|32|64)) (.+)", text)
        if registers:
            kind = "bool" if registers[1] == "pred" else "u" + registers[1][1:]
            poison = "true" if kind == "bool" else f"({kind})~0ull"
            names = []
            for register in registers[2].split(","):
                many = re.fullmatch(r"(%\w+)<(\d+)>", register.strip())
                names += [f"{many[1]}{k}" for k in range(1, int(many[2]))] if many else [register.strip()]
            return f"{kind} {', '.join(f'{name_of(n)} = {poison}' for n in names)};" if names else ""
        array = re.fullmatch(r"\.(?:local|param) (?:\.align \d+ )?\.[bsuf](\d+) (\w+)(?:\[(\d+)\])?", text)
        if not array:
            raise Unknown("declaration")
        self.symbols[array[2]] = f"(u64)(uintptr_t){name_of(array[2])}"
        return f"alignas(16) u8 {name_of(array[2])}[{int(array[1]) // 8 * int(array[3] or 1)}];"

    def statement(self, text):
        text = " ".join(text.split())
        if text.startswith(".pragma"):
            return ""
        if text.startswith("."):
            return self.declaration(text)
        guard = re.match(r"@(!?%\w+) ", text)
        text = text[guard.end():] if guard else text
        operation, _, rest = text.partition(" ")
        done = self.instruction(operation, split_operands(rest))
        return f"if ({self.predicate(guard[1])}) {{ {done} }}" if guard else done

    def lines(self, body, first):
        """C++ of the body, which begins in line `first` of the file."""
        out, at = [], 0
        step = re.compile(r"\s+|[{}]|(\$[\w$]+):|([^;{}]*(?:\{[^{};]*\}[^;{}]*)*);")
        while at < len(body):
            found = step.match(body, at)
            try:
                if not found:
                    raise Unknown("no statement")
                if found[1]:
                    out.append(f"{name_of(found[1])}:;")
                elif found[2] is not None:
                    out.append(self.statement(found[2]))
                elif found[0] in "{}":
                    out.append(found[0])
            except (Unknown, KeyError, IndexError, ValueError) as e:
                text = " ".join((found[0] if found else body[at:at + 60]).split())
                raise Unknown(f"line {first + body.count(chr(10), 0, at + len(found[0]) if found else at)}: {text} ({e})") from e
            at = found.end()
        return out


def parameters_of(text):
    return [re.sub(r"\[\d+\]$", "", p.split()[-1]) for p in text.split(",") if p.strip()]


def translated(text, path):
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    out, symbols, functions, found, at = [f'/* Of {path}. */\n#include "tests/device/ptx/instructions.h"'], {}, set(), [], 0
    head = re.compile(r"\s+|\.(?:version|target|address_size)[^\n]*"
                      r"|\.extern \.shared (?:\.align \d+ )?\.b8 (?P<shared>\w+)\[\];"
                      r"|(?:\.visible )?\.(?:global|const) \.align (?P<align>\d+) \.b8 (?P<array>\w+)\[(?P<count>\d+)\](?: = \{(?P<values>[^}]*)\})?;"
                      r"|(?:\.visible\s+|\.weak\s+)*\.(?P<kind>entry|func)\s*(?:\((?P<result>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*\((?P<given>[^)]*)\)(?P<limits>[^{;]*)(?P<end>[{;])")
    while at < len(text):
        part = head.match(text, at)
        if not part:
            raise Unknown(f"line {text.count(chr(10), 0, at) + 1}: {text[at:at + 80].splitlines()[0]} (directive)")
        at = part.end()
        if part["shared"]:
            symbols[part["shared"]] = "(u64)0"
        elif part["array"]:
            symbols[part["array"]] = f"(u64)(uintptr_t){name_of(part['array'])}"
            out.append(f"alignas({part['align']}) static u8 {name_of(part['array'])}[{part['count']}] = {{{part['values'] or ''}}};")
        elif part["kind"]:
            functions |= {part["name"]} if part["kind"] == "func" else set()
            if part["end"] == "{":
                depth, end = 1, at
                while depth:
                    depth += (text[end] == "{") - (text[end] == "}")
                    end += 1
                found.append((part, text[at:end - 1], text.count("\n", 0, at) + 1))
                at = end
    kernels, heads = [], {}
    for part, _, _ in found:
        if part["kind"] == "func":
            taken = parameters_of(part["result"] or "") + parameters_of(part["given"])
            heads[part["name"]] = f"static void {name_of(part['name'])}({', '.join('u8 *' + name_of(name) for name in taken)})"
    out += [head + ";" for head in heads.values()]
    for part, body, first in found:
        name, given = part["name"], parameters_of(part["given"])
        function = Function(symbols, functions)
        if part["kind"] == "entry":
            kernels.append(name)
            out.append(f"static void {name_of(name)}(void *const *parameters)\n{{")
            function.symbols |= {parameter: f"(u64)(uintptr_t)parameters[{k}]" for k, parameter in enumerate(given)}
        else:
            out.append(heads[name] + "\n{")
            function.symbols |= {p: f"(u64)(uintptr_t){name_of(p)}" for p in parameters_of(part["result"] or "") + given}
        out.append("u32 carry = 0; const u64 shared = (u64)(uintptr_t)host->shared(); (void)carry; (void)shared;")
        out += function.lines(body, first)
        out.append("}")
    if kernels:
        out.append("static const struct ptx_kernel kernels[] = {" + ", ".join(f'{{"{k}", {name_of(k)}}}' for k in kernels) + "};")
        out.append(f"static const struct ptx_file here(kernels, {len(kernels)});")
    return "\n".join(out) + "\n"


def main():
    source, target = sys.argv[1:]
    try:
        with open(source) as file:
            text = translated(file.read(), source)
    except Unknown as e:
        return f"translate.py: {source}: {e}"
    with open(target, "w") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
