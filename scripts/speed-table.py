#!/usr/bin/env python3
"""Markdown tables out of the JSON lines of `tamis bench ... --baseline naive`.
usage: speed-table.py RESULTS.jsonl...
One table for each pair of inner width and thread count: median and speed-up over the naive loop of the same run."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lab/results"))
from measured import OPERATIONS, head, mean, records, row  # noqa: E402


def main(paths):
    cases = collections.defaultdict(dict)
    for line in (line for path in paths for line in records(pathlib.Path(path), 'measurement', None)):
        key = (line['inner'] or line['width'], line['threads'], line['type'], line['matrix'], line['operation'])
        cases[key]['naive' if line['algorithm'] == 'naive' else 'ours'] = line
    pairs = {key: (case['naive']['median_ms'] / case['ours']['median_ms'], case['ours']) for key, case in cases.items() if len(case) == 2}
    for inner, threads, type_ in dict.fromkeys(key[:3] for key in pairs):
        print(f'\nK = {inner}, {type_}, {threads} thread{"s" if threads > 1 else ""}: '
              'milliseconds (times the naive loop; times the floor)\n')
        print(*head('matrix', *OPERATIONS), sep='\n')
        for matrix in dict.fromkeys(key[3] for key in pairs if key[:3] == (inner, threads, type_)):
            found = [pairs.get((inner, threads, type_, matrix, operation)) for operation in OPERATIONS]
            print(row(matrix, *(f'{one[1]["median_ms"]:.3g} ({one[0]:.2f}x; {one[1]["floor_ratio"]:.1f})' if one else '' for one in found)))
        values = [[ratio for key, (ratio, _) in pairs.items() if key[:3] == (inner, threads, type_) and key[4] == operation] for operation in OPERATIONS]
        print(row('**geometric mean**', *(f'{mean(ratios):.2f}x (least {min(ratios):.2f}x)' if ratios else '' for ratios in values)))


if __name__ == '__main__':
    main(sys.argv[1:])
