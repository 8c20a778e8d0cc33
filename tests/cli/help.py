#!/usr/bin/env python3
"""Every help text against the program: help.py PROGRAM

Reads the options of each command and method as --help prints them: each has a sentence, and the text and the default that --describe gives it;
the parser takes each, with that default and no other kind of argument; the shells are offered these and no others. Prints them without their
sentences: those of all methods of a command first, and the names that an option takes at the end."""
import json
import re
import subprocess
import sys
import textwrap

COLUMN, WIDTH = 26, 90  # where an option's sentence begins; the most of a line: 80, but for words and summaries that are not wrapped
OPTION = re.compile(r"  (?:-(?P<letter>\w), )?--(?P<no>\[no-\])?(?P<name>[\w-]+)(?:\[=(?P<maybe>.+)\]| (?P<argument>.+))?")
failures, seen = [], set()


def run(*words):
    done = subprocess.run([sys.argv[1], *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode()


def expect(condition, *what):
    if not condition:
        failures.append(joined(" ".join(what)))


def joined(text):
    """In one line, as before it was wrapped."""
    return " ".join(text.split())


def section(text, title):
    """The lines below a title, up to an empty one."""
    return text.partition(f"\n{title}:\n")[2].partition("\n\n")[0].splitlines()


def summaries(text, title):
    return dict(re.match(r"  ([\w-]+) *(.*)", line).groups() for line in section(text, title))


def printed_options(text):
    """Of each option what the regular expression finds, its sentence and its default."""
    found = []
    for line in section(text, "Options"):
        if line.startswith(" " * COLUMN):
            found[-1][1].append(line)
        else:
            at = COLUMN if line[COLUMN - 2:COLUMN] == "  " else len(line)
            found.append((line[:at].rstrip(), [line[at:]]))
    for head, lines in found:
        sentence, default = re.fullmatch(r"(.*?)(?: \[([^\[\]]*)\])?", joined(" ".join(lines))).groups()
        yield head, sentence, default, OPTION.fullmatch(head)


def check_parser(name, printed, table):
    """The parser takes each option as it is printed; of those that are printed alike, the first is refused when it is wrong."""
    words, taken, refused = name.split(), [], []
    for head, _, default, option in printed:
        spelled, argument = f"--{option['name']}", option["argument"]
        spellings = [spelled] + [f"-{option['letter']}"] * bool(option["letter"])
        if argument:
            values = [default] * bool(default) + table[option["name"]]["choices"] or ["cpu" if "DEVICE" in argument else "1"]
            taken += [f"{spelled}={value}" for value in values] + [word for spelling in spellings for word in (spelling, values[0])]
            wrong = [spelled], f"{spelled}: {argument} is missing\n"
        elif option["maybe"]:
            taken += [*spellings, f"{spelled}=x"]
            wrong = None
        else:
            expect((default in ("on", "off")) == bool(option["no"]), name, spelled, "is on or off")
            taken += spellings + [f"--no-{option['name']}"] * bool(option["no"])
            wrong = [f"{spelled}=x"], f"{spelled} takes no value"
        refused += [wrong] if wrong and head not in seen else []
        seen.add(head)
    code, text = run(*words, *taken, "--help")
    expect(code == 0, name, "refuses what it prints:", text)
    for more, message in refused:
        code, text = run(*words, *more)
        expect(code == 2 and text.startswith(f"tamis {name}: {message}"), name, *more, "should say", message, "says", text)


def check_described(name, told, sentence, default, option):
    """What --help prints agrees with what the table says, from which the man page is made."""
    choices = f" ({', '.join(told['choices'])})" if told["choices"] else ""
    preset = {"yes": "on", "no": "off"}.get(told["preset"], told["preset"]) if option["no"] else told["preset"]
    expect(re.search(r"\w", told["help"]), name, told["name"], "has no sentence")
    expect((sentence, default) == (joined(told["help"] + choices), preset), name, told["name"], f"prints {sentence} [{default}]")
    expect((option["letter"] or "", option["argument"] or option["maybe"]) == (told["letter"], told["argument"]), name, told["name"], "as described")


def options_of(name, about, summary, operands):
    """Checks a command or a method and returns its options: for each a line, and its choices."""
    code, text = run(*name.split(), "--help")
    expect(code == 0 and run("help", *name.split()) == (code, text), f"tamis {name} --help")
    within = " METHOD" if about["methods"] else ""
    begins = f"tamis {name} - {summary}\n\nUsage: tamis {name}{within} [options] {operands}".rstrip() + "\n\n"
    expect(re.search(r"\w", summary) and text.startswith(begins), name, "begins otherwise:", text[:200])
    expect(re.search(r"\w", about["description"]) and joined(about["description"]) in joined(text), name, "lacks its description")
    examples = about["examples"].splitlines()
    expect(examples == [joined(line) for line in section(text, "Examples")], name, "has other examples")
    wide = [line for line in text.splitlines()[1:] if len(line) > WIDTH and line.strip() not in examples]
    expect(not wide, name, "has lines that are too long:", *wide)
    if within:
        return []
    *printed, last = printed_options(text)
    expect(last[:2] == ("  -h, --help", "this text"), name, "does not end in --help")
    table = {told["name"]: told for told in about["options"]}
    expect([option["name"] for *_, option in printed] == list(table), name, "prints other options")
    printed = [one for one in printed if one[-1]["name"] in table]
    offered = {line.partition("\t")[0] for line in run("--complete", *name.split(), "--")[1].splitlines()}
    expected = {f"--{prefix}{option['name']}" for *_, option in printed for prefix in ["", "no-"][:1 + bool(option["no"])]}
    expect(offered == expected | {"--help"}, name, "shells are offered others:", *sorted(offered ^ expected))
    check_parser(name, printed, table)
    for one in printed:
        check_described(name, table[one[-1]["name"]], *one[1:])
    return [(head.strip() + (f" [{default}]" if default else ""), f"--{option['name']}: {', '.join(table[option['name']]['choices'])}")
            for head, _, default, option in printed]


def show(title, options):
    words = [line.replace(" ", "\0") for line, _ in options]
    print(textwrap.fill(f"{title}: {'; '.join(words)}", 140, subsequent_indent="  ", break_on_hyphens=False).replace("\0", " "))


def main():
    top = run("--help")[1]
    expect(run("help") == (0, top) and run() == (2, top), "tamis help")
    told, choices = json.loads(run("--describe")[1])["commands"], {}
    listed = summaries(top, "Commands")
    expect(list(listed) == [about["name"] for about in told], "tamis --help has other commands")
    for about in told:
        name = about["name"]
        one = options_of(name, about, listed[name], about["operands"])
        methods = summaries(run(name, "--help")[1], "Methods") if about["methods"] else {}
        expect(list(methods) == [method["name"] for method in about["methods"]], name, "has other methods")
        of_methods = {method["name"]: options_of(f"{name} {method['name']}", method, methods.get(method["name"], ""), about["operands"])
                      for method in about["methods"]}
        common = one or [option for option in next(iter(of_methods.values()), []) if all(option in others for others in of_methods.values())]
        show(f"{name}{' METHOD' if methods else ''} {about['operands']}".strip(), common)
        for method, options in of_methods.items():
            show(f"{name} {method}", [option for option in options if option not in common])
        choices.update((choice, None) for _, choice in one + sum(of_methods.values(), []) if not choice.endswith(" "))
    print(*sorted(choices), sep="\n")
    print(*failures, sep="\n", end="\n" * bool(failures))
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
