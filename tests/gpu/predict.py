"""Predicted ceilings of operations, in units (updates, samples, voxels) per second: from what ceilings.py recalls of a
card, and from the rates measured on the device at hand."""

import ceilings

# Per unit of what ceilings.py does not count (docs/internals/cuda.md): instructions, of which min/max at half rate; bytes of shared
# memory; bytes of memory.
OTHERS = {"median": {"issue": 148, "min_max": 83, "dram": 8}, "filter": {"shared_bytes": 214, "dram": 8}}


def kind(operation):
    """The projection that bounds it, or a key of OTHERS; None: nothing predicted. A Hessian is a back projection."""
    for name in OTHERS:
        if name in operation:
            return name
    if operation in ceilings.COUNTS:
        return operation
    beam = operation.split("_")[0]
    for part, name in (("hessian", "back"), ("back", "back"), ("forward", "forward")):
        if part in operation:
            return f"{beam}_{name}_project"
    return None


def recalled_card(device):
    """The row of ceilings.CARDS that `device` names."""
    return next((card for card in ceilings.CARDS if card in device), None)


def counts_of(operation, device):
    """Instructions per turn on the closest architecture that was counted."""
    counts = ceilings.COUNTS[operation]
    capability = device.split("compute capability ")[-1].split(",")[0]
    major = int(float(capability)) if capability.replace(".", "").isdigit() else 0
    return counts["sm_120" if major >= 12 else "sm_90" if major >= 9 else "sm_89"]


def units_of(card):
    """The same rates from a specification: per second, of all multiprocessors."""
    _, multiprocessors, clock, l2, memory = ceilings.CARDS[card]
    lanes = {name: multiprocessors * clock * 1e9 * n for name, n in ceilings.LANES.items()}
    return {"issue": lanes["issue"], "fma": lanes["fma"], "alu": lanes["alu"], "special": lanes["special"],
            "memory": lanes["memory"], "min_max": lanes["alu"], "shared_bytes": 4 * lanes["memory"], "l2": l2 * 1e9,
            "dram": memory * 1e9, "multiprocessors": multiprocessors}


def units_measured(found):
    """From `tomoprof doctor --ceilings`. A multiply-add is an instruction, and no pipe takes more of them."""
    return {"issue": found["flops_per_s"] / 2, "fma": found["flops_per_s"] / 2, "alu": found["logic_per_s"],
            "special": found["rsqrt_per_s"], "memory": min(found["l1_loads_per_s"], found["shared_loads_per_s"]),
            "min_max": found["min_max_per_s"], "shared_bytes": 4 * found["shared_loads_per_s"],
            "l2": found["l2_bytes_per_s"], "dram": found["memory_bytes_per_s"],
            "multiprocessors": found["multiprocessors"]}


def limits(operation, size, device, units):
    """{limit: units per second}, empty where nothing is predicted."""
    what = kind(operation)
    if what in OTHERS:
        return {name: units[name] / count for name, count in OTHERS[what].items()}
    if not what:
        return {}
    counts = counts_of(what, device)
    found = {name: units[name] * ceilings.UPDATES / count for name, count in zip(ceilings.LANES, counts) if count}
    found["l2"] = units["l2"] / ceilings.BYTES[what][0]
    found["dram"] = units["dram"] / ceilings.memory_bytes(what, units["multiprocessors"], size[2])
    return found


def ceiling(operation, size, device, units):
    """{"rate", "bound", "limits"}; None where nothing is predicted. MBIR: a forward and a back projection per update."""
    if "mbir" in operation:
        beam = operation.split("_")[0]
        parts = [ceiling(name, size, device, units) for name in (f"{beam}_forward_project", f"{beam}_back_subset")]  # VCD goes pixel by pixel
        slower = min(parts, key=lambda part: part["rate"])
        return {"rate": 1 / sum(1 / part["rate"] for part in parts), "bound": slower["bound"], "limits": {}}
    found = limits(operation, size, device, units)
    if not found:
        return None
    bound = min(found, key=found.get)
    return {"rate": found[bound], "bound": bound, "limits": found}
