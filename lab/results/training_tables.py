"""The tables of attention, message passing and training steps: tables.py names them."""
import collections
import csv
import json
import re

from claims import number, open_text
from measured import many, plain_model, spread


def best_of(times, library):
    """The least time of a library's configurations, and the name of that one behind the dash."""
    found = min(((ms, name) for name, ms in times.items() if name.split("-")[0] == library), default=None)
    return found and (found[0], found[1].partition("-")[2])


def flex(results):
    """Of lab/bench/attention.py: flex_attention by the best of its configurations."""
    text, single = [], dict(results.texts("attention-fp32.csv", "training-attention-fp32"))
    for machine, lines in results.texts("attention-bf16.csv", "training-attention"):
        cells, kept = collections.defaultdict(lambda: collections.defaultdict(dict)), {}
        for mask, pairs, positions, heads, inner, kind, call, contestant, ms, error in csv.reader(lines + single.get(machine, [])):
            kept[mask] = 100 * int(pairs) / int(positions)**2
            for shown in [kind, TF32] if (contestant, kind) == ("tamis", "fp32") else [TF32 if contestant.endswith("-tf32") else kind]:
                if ms and not error.startswith("WRONG"):
                    cells[mask, int(positions), int(inner), shown][call][contestant.removesuffix("-tf32")] = float(ms)
        text += [f"`{machine}`, {heads} heads, ms. Behind another's time stands how many times as long it takes as Tamis, and the blocks of flex_attention's best configuration:", "",
                 "| mask, positions, pairs kept, K = L | Tamis, forward | flex_attention | dense mask | Tamis, with gradients | flex_attention | dense mask |", "|---|---|---|---|---|---|---|"]
        for (mask, positions, inner, kind), calls in sorted(cells.items(), key=lambda one: one[0][3]):
            row = []
            for call in ("fwd", "both"):
                ours, *others = (best_of(calls[call], library) for library in ("tamis", "flex", "sdpa_mask"))
                row.append(f"{ours[0]:.3g}" if ours else "")
                row += [f"{peer[0]:.3g}, {number(peer[0] / ours[0])}x{f' ({FLEX[peer[1]]})' if peer[1] else ''}" if ours and peer else "" for peer in others]
            text.append(f"| {mask}, {positions:,}, {kept[mask]:.3g} %, {inner}, {kind} | " + " | ".join(row) + " |")
        text.append("")
    return "\n".join(text[:-1])


TF32 = "fp32, the others in TF32"
FLEX = {"64": "64", "128": "128", "t64": "64, a table of pairs", "t128": "128, a table of pairs"}

STEPS = {"tamis": "Tamis", "flex": "flex_attention", "sdpa": "PyTorch, dense mask"}


def steps(results):
    text = []
    for machine, lines in results.texts("language-model.txt", "training-steps"):
        records = [json.loads(line) for line in lines]
        one = records[0]
        rows = collections.defaultdict(dict)
        for record in records:
            rows[record["kept_percent"]][record["method"]] = f"{record['median_ms']:.2f}, {record['peak_bytes'] / 2**20:.0f}"
        text += [f"`{machine}`, {one['positions']:,} positions, {one['members']} texts, {one['heads']} heads of {one['features'] // one['heads']} features, {one['type']}, "
                 f"PyTorch {one['torch'].split('+')[0]}; ms, and MiB at most:", "", "| pairs kept | " + " | ".join(STEPS.values()) + " |", "|---|" + "---|" * len(STEPS)]
        text += [f"| {kept:g} % | " + " | ".join(row.get(method, "") for method in STEPS) + " |" for kept, row in rows.items()]
        text += ["", f"The losses of the steps differed by at most {max(record['loss_difference'] for record in records):.2g}.", ""]
    return "\n".join(text[:-1])


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
    text = []
    for path in results.files("messages", "cpu-messages"):
        with open_text(path.as_posix()) as lines:
            records = list(map(json.loads, lines))
        timed = {(message_call(line), line["edges"], line["width"]): line for line in records if line["record"] == "message"}
        run = [line for line in records if line["record"] == "run"][-1]
        best = {key: [min(times[part] for name, times in line["ms"].items() if name != "ours") / line["ms"]["ours"][part] for part in (0, 1)]
                for key, line in timed.items()}
        both = {key: min(sum(times) for name, times in line["ms"].items() if name != "ours") / sum(line["ms"]["ours"]) for key, line in timed.items()}
        text += [f"On the {plain_model(run['model'])}, {run['threads']} threads, fp32, PyTorch {run['torch'].split('+')[0]}, {run['started'][:10]}, commit `{run['commit'][:12]}`:", "",
                 "| compared with | calls | forward | backward | both |", "|---|---|---|---|---|"]
        for other, title in OTHERS.items():
            found = [line["ms"] for line in timed.values() if other in line["ms"]]
            if found:
                text.append(f"| {title} | {len(found)} | " + " | ".join(spread([of(ms[other]) / of(ms["ours"]) for ms in found]) for of in (lambda t: t[0], lambda t: t[1], sum)) + " |")
        text.append(f"| **the best of them** | {len(timed)} | " + " | ".join(spread(found) for found in (
            [pair[0] for pair in best.values()], [pair[1] for pair in best.values()], list(both.values()))) + " |")
        sizes = sorted({key[2] for key in timed})
        text += ["", "Each entry is the best other time divided by ours, forward and backward. In brackets: our time divided by the floor.", "",
                 "| call | edges | " + " | ".join(f"width {width}" for width in sizes) + " |", "|---|---|" + "---|" * len(sizes)]
        for call, edges in dict.fromkeys(key[:2] for key in timed):
            cells = []
            for width in sizes:
                line = timed.get((call, edges, width))
                over = [ms / floor for ms, floor in zip(line["ms"]["ours"], line["floor_ms"])] if line else []
                cells.append(f"{number(best[call, edges, width][0])}, {number(best[call, edges, width][1])} ({over[0]:.1f}, {over[1]:.1f})" if line else "")
            text.append(f"| {call} | {many(edges)} | " + " | ".join(cells) + " |")
        found = collections.defaultdict(list)
        for (call, edges, width), pair in best.items():
            for part, ratio in zip(("forward", "backward"), pair):
                if ratio < 1:
                    found[call, edges].append(f"{part} {ratio:.2f} at width {width}")
        text += ["", f"Slower than the best of them:{'' if found else ' none.'}", "", *(f"- {call}, {many(edges)} edges: {', '.join(cases)}" for (call, edges), cases in found.items())]
        kept = [line for line in records if line["record"] == "memory" and line["width"] == sizes[len(sizes) // 2]]
        if kept:
            text += ["", "What a step, forward and backward, needs besides its operands, in MiB:", "",
                     "| call | edges | width | results and gradients | vectors of all edges | Tamis | the least of the others |", "|---|---|---|---|---|---|---|"]
            text += [f"| {message_call(line)} | {many(line['edges'])} | {line['width']} | {line['results_mib']:.0f} | {line['vectors_mib']:.0f} | "
                     f"{line['mib']['ours']:.0f} | {min(mib for name, mib in line['mib'].items() if name != 'ours'):.0f} |" for line in kept]
        text.append("")
    return "\n".join(text[:-1])


# ---------------------------------------------------------------------------------------------------- message passing on GPUs, of what the programs print

LINE = re.compile(r" *(\d+) +(\d+) +(\d+) (\S+) +([\d.]+) +([\d.]+) ms  floors +([\d.]+) +([\d.]+) ms(.*)  apart")
BESIDE = re.compile(r"  ([a-z, ]+) x +([\d.]+) +([\d.]+)")


def messages_gpu(results):
    text = []
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
        text += [f"`{machine}`, fp32:", "", "| edges | calls | forward | backward |", "|---|---|---|---|"]
        text += [f"| {edges:,} | {len(parts[0])} | " + " | ".join(spread([ratio for ratio, _ in part]) for part in parts) + " |" for edges, parts in best.items()] + [""]
        for edges, parts in best.items():
            for part, title in zip(parts, ("forward", "backward")):
                slower = [name for ratio, name in sorted(part) if ratio < 1]
                text += [f"- Slower than the best, {many(edges)} edges, {title}: {'; '.join(slower) or 'none'}."]
        text.append("")
    return "\n".join(text[:-1])


GRAPHS = {"pyg": "PyTorch Geometric", "compiled": "the same by torch.compile", "anemoi": "anemoi-models"}


def graph_attention(results):
    text = []
    for machine, lines in results.texts("graph-attention.txt", "training-graphs"):
        text += [f"`{machine}`, 40,000 nodes, 16 heads of 64 features. The columns of others say how many times as long they take, forward, backward and both:", "",
                 "| edges a node, type | forward, backward, ms | over the floors | " + " | ".join(GRAPHS.values()) + " | MB in the order of the columns |", "|---|---|---|---|---|---|---|"]
        for line in lines:
            found = re.match(r" *\d+ x +(\d+) +\d+ x +\d+ (\w+) +([\d.]+) +([\d.]+) ms  floors +([\d.]+) +([\d.]+) ms(.*)  MB(.*)", line)
            if found:
                edges, kind, forward, backward, least, least_back, others, memory = found.groups()
                beside = {name: times for name, *times in re.findall(r"(\w+) (\S+) (\S+) both (\S+)", others)}
                text.append(f"| {edges}, {kind} | {float(forward):.2f}, {float(backward):.2f} | {float(forward) / float(least):.1f}, {float(backward) / float(least_back):.1f} | "
                            + " | ".join(", ".join(beside.get(name, [])) for name in GRAPHS) + f" | {', '.join(f'{int(mb):,}' for mb in re.findall('[0-9]+', memory))} |")
        text.append("")
    return "\n".join(text[:-1])


def layers(results):
    text = []
    for machine, lines in results.texts("pyg-layers.txt", "training-layers"):
        measured = results.folder / machine / "pyg-layers-memory.txt"
        memory = dict(re.findall(r"(\S+) +tamis +([\d.]+ MiB +pyg +[\d.]+) MiB", measured.read_text(encoding="utf-8"))) if measured.exists() else {}
        compiled = any(" compiled x " in line for line in lines)
        text += [f"`{machine}`, {lines[0].split(': ', 1)[1]}. The other columns say how many times as long PyTorch Geometric takes, forward, backward and both:", "",
                 "| layer | forward, backward, ms | PyTorch Geometric |" + " by torch.compile |" * compiled + " MiB: Tamis, PyTorch Geometric |" * bool(memory),
                 "|---|---|---|" + "---|" * (compiled + bool(memory))]
        for line in lines[1:]:
            found = re.match(r"(\S+) +([\d.]+) +([\d.]+) ms +(.*?) +apart", line)
            if found:
                name, forward, backward, others = found.groups()
                beside = {other: ", ".join(times) for other, *times in re.findall(r"(\w+) x +(\S+) +(\S+) both +(\S+)", others)}
                cells = [f"{forward}, {backward}", *(beside.get(other, "not compiled") for other in ("pyg", "compiled")[:1 + compiled])]
                cells += [", ".join(f"{float(mib):.0f}" for mib in re.findall(r"[\d.]+", memory[name]))] if name in memory else []
                text.append(f"| {name.replace('-edges', ', features of edges').replace('-', ', ')} | " + " | ".join(cells) + " |")
        text.append("")
    return "\n".join(text[:-1])


TABLES = {"flex": flex, "steps": steps, "messages": messages, "messages_gpu": messages_gpu, "graph_attention": graph_attention,
          "layers": layers}
