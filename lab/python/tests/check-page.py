"""Checks a page of `tamis report`: its HTML and every drawing in it, that it needs nothing from a network, and that pictures
have words. Prints one line; the exit code is 1 when something is wrong."""
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr", "col"}
OPEN_ENDED = {"td", "th", "tr", "tbody", "thead", "li", "dd", "dt", "p"}  # elements that HTML lets end by themselves


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.ids, self.targets = [], [], set(), []
        self.headings = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            if given["id"] in self.ids:
                self.wrong.append(f"id {given['id']} twice")
            self.ids.add(given["id"])
        for name in ("src", "href", "srcset", "action", "data"):
            value = given.get(name)
            if name == "src" and (value or "").startswith("data:image/png;base64,"):
                if "alt" not in given:
                    self.wrong.append(f"a picture without words: {value[:60]}")
            elif value is not None and not value.startswith("#"):
                self.wrong.append(f"<{tag} {name}={value}> needs another file")
            elif value is not None:
                self.targets.append(value[1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPEN_ENDED:
            self.open.pop()
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> at line {self.getpos()[0]} closes nothing (open: {self.open[-4:]})")
        else:
            self.open.pop()


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    page = Page()
    page.feed(text)
    page.close()
    wrong = page.wrong
    if page.open:
        wrong.append(f"left open: {page.open}")
    wrong += [f"no #{target}" for target in page.targets if target not in page.ids]
    if re.search(r"url\((?!#)|@import|https?://", text):
        wrong.append("an address of the network")
    drawings = re.findall(r"<svg.*?</svg>", text, re.S)
    described = 0
    for drawing in drawings:
        try:
            root = ElementTree.fromstring(drawing)
        except ElementTree.ParseError as error:
            wrong.append(f"a drawing is no XML: {error}: {drawing[:120]}")
            continue
        if root.get("aria-hidden") == "true":
            continue
        if root.get("role") != "img" or not (root.findtext("title") or "").strip() or not (root.findtext("desc") or "").strip():
            wrong.append(f"a drawing without words: {drawing[:120]}")
        for element in root.iter():
            for value in element.attrib.values():
                if "nan" in value.lower().split() or "inf" in value.lower().split() or "nan" in value[:4].lower():
                    wrong.append(f"a place that is no number: {value[:60]}")
        described += 1
    for one in wrong[:20]:
        print(one)
    print(f"{'wrong' if wrong else 'well-formed'}: {described} drawings, {text.count('<table')} tables, {len(page.ids)} ids")
    sys.exit(1 if wrong else 0)


main()
