"""What check.py measured as one object, figures.json (figures.schema.json), and as a table: prediction beside measurement."""

import json
import re

import predict

SCHEMA = "tomoprof-gpu-figures/1"
PLAUSIBLE = 1.05  # of a measured peak; above, the number or the peak is wrong


def read(path, otherwise=None):
    return json.loads(path.read_text()) if path.exists() else otherwise


def share(part, whole):
    return part / whole if part and whole else None


def beside(row, device, ceilings):
    """A timed row with its ceilings and its shares of them."""
    operation, size, seconds = row["operation"], row["size"], row["median"]
    card = predict.recalled_card(device)
    units = {"recalled": predict.units_of(card) if card else None,
             "measured": predict.units_measured(ceilings) if ceilings else None}
    rate = row["amount"] / seconds if seconds else None
    found = dict(row, rate=rate, shares={"fma": None, "bandwidth": None, "l2": None}, implausible=False)
    for source, of in units.items():
        ceiling = predict.ceiling(operation, size, device, of) if of else None
        found[f"{source}_ceiling"] = ceiling and dict(ceiling, share=share(rate, ceiling["rate"]))
    if ceilings and seconds:
        l2 = (found["measured_ceiling"] or {"limits": {}})["limits"].get("l2")
        shares = {"fma": share((row["flops"] or 0) / seconds, ceilings["flops_per_s"]),
                  "bandwidth": share((row["bytes"] or 0) / seconds, ceilings["memory_bytes_per_s"]), "l2": share(rate, l2)}
        beyond = [shares["fma"], shares["bandwidth"]]
        # Bytes that fit the second-level cache need not pass memory.
        if shares["bandwidth"] and row["bytes"] / seconds <= PLAUSIBLE * ceilings["l2_bytes_per_s"] and small(row):
            beyond = [shares["fma"]]
        found |= {"shares": shares, "implausible": any(s and s > PLAUSIBLE for s in beyond)}
    return found


def small(row):
    """Arrays of a few tens of MB stay in the cache of a large card between runs."""
    return row["bytes"] <= 64 << 20


def padding(rows, settings):
    """Time per unit of the odd cell over that of the even one beside it: 1 is no cliff."""
    odd, even = (tuple(map(int, cell.split("x"))) for cell in settings["cliff"])
    per_unit = {(row["operation"], tuple(row["size"])): row["median"] / row["amount"] for row in rows if row["median"]}
    return [{"operation": operation, "size": list(odd), "of": list(even), "ratio": per_unit[operation, odd] / per_unit[operation, even]}
            for operation in dict.fromkeys(row["operation"] for row in rows)
            if (operation, odd) in per_unit and (operation, even) in per_unit]


def with_ratio(peer, rows):
    """Their median over ours of the same arrays."""
    ours = next((row["median"] for row in rows if (row["operation"], row["size"]) == (peer["operation"], peer["size"])), None)
    return dict(peer, ratio=share(peer["median"], ours))


def of_suite(work):
    """Medians of `tomoprof run`, and why a row has none."""
    found = []
    for path in sorted(work.glob("suite*/*/timing.json")):
        timing = read(path)
        reasons = {(m["operation"], m["volume_size"]): m["reason"] for m in timing["measurements"] if m["status"] != "ok"}
        for s in timing["statistics"]:
            key = s["operation"], s["volume_size"]
            found.append({"operation": key[0], "size": key[1], "n": s["n"], "median": s["median"], "min": s["min"],
                          "roof_share": s["roof_share"], "implausible": s["implausible"], "reason": reasons.get(key)})
    return found


def collect(work, machine, settings, clocks):
    """The whole object. What was not measured is an empty list or null; check.json says why."""
    ceilings = read(work / "ceilings.json")
    rows = [row for cell in settings["cells"] for row in read(work / f"timing_{cell}.json", [])]
    rows = [beside(dict(row, clocks=clocks.between(row["began"], row["ended"])), machine["device"], ceilings) for row in rows]
    for row in rows:
        del row["began"], row["ended"]
    peers = [row for path in sorted(work.glob("peer_*.json")) for row in read(path)]
    return {"schema": SCHEMA, "machine": machine, "ceilings": ceilings, "recalled_card": predict.recalled_card(machine["device"]),
            "clocks": {"reason": clocks.reason, "samples": len(clocks.samples), "all": clocks.between(0, float("inf"))},
            "rows": rows, "padding": padding(rows, settings), "peers": [with_ratio(row, rows) for row in peers],
            "suite": of_suite(work)}


def short(value, pattern="{:.3g}", factor=1.0):
    return "-" if value is None else pattern.format(value * factor)


def percent(value):
    return short(value, "{:.0f} %", 100)


HEAD = ["operation", "size", "predicted", "limit", "measured ceiling", "rate", "median s", "least s", "n", "of predicted",
        "of measured", "FMA", "bandwidth", "L2", "device MB"]


def line(row):
    """Texts of one row; rates in 10^9 units per second."""
    recalled, measured = row["recalled_ceiling"], row["measured_ceiling"]
    either = recalled or measured or {}
    shares = row["shares"]
    flag = " (implausible)" if row["implausible"] else ""
    return [row["operation"], "x".join(map(str, row["size"])), short((recalled or {}).get("rate"), factor=1e-9),
            either.get("bound", "-"), short((measured or {}).get("rate"), factor=1e-9),
            short(row["rate"], factor=1e-9) + flag if row["status"] == "ok" else row["reason"], short(row["median"], "{:.4g}"),
            short(row["min"], "{:.4g}"), str(row["n"]), percent((recalled or {}).get("share")),
            percent((measured or {}).get("share")), percent(shares["fma"]), percent(shares["bandwidth"]), percent(shares["l2"]),
            short(row["peak_device_bytes"], "{:.0f}", 1e-6)]


def table(figures):
    lines = [HEAD] + [line(row) for row in figures["rows"]]
    widths = [max(len(texts[i]) for texts in lines) for i in range(len(HEAD))]
    text = [re.sub(r"\s+$", "", "  ".join(t.ljust(w) for t, w in zip(texts, widths))) for texts in lines]
    text += [f"{p['operation']} at {'x'.join(map(str, p['size']))}: {p['ratio']:.2f} of the time per {'x'.join(map(str, p['of']))} unit"
             for p in figures["padding"]]
    return "\n".join(text)
