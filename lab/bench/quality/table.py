#!/usr/bin/env python3
"""Writes the tables of the comparisons into a page, between the lines `<!-- ratings: made by table.py -->` and `<!-- end -->` and so for uses,
topics, rounds, tune, and what defaults.py measured (defaults, defaults of uses, choices): table.py PAGE.md RESULTS.jsonl[.xz]...   Medians over the seeds, least and most in brackets; below each table the commits."""
import collections
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "results"))
from measured import head, records, row  # noqa: E402

TABLES = {
    "ratings": (("data",), [("rmse", "RMSE", 4), ("mae", "MAE", 4)]),
    "uses": (("data",), [("recall", "recall at 10", 4), ("ndcg", "NDCG at 10", 4)]),
    "topics": (("data", "topics"), [("perplexity", "perplexity", 0), ("coherence", "NPMI", 3), ("seconds", "seconds", 2)]),
    "rounds": (("data", "topics"), [("perplexity", "perplexity", 0), ("coherence", "NPMI", 3), ("empty", "topics without words", 0), ("seconds", "seconds", 2)]),
}


def shown(values, digits):
    if None in values:
        return ""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 or digits == 2 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def setting(values):
    return ", ".join(f"{name} {value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else f"{name} {value}"
                     for name, value in values.items()) or "none"


def commits(lines, names):
    """Return a sentence that names the commit of most lines, and the other commits with their rows."""
    of = collections.defaultdict(list)
    for line in lines:
        name = str(line[names[-1]])
        if name not in of[line["commit"]]:
            of[line["commit"]].append(name)
    first, *others = sorted(of, key=lambda commit: -len(of[commit]))
    return f"Measured at commit {first}" + "".join(f"; at {commit}: {', '.join(of[commit])}" for commit in others) + "."


def compared(kind, lines):
    keys, numbers = TABLES[kind]
    settings = ["setting"] if "setting" in lines[0] else []
    text = head(*keys, "method", *settings, *(name for _, name, _ in numbers))
    cases = {}
    for line in lines:
        cases.setdefault(tuple(line[key] for key in keys), {}).setdefault(line["contestant"], []).append(line)
    for case, contestants in sorted(cases.items(), key=lambda one: [str(key) for key in one[0][1:]]) if len(keys) > 1 else cases.items():
        for contestant, found in contestants.items():
            text.append(row(*case, contestant, *(setting(found[0][name]) for name in settings),
                            *(shown([line[field] for line in found], digits) for field, _, digits in numbers)))
    return text + ["", commits(lines, ("data", "contestant"))]


def tuned(_, lines):
    text = head("data", "method", "tune: candidates", "choice", "error", "grid: candidates", "best", "error", "choice / best", "share of the cost")
    for line in lines:
        text.append(row(line["data"], line["method"], line["candidates"], setting(line["chosen"]), f"{line['chosen_error']:.4f}", line["grid"],
                        setting(line["grid_best"]), f"{line['grid_error']:.4f}", f"{line['ratio']:.4f}", f"{line['cost']:.3f}"))
    return text + ["", commits(lines, ("data", "method"))]


def by_data(lines):
    found = {}
    for line in lines:
        found.setdefault(line["data"], {})[line["method"], line["setting"]] = line
    return found


def of_ratings(_, lines):
    columns = [(method, setting) for method in ("als", "ccd", "sfa") for setting in ("default", "constant")]
    text = head("data", *(method if setting == "default" else f"{method}, 0.1" for method, setting in columns))
    for data, found in by_data(line for line in lines if line["metric"] == "RMSE").items():
        text.append(row(data, *(f"{found[one]['value'] / found[one]['baseline']:.4f}" for one in columns)))
    return text + ["", commits(lines, ("data", "method"))]


def of_uses(_, lines):
    text = head("data", "implicit-als", "implicit-als, 0.01", "the most popular")
    for data, found in by_data(line for line in lines if line["metric"] == "recall").items():
        default, constant = (found["implicit-als", setting] for setting in ("default", "constant"))
        text.append(row(data, *(f"{number:.4f}" for number in (default["value"], constant["value"], default["baseline"]))))
    return text


def choices(_, lines):
    methods = ("als", "ccd", "sfa", "implicit-als")
    text = head("data", *methods)
    for data, found in by_data(line for line in lines if line["setting"] == "default").items():
        text.append(row(data, *(f"{one['choice_seconds']:.2f} + {one['fit_seconds'] - one['choice_seconds']:.2f}" if one else ""
                                 for one in (found.get((method, "default")) for method in methods))))
    return text


OTHERS = {"tune": ("tune", tuned), "defaults": ("defaults", of_ratings), "defaults of uses": ("defaults", of_uses), "choices": ("defaults", choices)}


def main():
    page = pathlib.Path(sys.argv[1])
    lines = [line for path in sys.argv[2:] for line in records(pathlib.Path(path))]
    text = page.read_text()
    for kind in (*TABLES, *OTHERS):
        name, make = OTHERS.get(kind, (kind, compared))
        of = [line for line in lines if line["record"] == name]
        if kind == "defaults of uses" and not any(line["metric"] == "recall" for line in of):
            continue  # no results: the page keeps its table
        if of:
            made = "\n".join(make(kind, of))
            begin = f"<!-- {kind}: made by table.py -->\n"
            text, found = re.subn(re.escape(begin) + ".*?<!-- end -->", lambda _: f"{begin}\n{made}\n\n<!-- end -->", text, flags=re.DOTALL)
            if not found:
                sys.exit(f"{page}: no line {begin}")
    page.write_text(text)


if __name__ == "__main__":
    main()
