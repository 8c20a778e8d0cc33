"""Runs the commands of a tutorial as a reader would copy them: tutorial.py PAGE PROGRAM SOURCE WORK [--update]

Blocks that begin with ```sh are run in order, in a folder of their own that shows the source's documentation; the first that fails is
named. A block ```text below one is what it prints: the lines before and after a line "..." are its first and its last ones, with the same
words; numbers and times may be others. Behind <!-- sample --> the words may be others too. --update writes these blocks anew."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

page, program, source, work = Path(sys.argv[1]), *(Path(word).resolve() for word in sys.argv[2:5])
BLOCK = re.compile(r"```sh\n(?P<commands>.*?)```\n(?P<between>(?:<!-- sample -->\n)?)(?:```text\n(?P<shown>.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"-?\d[\d.,]*(e[+-]?\d+)?( (ns|us|ms|s)\b)?")


def words(line):
    return " ".join(NUMBER.sub("N", line).split())


def parts(lines, shown):
    """The lines of the output that the page shows: how many are before and behind "..." in `shown`."""
    if "..." not in shown:
        return lines
    head = shown.index("...")
    tail = len(shown) - head - 1
    return lines[:head] + ["..."] + (lines[-tail:] if tail else [])


def main():
    update = "--update" in sys.argv
    shutil.rmtree(work, ignore_errors=True)
    (work / "bin").mkdir(parents=True)
    (work / "bin" / "tamis").symlink_to(program)
    for name in ("docs", "README.md"):
        (work / name).symlink_to(source / name)
    environment = {**os.environ, "PATH": f"{work / 'bin'}:{os.environ['PATH']}", "OMP_WAIT_POLICY": "passive"}
    failures, blocks = [], 0

    def check(block):
        nonlocal blocks
        blocks += 1
        done = subprocess.run(["sh", "-ec", block["commands"]], cwd=work, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{page}: this ends with {done.returncode}:\n{block['commands']}{done.stdout}{done.stderr}")
        if block["shown"] is None:
            return block.group()
        shown = block["shown"].splitlines()
        printed = parts(done.stdout.splitlines(), shown)
        if not block["between"] and list(map(words, printed)) != list(map(words, shown)):
            failures.append(f"{block['commands']}prints\n{done.stdout}but the page has\n{block['shown']}")
        return f"```sh\n{block['commands']}```\n{block['between']}```text\n" + "".join(f"{line}\n" for line in printed) + "```\n"

    text = page.read_text()
    assert "tamis" in text and BLOCK.search(text), f"{page} has no commands"
    renewed = BLOCK.sub(check, text)
    if update:
        page.write_text(renewed)
    print("\n".join(failures) if failures else f"{blocks} blocks of commands")
    return bool(failures)


sys.exit(main())
