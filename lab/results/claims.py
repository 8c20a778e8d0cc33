#!/usr/bin/env python3
"""The papers' claims beside what was measured, as Markdown: claims.py lab/results/claims.txt RESULTS.jsonl[.xz|.gz]...
The text file says for each claim what to look at; the numbers come from the results alone. Its lines:
  paper  AUTHORS: TITLE  begins a section
  where  TEXT            begins a row: table, figure or section of the paper
  claim  TEXT            what the paper says, and on which chip
  look   EXPRESSION | FIELD=PATTERN ... [by=FIELD]
                         a number of ours; several lines make several numbers
  say    TEXT            what follows from them
Claims of which nothing was measured stand together at the end, with the reason that `say` gives. Numbers in a `say` that none of its row's
results have, rounded as they are there, are named on standard error: somebody has to read them again.
An EXPRESSION is one of
  A / B         how many times as fast B is as A, over all problems that have both: geometric mean, least, most, count
  share A       GFLOP/s of A over the measured peak, the most;    gflops A    the most;    floor A   time over the floor
  setup A       set-up in milliseconds;    calls A B   executions of B after which its set-up has paid against A
  ms A          median milliseconds, for a few problems
Contestants are names of algorithms or peers, with parameters in brackets: cusddmm-sm-l2[tune=2]; `auto` is the plan's choice. PATTERN may use
* and ?, and | between several."""
import fnmatch
import gzip
import json
import lzma
import math
import re
import sys

PROBLEM = ("matrix", "operation", "edge", "inner", "width", "batch", "type", "math", "d_is_b", "device", "cold")


def open_text(path):
    kind = {".gz": gzip.open, ".xz": lzma.open}.get(path[path.rfind("."):], open)
    return kind(path, "rt", encoding="utf-8")


def load(paths):
    """Problems, each a dictionary of its contestants' lines; and the ceilings of each run and device."""
    problems, ceilings, runs = {}, {}, {}
    for path in paths:
        with open_text(path) as lines:
            for text in lines:
                line = json.loads(text)
                if line.get("record") == "run":
                    ceilings[line["run"], line["device"]] = line
                    # what was measured of one commit belongs together; before results had one, each run alone
                    runs[line["run"]] = line.get("commit") or line["run"]
                if line.get("record", "measurement") != "measurement":
                    continue
                key = (runs.get(line.get("run"), line.get("run")), *(line.get(k) for k in PROBLEM))
                name = line["algorithm"] + (f"[{line['parameters']}]" if line.get("parameters") else "")
                of = problems.setdefault(key, {})
                # of several thread counts the most; a library of one thread belongs to all
                if name not in of or of[name]["threads"] < line["threads"]:
                    of[name] = line
                if line["auto"] and ("auto" not in of or of["auto"]["threads"] < line["threads"]):
                    of["auto"] = line
    return problems, ceilings


def matches(line, filters):
    for field, pattern in filters:
        value = line.get({"op": "operation"}.get(field, field))
        if not any(fnmatch.fnmatchcase(str(value), one) for one in pattern.split("|")):
            return False
    return True


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values, unit):
    mean = math.exp(sum(map(math.log, values)) / len(values))
    if len(values) == 1:
        return number(mean) + unit
    return f"{number(mean)}{unit} ({number(min(values))} to {number(max(values))}, {len(values)} cases)"


def values_of(words, problems, ceilings):
    """One number for each problem that has what the expression names."""
    found = []
    for of in problems:
        if len(words) == 3 and words[1] == "/":
            if words[0] in of and words[2] in of:
                found.append(of[words[0]]["median_ms"] / of[words[2]]["median_ms"])
        elif words[0] == "calls":
            if words[1] in of and words[2] in of:
                gain = of[words[1]]["median_ms"] - of[words[2]]["median_ms"]
                found.append(of[words[2]]["setup_ms"] / gain if gain > 0 else math.inf)
        elif words[1] in of:
            line = of[words[1]]
            if words[0] == "share":
                ceiling = ceilings[line["run"], line["device"]]["fp64_gflops" if line["type"] == "fp64" else "fp32_gflops"]
                found.append(100 * line["gflops"] / ceiling[1])
            else:
                field = {"gflops": "gflops", "setup": "setup_ms", "ms": "median_ms", "floor": "floor_ratio"}[words[0]]
                if line.get(field):
                    found.append(line[field])
    return found


def summary(words, values):
    if not values:
        return None
    if words[0] in ("share", "gflops"):
        return f"at most {number(max(values))}{' %' if words[0] == 'share' else ' GFLOP/s'} ({len(values)} cases)"
    if words[0] == "calls":
        paid = sorted(value for value in values if value < math.inf)
        if not paid:
            return f"never, {len(values)} cases"
        return f"{number(paid[0])} to {number(paid[-1])} calls, never in {len(values) - len(paid)} of {len(values)} cases"
    return spread(values, "x" if words[1] == "/" or words[0] == "floor" else " ms")


def measured(look, problems, ceilings):
    expression, _, condition = look.partition("|")
    words = expression.split()
    pairs = [pair.split("=", 1) for pair in condition.split()]
    by = [value for field, value in pairs if field == "by"]
    filters = [(field, value) for field, value in pairs if field != "by"]
    chosen = [of for of in problems.values() if matches(next(iter(of.values())), filters)]
    title = f"`{expression.strip()}`"
    if not by:
        text = summary(words, values_of(words, chosen, ceilings))
        return f"{title}: {text}" if text else None
    parts = []
    for value in sorted({next(iter(of.values())).get(by[0]) for of in chosen}, key=lambda v: (str(type(v)), v)):
        some = [of for of in chosen if next(iter(of.values())).get(by[0]) == value]
        text = summary(words, values_of(words, some, ceilings))
        if text:
            parts.append(f"{'K = ' if by[0] == 'inner' else ''}{value} {text}")
    return f"{title}: {'; '.join(parts)}" if parts else None


def rows_of(path):
    row = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            rest = rest.strip()
            if word in ("paper", "where"):
                if row:
                    yield row
                row = {word: rest, "look": []}
            elif word == "look":
                row["look"].append(rest)
            elif word in ("claim", "say"):
                row[word] = f"{row[word]} {rest}" if word in row else rest
            elif word and not word.startswith("#"):
                sys.exit(f"{path}: '{word}' is no directive")
    if row:
        yield row


def numbers_alone(said, found):
    """Numbers of a text that another does not have as they are there."""
    number_in = re.compile(r"(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-]*`)")
    there = number_in.findall(found)
    rounded = {number(float(value.replace(",", ""))) for value in there} | {f"{float(value.replace(',', '')):.1f}" for value in there} | set(there)
    return [value for value in number_in.findall(re.sub("`[^`]*`", "", said)) if "." in value and value not in rounded]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    problems, ceilings = load(sys.argv[2:])
    absent, paper = [], ""
    for row in rows_of(sys.argv[1]):
        if "paper" in row:
            paper = row["paper"].partition(" (")[0]
            print(f"\n## {row['paper']}\n\n| where | the claim | measured | what follows |\n|---|---|---|---|")
            continue
        looked = [measured(look, problems, ceilings) for look in row["look"]]
        text = "<br>".join(part for part in looked if part)
        if not text:
            absent.append(f"| {paper}, {row['where']} | {row.get('claim', '')} | {row.get('say', '')} |")
            continue
        if again := numbers_alone(row.get("say", ""), f"{text} {row.get('claim', '')}"):
            print(f"{paper}, {row['where']}: the results do not have {', '.join(again)}", file=sys.stderr)
        print(f"| {row['where']} | {row.get('claim', '')} | {text} | {row.get('say', '')} |")
    if absent:
        print("\n## Not measured\n\n| where | the claim | why |\n|---|---|---|", *absent, sep="\n")


if __name__ == "__main__":
    main()
