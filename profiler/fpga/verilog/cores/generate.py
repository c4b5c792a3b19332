"""Writes median_networks.v and flat_log_table.v: compare-exchange networks, proven and pruned by the 0-1 principle, and the
logarithm's table. Run without arguments after a change; with a folder as argument it writes there."""

import itertools
import math
import pathlib
import sys

SEGMENT_BITS, FRACTION = 8, 18  # of the logarithm's table


def merge(a, b, network):
    """Batcher's odd-even merge of two sorted lists of lines, of any lengths; returns the lines in order."""
    if not a or not b:
        return a + b
    if len(a) == 1 and len(b) == 1:
        network.append((a[0], b[0]))
        return a + b
    even, odd = merge(a[0::2], b[0::2], network), merge(a[1::2], b[1::2], network)
    out = [even[0]]
    for i, line in enumerate(odd):
        if i + 1 < len(even):
            network.append((line, even[i + 1]))
            out += [line, even[i + 1]]
        else:
            out.append(line)
    return out + even[len(odd) + 1:]


def zero_one(lists):
    """Every 0-1 input that is sorted within each list: enough to prove a network for inputs of that kind (Knuth 5.3.4)."""
    for ones in itertools.product(*(range(len(part) + 1) for part in lists)):
        lines = {}
        for part, n in zip(lists, ones):
            for i, line in enumerate(part):
                lines[line] = int(i >= len(part) - n)
        yield lines


def prune(network, lists, wanted):
    """Drops comparators that never exchange, and what leads to no wanted line; marks whose min or max alone is used."""
    active = set()
    for lines in zero_one(lists):
        for i, (low, high) in enumerate(network):
            if lines[low] > lines[high]:
                lines[low], lines[high] = lines[high], lines[low]
                active.add(i)
    live, kept = set(wanted), []
    for i in reversed(range(len(network))):
        low, high = network[i]
        if i not in active or not live & {low, high}:
            continue
        kept.append((low, high, low in live, high in live))
        live |= {low, high}
    return kept[::-1]


def prove(kept, lists, order, total):
    for lines in zero_one(lists):
        ones = sum(lines.values())
        for low, high, has_min, has_max in kept:
            a, b = lines[low], lines[high]
            lines[low], lines[high] = min(a, b) if has_min else None, max(a, b) if has_max else None
        for rank, line in order.items():
            assert lines[line] == int(rank >= total - ones), "the network is wrong"


def module(name, lists, ranks):
    """Verilog of a network: one register per layer; `ranks`: which of the sorted outputs are wanted."""
    network, order = [], lists[0]
    for part in lists[1:]:
        order = merge(order, part, network)
    wanted = {rank: order[rank] for rank in ranks}
    kept = prune(network, lists, wanted.values())
    prove(kept, lists, wanted, len(order))
    ready, layers = {line: 0 for part in lists for line in part}, {}
    for low, high, has_min, has_max in kept:
        layer = max(ready[low], ready[high])
        layers.setdefault(layer, []).append((low, high, has_min, has_max))
        ready[low] = ready[high] = layer + 1
    depth = len(layers)
    # The last layer that reads a line: it is carried in registers up to there.
    last = {line: depth for line in wanted.values()}
    for layer, rows in layers.items():
        for low, high, *_ in rows:
            for line in (low, high):
                last[line] = max(last.get(line, 0), layer)
    operations = sum(has_min + has_max for *_, has_min, has_max in kept)
    return emit(name, len(order), len(ranks), layers, depth, last, list(wanted.values()), operations), depth


def emit(name, inputs, outputs, layers, depth, last, wanted, operations):
    text = [f"// {inputs} lines, {operations} min or max, {depth} clocks",
            f"module {name} #(parameter W = 12) (",
            "    input wire clk, input wire in_valid, input wire in_edge,",
            f"    input wire [{inputs}*W-1:0] in_data,",
            f"    output wire out_valid, output wire out_edge, output wire [{outputs}*W-1:0] out_data);",
            f"    reg [{depth}:1] valid = 0, edges = 0;",
            "    always @(posedge clk) begin",
            f"        valid <= {{valid[{depth - 1}:1], in_valid}};" if depth > 1 else "        valid <= in_valid;",
            f"        edges <= {{edges[{depth - 1}:1], in_edge}};" if depth > 1 else "        edges <= in_edge;",
            "    end",
            f"    assign out_valid = valid[{depth}], out_edge = edges[{depth}];"]
    text += [f"    wire [W-1:0] s0_{i} = in_data[{i}*W +: W];" for i in range(inputs)]
    for layer in range(depth):
        changed, body = set(), []
        for low, high, has_min, has_max in layers[layer]:
            a, b, swap = f"s{layer}_{low}", f"s{layer}_{high}", f"c{layer}_{low}_{high}"
            text.append(f"    wire {swap} = {a} > {b};")
            if has_min:
                body.append((low, f"{swap} ? {b} : {a}"))
            if has_max:
                body.append((high, f"{swap} ? {a} : {b}"))
            changed |= {low, high}
        body += [(line, f"s{layer}_{line}") for line in range(inputs)
                 if line not in changed and last.get(line, -1) > layer]
        for line, value in sorted(body):
            text.append(f"    reg [W-1:0] s{layer + 1}_{line}; always @(posedge clk) s{layer + 1}_{line} <= {value};")
    text += [f"    assign out_data[{k}*W +: W] = s{depth}_{line};" for k, line in enumerate(wanted)]
    return "\n".join(text + ["endmodule", ""])


def networks():
    three = module("sort_three", [[0], [1], [2]], range(3))[0]
    nine = module("merge_nine", [list(range(3 * k, 3 * k + 3)) for k in range(3)], range(9))[0]
    median = module("median_of_nines", [list(range(9 * k, 9 * k + 9)) for k in range(3)], [13])[0]
    return "// Written by generate.py: do not edit.\n\n" + "\n".join([three, nine, median])


def table():
    """ln(1 + i/256) and its rise to i + 1, in 2^-18; e ln 2 for e = 0..15."""
    scale, n = 1 << FRACTION, 1 << SEGMENT_BITS
    logs = [round(math.log1p(i / n) * scale) for i in range(n + 1)]
    rows = [f"        {SEGMENT_BITS}'d{i}: base = {{{FRACTION}'d{logs[i]}, 10'd{logs[i + 1] - logs[i]}}};" for i in range(n)]
    octaves = [f"        4'd{e}: octave = 22'd{round(e * math.log(2) * scale)};" for e in range(16)]
    return "\n".join(["// Written by generate.py: do not edit.", "",
                      "module flat_log_table (",
                      f"    input wire [{SEGMENT_BITS - 1}:0] index, input wire [3:0] exponent,",
                      f"    output reg [{FRACTION + 9}:0] base, output reg [21:0] octave);",
                      "    always @* case (index)"] + rows +
                     ["    endcase", "    always @* case (exponent)"] + octaves + ["    endcase", "endmodule", ""])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    (folder / "median_networks.v").write_text(networks())
    (folder / "flat_log_table.v").write_text(table())


if __name__ == "__main__":
    main()
