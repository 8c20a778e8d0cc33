#!/usr/bin/env python3
"""Ours beside the best of other libraries, measured on the same kind of GPU.
usage: peer-ratios.py PEERS.csv[.xz] RESULTS.jsonl...
PEERS has the columns op, matrix, K, dtype, peer, ms, relerr and status, a row a measurement; only those count that are right
to fp32 (a relative error under 1e-5). RESULTS are the lines of `tamis bench --json`; of several algorithms each is
printed, and `auto` counts in the means, else the first. cuSPARSE is there twice where `--peers cusparse` was: the ratio
of its two times says how far two runs can be compared."""
import csv
import json
import lzma
import math
import os
import sys

ACCURATE = 1e-5
SMALL_MS, LEAST, LEAST_SMALL = 0.01, 0.95, 0.9


def read_peers(path):
    best, cusparse = {}, {}
    with (lzma.open if path.endswith('.xz') else open)(path, 'rt', encoding='utf-8') as lines:
        for row in csv.DictReader(lines):
            if row['dtype'] != 'fp32' or row['status'] != 'ok' or not row['relerr'] or float(row['relerr']) > ACCURATE:
                continue
            key, ms = (row['matrix'], row['op'], int(row['K'])), float(row['ms'])
            best[key] = min(best.get(key, (ms, row['peer'])), (ms, row['peer']))
            if row['peer'].startswith('cusparse') and row['op'] != 'fused':
                cusparse[key] = min(cusparse.get(key, ms), ms)
    return best, cusparse


def read_results(paths):
    cases = {}
    for path in paths:
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                row = json.loads(line)
                if row.get('record', 'measurement') != 'measurement' or 'median_ms' not in row or row['type'] != 'fp32':
                    continue
                name = os.path.basename(row['matrix']).removesuffix('.npz')
                key = (name, row['operation'], row['inner'] or row['width'])
                cases.setdefault(key, {})['auto' if row['auto'] else row['algorithm']] = row
    return cases


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main(peers, *paths):
    best, cusparse = read_peers(peers)
    ratios = {}
    for (matrix, operation, width), case in sorted(read_results(paths).items()):
        peer = best.get((matrix, operation, width))
        if not peer:
            continue
        ours = {name: row for name, row in case.items() if not name.startswith('cusparse')}
        counted = ours.get('auto') or next(iter(ours.values()))
        ratio = peer[0] / counted['median_ms']
        ratios.setdefault((operation, width), []).append((ratio, peer[0], matrix))
        words = [f'{name} {row["median_ms"]:.4f}' + ('' if row.get('passed') else ' WRONG') +
                 (f' (cuSPARSE\'s two runs {cusparse[matrix, operation, width] / row["median_ms"]:.2f})'
                  if name == 'cusparse' and (matrix, operation, width) in cusparse else '')
                 for name, row in case.items()]
        print(f'{matrix:24} {operation:6} {width:4}  {ratio:5.2f}  {peer[1]} {peer[0]:.4f}  {counted["algorithm"]} ' +
              '; '.join(words))
    for (operation, width), rows in sorted(ratios.items()):
        lost = [f'{matrix} {ratio:.2f}' for ratio, ms, matrix in sorted(rows)
                if ratio < (LEAST if ms > SMALL_MS else LEAST_SMALL)]
        print(f'{operation} {width}: geometric mean {mean([r[0] for r in rows]):.2f} of {len(rows)}, under {LEAST} '
              f'({LEAST_SMALL} below {SMALL_MS * 1000:.0f} us): {len(lost)}{": " if lost else ""}{", ".join(lost)}')


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
