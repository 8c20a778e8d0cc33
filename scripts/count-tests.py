#!/usr/bin/env python3
"""Counts the test cases of one run of ctest: count-tests.py RESULTS.xml RUN EXPECTED
A program of cmocka counts with each of its cases, any other test as one. Prints each failure, each skip with its reason,
and last "PASSED FAILED SKIPPED". EXPECTED (tests/expected.txt) has the least number of cases of each run, and the skips
that are in order. Fewer cases are a failure, and a skip without a reason ("skipped: WHY" in the test's output) is one; other
skips are one where TAMIS_CI is set."""
import os
import re
import sys
import xml.etree.ElementTree as tree


NONE = "no reason given"


def expected(path, run):
    """Return the run's least number of cases, and regular expressions of the tests that may be skipped."""
    least, skips = None, []
    with open(path) as file:
        for words in (line.split("#")[0].split() for line in file):
            if words[:2] == ["least", run]:
                least = int(words[2])
            elif words[:1] == ["skip"] and (len(words) < 3 or not os.path.exists(words[2])):
                skips.append(re.compile(words[1] + "$"))
    if least is None:
        sys.exit(f"count-tests.py: {path} has no line 'least {run}'")
    return least, skips


def cases_of(test):
    """Return (passed, failed, skipped with reasons) of one test of ctest."""
    name, output = test.get("name"), test.findtext("system-out") or ""
    if test.find("skipped") is not None:
        reason = re.search(r"skipped: (.*)", output)
        return 0, 0, [(name, reason.group(1) if reason else NONE)]
    skips, reason = [], ""
    for line in output.splitlines():
        if line.startswith("skipped: "):
            reason = line[len("skipped: "):]
        elif line.startswith("[  SKIPPED ] ") and not line.endswith("listed below:") and line[13:14].isalpha():
            skips.append((f"{name}.{line[13:]}", reason or NONE))
            reason = ""
    skips = list(dict(reversed(skips)).items()) # cmocka repeats the skipped tests at the end, without reasons
    right = len(re.findall(r"^\[       OK \] ", output, re.M))
    wrong = len(set(re.findall(r"^\[  FAILED  \] ([a-z]\w*)", output, re.M)))
    if test.find("failure") is not None:
        return right, max(wrong, 1), skips
    return right or (0 if skips else 1), 0, skips


def main():
    results, run, path = sys.argv[1:]
    least, allowed = expected(path, run)
    passed = failed = 0
    skipped = []
    for test in tree.parse(results).getroot().iter("testcase"):
        right, wrong, skips = cases_of(test)
        passed, failed = passed + right, failed + wrong
        skipped += skips
        if wrong:
            print(f"FAILED: {run}: {test.get('name')}")
    for name, reason in skipped:
        known = any(pattern.match(name) for pattern in allowed)
        print(f"skipped: {run}: {name}: {reason}")
        if reason == NONE:
            print(f"FAILED: {run}: {name} does not say why it is skipped")
            failed += 1
        if not known and os.environ.get("TAMIS_CI"):
            print(f"FAILED: {run}: {name} should not be skipped here (tests/expected.txt)")
            failed += 1
    if passed + failed + len(skipped) < least:
        print(f"FAILED: {run}: {passed + failed + len(skipped)} cases, but there are at least {least} (tests/expected.txt)")
        failed += 1
    print(passed, failed, len(skipped))


main()
