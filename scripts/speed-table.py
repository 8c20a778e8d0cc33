#!/usr/bin/env python3
"""Markdown tables out of the JSON lines of `tamis bench ... --baseline naive`.
usage: speed-table.py RESULTS.jsonl...
One table for each pair of inner width and thread count: median and speed-up over the naive loop of the same run."""
import json
import math
import sys

OPERATIONS = ('sddmm', 'spmm', 'fused')


def main(paths):
    cases = {}
    for path in paths:
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                row = json.loads(line)
                if row.get('record', 'measurement') != 'measurement':
                    continue
                key = (row['inner'] or row['width'], row['threads'], row['type'], row['matrix'], row['operation'])
                cases.setdefault(key, {})['naive' if row['algorithm'] == 'naive' else 'ours'] = row
    pairs = {key: case for key, case in cases.items() if len(case) == 2}
    for inner, threads, type_ in dict.fromkeys(key[:3] for key in pairs):
        print(f'\nK = {inner}, {type_}, {threads} thread{"s" if threads > 1 else ""}: '
              'milliseconds (times the naive loop; times the floor)\n')
        print('| matrix | ' + ' | '.join(OPERATIONS) + ' |\n|---|' + '---|' * len(OPERATIONS))
        ratios = {operation: [] for operation in OPERATIONS}
        for matrix in dict.fromkeys(key[3] for key in pairs if key[:3] == (inner, threads, type_)):
            cells = []
            for operation in OPERATIONS:
                case = pairs.get((inner, threads, type_, matrix, operation))
                if not case:
                    cells.append('')
                    continue
                ours = case['ours']
                ratio = case['naive']['median_ms'] / ours['median_ms']
                ratios[operation].append(ratio)
                cells.append(f'{ours["median_ms"]:.3g} ({ratio:.2f}x; {ours["floor_ratio"]:.1f})')
            print(f'| {matrix} | ' + ' | '.join(cells) + ' |')
        means = []
        for operation in OPERATIONS:
            values = ratios[operation]
            means.append(f'{math.exp(sum(map(math.log, values)) / len(values)):.2f}x (least {min(values):.2f}x)' if values else '')
        print('| **geometric mean** | ' + ' | '.join(means) + ' |')


if __name__ == '__main__':
    main(sys.argv[1:])
