#!/usr/bin/env python3
"""Writes src/ml/data/unicode_table.h anew, from Python's own tables of Unicode:   unicode-table.py > src/ml/data/unicode_table.h
Ranges of what words consist of (letters, marks, digits), and simple case folding as ranges of one difference and one step."""
import sys
import unicodedata

POINTS = range(0x80, 0x110000)


def ranges(holds):
    found = []
    for point in POINTS:
        if not holds(chr(point)):
            continue
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def folded(character):
    """Fold a character by simple case folding, which leaves as they are those that full folding makes several of."""
    for other in (character.casefold(), character.lower()):
        if len(other) == 1:
            return ord(other)
    return ord(character)


def folds():
    found = []  # first, last, step, difference
    for point in POINTS:
        difference = folded(chr(point)) - point
        if difference == 0:
            continue
        last = found[-1] if found else None
        if last and last[3] == difference and point - last[1] in (1, 2) and (last[0] == last[1] or point - last[1] == last[2]):
            last[2] = point - last[1]
            last[1] = point
        else:
            found.append([point, point, 1, difference])
    return found


def rows(items):
    line = "   "
    for item in items:
        word = " {" + ", ".join(item) + "},"
        if len(line) + len(word) > 118:
            print(line)
            line = "   "
        line += word
    print(line)


print(f"""/*
 * Unicode {unicodedata.unidata_version} beyond ASCII, made by scripts/unicode-table.py: ranges of letters, marks and digits, and simple case
 * folding.
 */
#ifndef TAMIS_ML_UNICODE_TABLE_H
#define TAMIS_ML_UNICODE_TABLE_H

#include <stdint.h>

/* clang-format off */
typedef struct unicode_range {{
    uint32_t first, last;
}} unicode_range;

/* Letters. */
static const unicode_range unicode_letters[] = {{""")
rows([hex(number) for number in one] for one in ranges(lambda one: unicodedata.category(one)[0] == "L"))
print("};\n\n/* Combining marks, digits, and joiners within words. */\nstatic const unicode_range unicode_others[] = {")
rows([hex(number) for number in one] for one in ranges(lambda one: unicodedata.category(one)[0] in "MN" or ord(one) in (0x200C, 0x200D)))
print("""};

/* Each step-th character from first to last is folded by adding the difference. */
typedef struct unicode_fold {
    uint32_t first, last, step;
    int32_t difference;
} unicode_fold;

static const unicode_fold unicode_folds[] = {""")
rows([hex(first), hex(last), str(step), str(difference)] for first, last, step, difference in folds())
print("};\n/* clang-format on */\n\n#endif")
sys.stdout.flush()
