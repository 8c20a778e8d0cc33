"""The tables of attention, message passing and training steps: tables.py names them."""
import collections
import csv
import json
import re

from claims import number, open_text
from measured import many, of, plain_model, runs_of, spread


def attention(results):
    text = []
    for path in results.files("attention", "suite-attention"):
        days = sorted(run["started"][:10] for run in runs_of(path))
        cells = collections.defaultdict(dict)
        for contestants in results.problems(path):
            ours, other = contestants.get("auto"), contestants.get("torch-attention")
            if ours and other and ours["edge"] == "softmax" and ours["batch"] == 1 and ours["inner"] == 64 and ours["type"] != "fp16" and ours["device"] != "cpu":
                group, positions = of(ours)[0].split("_")
                ratio = other["median_ms"] / ours["median_ms"]
                cells[int(positions), ours["inner"], ours["type"]][group] = f"{ours['median_ms']:.3g} ({number(ratio)})"
        if cells:
            text += [f"On the {results.machine(path)}, {' to '.join(dict.fromkeys((days[0], days[-1])))}:", "", "| N, K = L | window | window and global positions | blocks |", "|---|---|---|---|"]
            text += [f"| {positions:,}, {inner}, {kind} | " + " | ".join(row.get(group, "") for group in ("window", "global", "blocks")) + " |"
                     for (positions, inner, kind), row in sorted(cells.items())] + [""]
    return "\n".join(text[:-1])


MASKS = {"attn4096": "a window of 256, 32 global positions, random blocks (12 %)", "window256": "a window of 256", "random-blocks": "random blocks of 64 x 64"}


def flex(results):
    text = []
    for machine, lines in results.texts("attention.csv", "training-attention"):
        cells = collections.defaultdict(dict)
        for mask, _, _, _, call, inner, kind, peer, _, ms, _, status, *_ in csv.reader(lines):
            if status == "ok" and ms:
                cells[mask, int(inner), kind][call, peer] = f"{float(ms):.3g}"
        columns = [(call, peer) for call in ("attention-fwd", "attention-fwd+bwd") for peer in ("tamis", "flex_attention", "sdpa_mask")]
        text += [f"`{machine}`, 16 heads of 4,096 positions, ms:", "",
                 "| mask, K = L | Tamis, forward | flex_attention | dense mask | Tamis, with gradients | flex_attention | dense mask |", "|---|---|---|---|---|---|---|"]
        text += [f"| {MASKS.get(mask, mask)}, {inner}, {kind} | " + " | ".join(row.get(column, "") for column in columns) + " |"
                 for (mask, inner, kind), row in cells.items() if ("attention-fwd", "tamis") in row or ("attention-fwd+bwd", "tamis") in row] + [""]
    return "\n".join(text[:-1])


STEPS = {"tamis": "Tamis", "flex": "flex_attention", "sdpa": "PyTorch, dense mask"}


def steps(results):
    text = []
    for machine, lines in results.texts("language-model.txt", "training-attention"):
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
        for title, least, most in (("Slower than the best of them", 0, 1), ("Less than twice as fast", 1, 2)):
            found = collections.defaultdict(list)
            for (call, edges, width), pair in best.items():
                for part, ratio in zip(("forward", "backward"), pair):
                    if least <= ratio < most:
                        found[call, edges].append(f"{part} {ratio:.2f} at width {width}")
            text += ["", f"{title}:{'' if found else ' none.'}", "", *(f"- {call}, {many(edges)} edges: {', '.join(cases)}" for (call, edges), cases in found.items())]
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
    for machine, lines in results.texts("messages.txt", "training-graphs"):
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


def graph_attention(results):
    text = []
    for machine, lines in results.texts("graph-attention.txt", "training-graphs"):
        text += [f"`{machine}`, 40,000 nodes, 16 heads of 64 features:", "",
                 "| edges a node, type | forward, backward, ms | over the floors | PyTorch Geometric, both | compiled, both | MB: Tamis, PyTorch Geometric, compiled |",
                 "|---|---|---|---|---|---|"]
        for line in lines:
            found = re.match(r" *\d+ x +(\d+) +\d+ x +\d+ (\w+) +([\d.]+) +([\d.]+) ms  floors +([\d.]+) +([\d.]+) ms  pyg \S+ \S+ both (\S+)"
                             r"  compiled \S+ \S+ both (\S+)  MB ours (\d+) pyg (\d+) compiled (\d+)", line)
            if found:
                edges, kind, forward, backward, least, least_back, pyg, compiled, *memory = found.groups()
                over = f"{float(forward) / float(least):.1f}, {float(backward) / float(least_back):.1f}"
                text.append(f"| {edges}, {kind} | {float(forward):.2f}, {float(backward):.2f} | {over} | {pyg}x | {compiled}x | {', '.join(f'{int(mb):,}' for mb in memory)} |")
        text.append("")
    return "\n".join(text[:-1])


def layers(results):
    text = []
    for machine, lines in results.texts("pyg-layers.txt", "training-graphs"):
        measured = results.folder / machine / "pyg-layers-memory.txt"
        memory = {}
        if measured.exists():
            memory = {name: mib for name, *mib in re.findall(r"(\S+) +tamis +([\d.]+) MiB +pyg +([\d.]+) MiB", measured.read_text(encoding="utf-8"))}
        text += [f"`{machine}`, {lines[0].split(': ', 1)[1]}:", "",
                 "| layer | forward, ms | backward, ms | times as long, forward | backward | both |" + (" Tamis, MiB | PyTorch Geometric, MiB |" if memory else ""),
                 "|---|---|---|---|---|---|" + ("---|---|" if memory else "")]
        for line in lines[1:]:
            found = re.match(r"(\S+) +([\d.]+) +([\d.]+) ms +pyg x +(\S+) +(\S+) both +(\S+)", line)
            if found:
                name, *numbers = found.groups()
                numbers += [f"{float(mib):.0f}" for mib in memory.get(name, [])]
                text.append(f"| {name.replace('-edges', ', features of edges').replace('-', ', ')} | " + " | ".join(numbers) + " |")
        text.append("")
    return "\n".join(text[:-1])


TABLES = {"attention": attention, "flex": flex, "steps": steps, "messages": messages, "messages_gpu": messages_gpu, "graph_attention": graph_attention,
          "layers": layers}
