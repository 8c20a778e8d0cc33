"""The tables of attention, message passing and training steps: tables.py names them."""
import collections
import csv
import json
import re

from claims import number
from measured import head, many, plain_model, records, row, spread


def best_of(times, library):
    """The least time of a library's configurations, and the name of that one behind the dash."""
    found = min(((ms, name) for name, ms in times.items() if name.split("-")[0] == library), default=None)
    return found and (found[0], found[1].partition("-")[2])


def flex(results):
    """Of lab/bench/attention.py: flex_attention by the best of its configurations."""
    single = dict(results.texts("attention-fp32.csv", "training-attention-fp32"))
    for machine, lines in results.texts("attention-bf16.csv", "training-attention"):
        cells, kept = collections.defaultdict(lambda: collections.defaultdict(dict)), {}
        for mask, pairs, positions, heads, inner, kind, call, contestant, ms, error in csv.reader(lines + single.get(machine, [])):
            kept[mask] = 100 * int(pairs) / int(positions)**2
            for shown in [kind, TF32] if (contestant, kind) == ("tamis", "fp32") else [TF32 if contestant.endswith("-tf32") else kind]:
                if ms and not error.startswith("WRONG"):
                    cells[mask, int(positions), int(inner), shown][call][contestant.removesuffix("-tf32")] = float(ms)
        yield from [f"`{machine}`, {heads} heads, ms. Behind another's time stands how many times as long it takes as Tamis, and the blocks of flex_attention's best configuration:",
                    "", *head("mask, positions, pairs kept, K = L", "Tamis, forward", "flex_attention", "dense mask", "Tamis, with gradients", "flex_attention", "dense mask")]
        for (mask, positions, inner, kind), calls in sorted(cells.items(), key=lambda one: one[0][3]):
            found = []
            for call in ("fwd", "both"):
                ours, *others = (best_of(calls[call], library) for library in ("tamis", "flex", "sdpa_mask"))
                found.append(f"{ours[0]:.3g}" if ours else "")
                found += [f"{peer[0]:.3g}, {number(peer[0] / ours[0])}x{f' ({FLEX[peer[1]]})' if peer[1] else ''}" if ours and peer else "" for peer in others]
            yield row(f"{mask}, {positions:,}, {kept[mask]:.3g} %, {inner}, {kind}", *found)
        yield ""


TF32 = "fp32, the others in TF32"
FLEX = {"64": "64", "128": "128", "t64": "64, a table of pairs", "t128": "128, a table of pairs"}

STEPS = {"tamis": "Tamis", "flex": "flex_attention", "sdpa": "PyTorch, dense mask"}


def steps(results):
    for machine, lines in results.texts("language-model.txt", "training-steps"):
        measured = [json.loads(line) for line in lines]
        one, rows = measured[0], collections.defaultdict(dict)
        for record in measured:
            rows[record["kept_percent"]][record["method"]] = f"{record['median_ms']:.2f}, {record['peak_bytes'] / 2**20:.0f}"
        yield from [f"`{machine}`, {one['positions']:,} positions, {one['members']} texts, {one['heads']} heads of {one['features'] // one['heads']} features, {one['type']}, "
                    f"PyTorch {one['torch'].split('+')[0]}; ms, and MiB at most:", "", *head("pairs kept", *STEPS.values())]
        yield from (row(f"{kept:g} %", *(found.get(method, "") for method in STEPS)) for kept, found in rows.items())
        yield from ["", f"The losses of the steps differed by at most {max(record['loss_difference'] for record in measured):.2g}.", ""]


OTHERS = {"torch": "PyTorch's gather and scatter", "torch, compiled": "the same by torch.compile", "pyg": "PyTorch Geometric's `scatter` and `softmax`",
          "pyg, compiled": "the same by torch.compile", "sparse": "torch.sparse (`copy_u` and sum only)"}
SHORT = {"torch": "PyTorch", "torch, compiled": "PyTorch, compiled", "pyg": "PyTorch Geometric", "pyg, compiled": "PyTorch Geometric, compiled", "sparse": "torch.sparse"}
WORDS = {"none": "", "number": "a number", "heads": "a number a head", "vector": "a vector"}


def message_call(line):
    op, kind, *reduce = line["call"].split("-")
    heads = f", {line['heads']} heads" if line["heads"] > 1 else ""
    if op in ("edge_add", "edge_dot", "softmax"):
        return f"`{'edge_softmax' if op == 'softmax' else 'edge_op'}`{', ' + op[5:] if op != 'softmax' else ''}{heads}"
    return f"`{op}`, {reduce[0]}{f', {WORDS[kind]} an edge' if WORDS[kind] else ''}{heads}"


def messages(results):
    for path in results.files("messages", "cpu-messages"):
        lines = records(path)
        timed = {(message_call(line), line["edges"], line["width"]): line for line in lines if line["record"] == "message"}
        run = [line for line in lines if line["record"] == "run"][-1]
        yield f"On the {plain_model(run['model'])}, {run['threads']} threads, fp32, PyTorch {run['torch'].split('+')[0]}, {run['started'][:10]}, commit `{run['commit'][:12]}`:"
        sizes = sorted({key[2] for key in timed})
        yield from ["", *compared(timed), "", *by_call(timed, sizes)]
        shown = (max(key[1] for key in timed), sizes[len(sizes) // 2])
        kept = [line for line in lines if line["record"] == "memory" and (line["edges"], line["width"]) == shown]
        if kept:
            yield from ["", "What a step, forward and backward, needs besides its operands, in MiB:", "",
                        *head("call", "edges", "width", "results and gradients", "vectors of all edges", "Tamis", "the least of the others")]
        yield from (row(message_call(line), many(line["edges"]), line["width"], *(f"{mib:.0f}" for mib in (
            line["results_mib"], line["vectors_mib"], line["mib"]["ours"], min(mib for name, mib in line["mib"].items() if name != "ours")))) for line in kept)
        yield ""


PARTS = {"forward": lambda times: times[0], "backward": lambda times: times[1], "both": sum}


def best_ratio(line, part):
    """How many times as long the best of the others takes, forward, backward or both."""
    of = PARTS[part]
    return min(of(times) for name, times in line["ms"].items() if name != "ours") / of(line["ms"]["ours"])


def compared(timed):
    """A row for each of the others: how many times as long it takes."""
    yield from head("compared with", "calls", *PARTS)
    for other, title in OTHERS.items():
        found = [line["ms"] for line in timed.values() if other in line["ms"]]
        if found:
            yield row(title, len(found), *(spread([of(ms[other]) / of(ms["ours"]) for ms in found]) for of in PARTS.values()))
    yield row("**the best of them**", len(timed), *(spread([best_ratio(line, part) for line in timed.values()]) for part in PARTS))


def by_call(timed, sizes):
    """A row for each call and number of edges."""
    yield from ["Each entry is the best other time divided by ours, forward and backward: below 1 ours is slower. In brackets: our time divided by the floor.", "",
                *head("call", "edges", *(f"width {width}" for width in sizes))]
    for call, edges in dict.fromkeys(key[:2] for key in timed):
        cells = []
        for width in sizes:
            line = timed.get((call, edges, width))
            over = [ms / floor for ms, floor in zip(line["ms"]["ours"], line["floor_ms"])] if line else []
            cells.append(f"{', '.join(number(best_ratio(line, part)) for part in ('forward', 'backward'))} ({over[0]:.1f}, {over[1]:.1f})" if line else "")
        yield row(call, many(edges), *cells)


# ---------------------------------------------------------------------------------------------------- message passing on GPUs, of what the programs print

LINE = re.compile(r" *(\d+) +(\d+) +(\d+) (\S+) +([\d.]+) +([\d.]+) ms  floors +([\d.]+) +([\d.]+) ms(.*)  apart")
BESIDE = re.compile(r"  ([a-z, ]+) x +([\d.]+) +([\d.]+)")


def messages_gpu(results):
    for machine, lines in results.texts("messages.txt", "training-messages"):
        best = collections.defaultdict(lambda: ([], []))
        for line in lines:
            found = LINE.match(line)
            if not found:
                continue
            edges, width, heads, call, *numbers = found.groups()
            others = [(name, float(forward), float(backward)) for name, forward, backward in BESIDE.findall(numbers[4])]
            for part in (0, 1):
                ratio, name = min((other[1 + part], other[0]) for other in others)
                title = message_call({"call": call, "heads": int(heads)})
                best[int(edges)][part].append((ratio, f"{title} at width {width} {ratio:.2f} ({SHORT[name.strip()]})"))
        yield from [f"`{machine}`, fp32:", "", *head("edges", "calls", "forward", "backward")]
        yield from (row(f"{edges:,}", len(parts[0]), *(spread([ratio for ratio, _ in part]) for part in parts)) for edges, parts in best.items())
        yield ""
        for edges, parts in best.items():
            for part, title in zip(parts, ("forward", "backward")):
                slower = [name for ratio, name in sorted(part) if ratio < 1]
                yield f"- Slower than the best, {many(edges)} edges, {title}: {'; '.join(slower) or 'none'}."
        yield ""


GRAPHS = {"pyg": "PyTorch Geometric", "compiled": "the same by torch.compile", "anemoi": "anemoi-models"}


def graph_attention(results):
    for machine, lines in results.texts("graph-attention.txt", "training-graphs"):
        yield from [f"`{machine}`, 40,000 nodes, 16 heads of 64 features. The columns of others say how many times as long they take, forward, backward and both:", "",
                    *head("edges a node, type", "forward, backward, ms", "over the floors", *GRAPHS.values(), "MB in the order of the columns")]
        for line in lines:
            found = re.match(r" *\d+ x +(\d+) +\d+ x +\d+ (\w+) +([\d.]+) +([\d.]+) ms  floors +([\d.]+) +([\d.]+) ms(.*)  MB(.*)", line)
            if found:
                edges, kind, *times, others, memory = found.groups()
                forward, backward, least, least_back = map(float, times)
                beside = {name: times for name, *times in re.findall(r"(\w+) (\S+) (\S+) both (\S+)", others)}
                yield row(f"{edges}, {kind}", f"{forward:.2f}, {backward:.2f}", f"{forward / least:.1f}, {backward / least_back:.1f}",
                          *(", ".join(beside.get(name, [])) for name in GRAPHS), ", ".join(f"{int(mb):,}" for mb in re.findall("[0-9]+", memory)))
        yield ""


def layers(results):
    for machine, lines in results.texts("pyg-layers.txt", "training-layers"):
        measured = results.folder / machine / "pyg-layers-memory.txt"
        memory = dict(re.findall(r"(\S+) +tamis +([\d.]+ MiB +pyg +[\d.]+) MiB", measured.read_text(encoding="utf-8"))) if measured.exists() else {}
        compiled = any(" compiled x " in line for line in lines)
        yield from [f"`{machine}`, {lines[0].split(': ', 1)[1]}. The other columns say how many times as long PyTorch Geometric takes, forward, backward and both:", "",
                    *head("layer", "forward, backward, ms", "PyTorch Geometric", *["by torch.compile"] * compiled, *["MiB: Tamis, PyTorch Geometric"] * bool(memory))]
        for line in lines[1:]:
            found = re.match(r"(\S+) +([\d.]+) +([\d.]+) ms +(.*?) +apart", line)
            if found:
                name, forward, backward, others = found.groups()
                beside = {other: ", ".join(times) for other, *times in re.findall(r"(\w+) x +(\S+) +(\S+) both +(\S+)", others)}
                cells = [beside.get(other, "not compiled") for other in ("pyg", "compiled")[:1 + compiled]]
                cells += [", ".join(f"{float(mib):.0f}" for mib in re.findall(r"[\d.]+", memory[name]))] if name in memory else []
                yield row(name.replace("-edges", ", features of edges").replace("-", ", "), f"{forward}, {backward}", *cells)
        yield ""


TABLES = {"flex": flex, "steps": steps, "messages": messages, "messages_gpu": messages_gpu, "graph_attention": graph_attention,
          "layers": layers}
