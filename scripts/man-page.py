#!/usr/bin/env python3
"""Writes the man page in mdoc: man-page.py TEXT PROGRAM...   what PROGRAM --describe says of its commands and options, in the places of the
lines "@part" of TEXT (tools/tamis/texts/manual.mdoc)."""
import json
import pathlib
import re
import subprocess
import sys
import textwrap

LINE_LENGTH = 76


def escaped(text):
    return text.replace("\\", "\\e")


def prose(text):
    """Return a paragraph in lines of limited length. As mdoc requires, each sentence begins a line, but no control character does."""
    lines, line = [], ""
    words = text.split()
    for at, word in enumerate(words):
        if line and len(line) + 1 + len(word) > LINE_LENGTH:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        following = words[at + 1] if at + 1 < len(words) else ""
        if word[-1] in ".!?" and following[:1].isascii() and following[:1].isupper():
            lines.append(line)
            line = ""
    return [("\\&" if one[0] in ".'" else "") + escaped(one) for one in lines + [line] * bool(line)]


def description(text):
    """Return paragraphs; a paragraph of lines "name: meaning" becomes a list."""
    lines = []
    paragraphs = text.split("\n\n") if text else []
    for at, paragraph in enumerate(paragraphs):
        if "\n" not in paragraph:
            lines += prose(paragraph) + [".Pp"] * (at + 1 < len(paragraphs))
            continue
        lines.append(".Bl -tag -width Ds -compact")
        for entry in paragraph.split("\n"):
            name, colon, meaning = entry.partition(": ")
            if colon:
                lines += [f".It Cm {name}", *prose(meaning)]
        lines.append(".El")
    return lines


def capitalised(text):
    return text if text.startswith(("spmm", "fused")) else text[:1].upper() + text[1:]


def option_entry(option, methods="", presets=""):
    """`methods`: the methods that have the option, unless all do. `presets`: the defaults, if methods differ."""
    negatable = option["flag"] and option["preset"]
    head = f".It Fl {option['letter']} , Fl " if option["letter"] else ".It Fl "
    head += f"-{option['name']}" + (f" , Fl -no-{option['name']}" if negatable else "")
    if option["argument"]:
        argument = escaped(option["argument"])
        quoted = f'"{argument}"' if " " in argument else argument
        head += f" Ns Oo = Ns Ar {option['argument']} Oc" if option["optional"] else f" Ar {quoted}"
    text = capitalised(option["help"]) + (" (" + ", ".join(option["choices"]) + ")" if option["choices"] else "")
    lines = [head, *([f"({methods})"] if methods else []), *prose(text if text.endswith(".") else text + ".")]
    if presets:
        return lines + ["Default:", *textwrap.wrap(f"{presets}.", 76)]
    if negatable:
        return lines + ["Default: on." if option["preset"] == "yes" else "Default: off."]
    return lines + (["Default:", f".Cm {option['preset']} ."] if option["preset"] else [])


def methods_of(command):
    """Return the methods and their options; options with the same name and meaning appear once."""
    lines = [".Pp", "The methods are:", ".Bl -tag -width implicit-als"]
    for method in command["methods"]:
        lines += [f".It Cm {method['name']}", *description(method["description"])]
    lines += [".El", ".Pp", "If only some methods have an option, they are named.", ".Bl -tag -width Ds"]
    found = {}
    for method in command["methods"]:
        for option in method["options"]:
            found.setdefault((option["name"], option["help"]), []).append((method["name"], option))
    for having in found.values():
        presets = {}
        for method, option in having:
            presets.setdefault(option["preset"] or "none", []).append(method)
        lines += option_entry(having[0][1],
                              ", ".join(method for method, _ in having) if len(having) < len(command["methods"]) else "",
                              ", ".join(f"{preset} ({', '.join(names)})" for preset, names in presets.items()) if len(presets) > 1 else "")
    return lines + [".El"]


def commands(about):
    for command in about["commands"]:
        yield from [f".Ss tamis {command['name']}" + (" METHOD" if command["methods"] else ""), *description(command["description"])]
        if command["methods"]:
            yield from methods_of(command)
        else:
            yield from [".Bl -tag -width Ds", *(line for option in command["options"] for line in option_entry(option)), ".El"]


def synopsis(about):
    """Return a synopsis such as "MODEL [ITEM ...]": optional arguments are in brackets."""
    for command in about["commands"]:
        needed, _, optional = command["operands"].partition("[")
        yield from [".Nm", f".Cm {command['name']}", *([".Ar METHOD"] if command["methods"] else []), ".Op Ar options"]
        yield from [f".Ar {needed.strip()}"] if needed else []
        yield from [f".Op Ar {optional.rstrip(']')}"] if optional else []
    yield from [".Nm", ".Cm help", ".Op Ar command", ".Nm", ".Fl -version"]


def exit_codes(about):
    yield from [".Sh EXIT STATUS", ".Bl -tag -width 130"]
    for one in about["exit"]:
        yield from [f".It {one['code']}", f"{one['meaning'][:1].upper()}{one['meaning'][1:]}."]
    yield ".El"


def examples(about):
    yield ".Sh EXAMPLES"
    lines = [line for command in about["commands"] for one in (command, *command["methods"]) for line in one["examples"].splitlines()]
    for at in range(0, len(lines), 2):
        meaning = lines[at + 1]
        yield from [".Pp"] * (at > 0) + [f"{meaning[:1].upper()}{meaning[1:]}:", f".Dl {escaped(lines[at])}"]


def main():
    about = json.loads(subprocess.run([*sys.argv[2:], "--describe"], check=True, capture_output=True).stdout)
    parts = {"synopsis": synopsis, "commands": commands, "exit": exit_codes, "examples": examples}
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    sys.stdout.write(re.sub(r"^@(\w+)\n", lambda part: "".join(f"{line}\n" for line in parts[part[1]](about)), page, flags=re.M))


if __name__ == "__main__":
    main()
