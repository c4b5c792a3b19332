"""Synthesises the cores with yosys for Xilinx UltraScale+ and compares with resources.json (--write makes it anew): the logarithm,
and the median where its sources or yosys are not those of the table, for the same ones give the same cells; all rows with -DTP_LONG=ON.
Another version of yosys may map differently: then the comparison, if a number is off by more than a tenth, is skipped. The lanes that triage computes for both cores
must come within a quarter of the table."""

import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile

import tools

TABLE = pathlib.Path(__file__).with_name("resources.json")
ROWS = [
    ("median", {"W": 12, "X": 66, "Y": 66}),
    ("median", {"W": 12, "X": 258, "Y": 258}),
    ("median", {"W": 16, "X": 258, "Y": 258}),
    ("flat_log", {"CHANNELS": 640}),
]
# Cells of the UltraScale+ library. A shift register takes one LUT; RAMB36 counts as two halves.
KINDS = {
    "lut": {"LUT[1-6]": 1, "SRL16E|SRLC32E": 1, "RAM32M|RAM64M": 4, "RAM32M16|RAM64M8": 8, "INV": 0},
    "ff": {"FD[RSCP]E.*": 1},
    "dsp": {"DSP48E2": 1},
    "bram18": {"RAMB18E2": 1, "RAMB36E2": 2},
    "carry": {"CARRY4": 1, "CARRY8": 2},
}


def count(cells):
    return {kind: sum(factor * n for cell, n in cells.items() for pattern, factor in patterns.items()
                      if re.fullmatch(pattern, cell))
            for kind, patterns in KINDS.items()}


def synthesise(core, parameters):
    settings = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
        out = pathlib.Path(folder) / "stat.json"
        tools.call(["yosys", "-q", "-p",
                    f"read_verilog {' '.join(map(str, tools.sources(core)))}; chparam {settings} {core}; "
                    f"synth_xilinx -family xcup -top {core} -flatten; tee -q -o {out} stat -json"])
        text = out.read_text()
    return count(json.loads(text[text.index("{"):])["design"]["num_cells_by_type"])


def sums():
    """Of each core's sources."""
    return {core: hashlib.sha256(b"".join(path.read_bytes() for path in tools.sources(core))).hexdigest() for core in sorted({core for core, _ in ROWS})}


def chosen_rows(table, version):
    """Of the rows that triage computes with, those that the table need not have."""
    known = {core for core, digest in sums().items() if version == table["yosys"] and digest == table["sums"][core]} - {"flat_log"}
    return [i for i in sorted(MODELLED.values()) if ROWS[i][0] not in known]


def differences(found, wanted, exact):
    slack = 0 if exact else 0.1
    return [f"{row['core']} {kind}: {row[kind]}, the table says {table[kind]}"
            for row, table in zip(found, wanted) for kind in KINDS
            if abs(row[kind] - table[kind]) > slack * table[kind]]


MODELLED = {"median_filter3d": 1, "flat_field_and_log": 3}  # rows of the table, at the widths of the sweep and 256^3


def lanes_off(stages, table):
    return [f"triage computes {stage['lut']:.0f} LUTs and {stage['dsp']:g} DSP blocks for a lane of {stage['operation']}, yosys {row['lut']} and {row['dsp']}"
            for stage in stages if stage["operation"] in MODELLED for row in [table[MODELLED[stage["operation"]]]]
            if not 0.75 < stage["lut"] / row["lut"] < 1.25 or stage["dsp"] != row["dsp"]]


def check_model(table):
    times = pathlib.Path(__file__).parents[1] / "data/triage/original_2026.json"
    with tempfile.TemporaryDirectory(prefix="tomoprof-") as folder:
        said = tools.call([os.environ["TOMOPROF"], "triage", times, "--device", "u55c", "--json", "--out", folder])
    stages = json.loads(said)["pipelines"][0]["stages"]
    assert {s["operation"] for s in stages} >= set(MODELLED) and lanes_off(stages, [{**row, "lut": 1} for row in table])
    if wrong := lanes_off(stages, table):
        sys.exit("FAILED:\n" + "\n".join(wrong))


def main():
    check_model(json.loads(TABLE.read_text())["rows"])
    tools.need("yosys")
    version = re.match(r"Yosys (\S+)", tools.call(["yosys", "-V"])).group(1)
    writing = "--write" in sys.argv
    table = json.loads(TABLE.read_text())
    chosen = range(len(ROWS)) if writing or os.environ.get("TP_LONG") == "ON" else chosen_rows(table, version)
    # Another source, and another yosys, must be synthesised.
    assert chosen_rows({**table, "sums": dict.fromkeys(table["sums"], "")}, table["yosys"]) == chosen_rows(table, "other") == sorted(MODELLED.values())
    found = []
    for core, parameters in (ROWS[i] for i in chosen):
        row = synthesise(core, parameters)
        found.append({"core": core, "parameters": parameters, **row})
        print(core, parameters, row, flush=True)
    if writing:
        TABLE.write_text(json.dumps({"yosys": version, "target": "synth_xilinx -family xcup", "sums": sums(), "rows": found}, indent=1) + "\n")
        return
    wrong = [f"row {i} is of other parameters" for i, (row, (core, parameters)) in enumerate(zip(table["rows"], ROWS))
             if (row["core"], row["parameters"]) != (core, parameters)] + ["rows are missing"] * (len(table["rows"]) != len(ROWS))
    wrong += differences(found, [table["rows"][i] for i in chosen], version == table["yosys"])
    # The comparison must see a difference.
    assert differences([{**table["rows"][0], "lut": 1}], table["rows"][:1], False)
    if wrong and version != table["yosys"]:
        print(f"skipped: yosys {version} maps otherwise than {table['yosys']}:", *wrong, sep="\n  ")
        sys.exit(77)
    if wrong:
        sys.exit("FAILED:\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
