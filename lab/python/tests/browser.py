"""Looks at a page of `tamis report` with a headless Chromium: at the widths of a phone and of a desktop, in both colour schemes, and
printed. Nothing may be wider than the window, letters of the charts may not be too small on the phone, text must contrast with its
paper, heads of columns must sort, printing must unfold what is folded, and the console must stay empty.

    browser.py RESULTS.jsonl FOLDER      77: skipped, with the reason"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

LOOK = """
const frame = document.querySelector("iframe");
function contrast(a, b) {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((one) => { one /= 255; return one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
}
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement, found = {};
  const colour = (selector, what) => view.getComputedStyle(page.querySelector(selector))[what];
  found.paper = colour("body", "backgroundColor");
  found.contrast = contrast(colour("body", "color"), found.paper);
  found.soft = contrast(colour(".aid", "color"), found.paper);
  page.querySelectorAll("details").forEach((one) => { one.open = true; });
  found.width = root.clientWidth;
  found.wide = root.scrollWidth;
  found.out = [...page.querySelectorAll("main *")].filter((one) =>
    one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".wide,svg")).slice(0, 3).map((one) => one.outerHTML.slice(0, 80));
  found.letters = Math.min(...[...page.querySelectorAll("figure svg text")].map((one) =>
    parseFloat(view.getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b)));
  const table = [...page.querySelectorAll("table.t.m")].find((one) => one.tBodies[0].rows.length > 3);
  const heads = [...table.tHead.rows[0].cells], column = heads.findIndex((one) => one.textContent === "Median");
  const values = () => [...table.tBodies[0].rows].map((one) => parseFloat(one.cells[column].textContent));
  const sorted = (list, sign) => list.every((one, i) => i === 0 || sign * list[i - 1] <= sign * one);
  const button = heads[column].querySelector("button");
  button.click();
  found.rising = sorted(values(), 1) && heads[column].getAttribute("aria-sort") === "ascending";
  button.click();
  found.falling = sorted(values(), -1) && heads[column].getAttribute("aria-sort") === "descending";
  heads[0].querySelector("button").click();
  found.named = sorted([...table.tBodies[0].rows].map((one) => one.cells[0].textContent.trim().localeCompare("m")), 1)
    && !heads[column].hasAttribute("aria-sort");
  document.title = "found " + JSON.stringify(found);
});
"""


def chromium(folder, *arguments):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("skipped: chromium is not installed")
        sys.exit(77)
    done = subprocess.run(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--allow-file-access-from-files", "--enable-logging=stderr", f"--user-data-dir={folder}/profile",
         "--virtual-time-budget=5000", *arguments], capture_output=True, text=True, errors="replace", timeout=240, check=False)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def look(folder, width, dark, wrong):
    frame = folder / f"frame-{width}-{dark}.html"
    frame.write_text(f'<body style="margin:0"><iframe src="page.html" style="border:0;width:{width}px;height:900px"></iframe>'
                     f"<script>{LOOK}</script>", encoding="utf-8")
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    text, console = chromium(folder, "--window-size=1400,1000", *scheme, "--dump-dom", frame.as_uri())
    name = f"{width} px, {'dark' if dark else 'light'}"
    title = re.search(r"<title>found (.*?)</title>", text)
    if not title:
        wrong.append(f"{name}: no verdict; {console[:3]}")
        return {}
    found = json.loads(title[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    wrong += [f"{name}: console: {line}" for line in console]
    if found["wide"] > found["width"] or found["out"]:
        wrong.append(f"{name}: {found['wide']} px wide: {found['out']}")
    if width < 500 and found["letters"] < 11.9:
        wrong.append(f"{name}: letters of {found['letters']:.1f} px in a chart")
    if found["contrast"] < 7 or found["soft"] < 4.5:
        wrong.append(f"{name}: contrast {found['contrast']:.1f}, soft {found['soft']:.1f}")
    wrong += [f"{name}: sorting is not {what}" for what in ("rising", "falling", "named") if not found[what]]
    return found


def pages(folder, page):
    file = folder / (page.stem + ".pdf")
    _, console = chromium(folder, f"--print-to-pdf={file}", "--no-pdf-header-footer", page.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", file.read_bytes())) if file.exists() else 0, console


def main():
    results, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    chromium(folder, "--version")
    folder.mkdir(parents=True, exist_ok=True)
    page = folder.resolve() / "page.html"
    subprocess.run([sys.executable, "-m", "tamis_lab.report", results, "-o", str(page)], check=True, stdout=subprocess.DEVNULL)
    wrong = []
    phone = look(page.parent, 390, False, wrong)
    look(page.parent, 1280, False, wrong)
    dark = look(page.parent, 390, True, wrong)
    if phone and dark and phone["paper"] == dark["paper"]:
        wrong.append("the dark scheme has the paper of the light one")
    unfolded = page.with_name("unfolded.html")
    unfolded.write_text(page.read_text(encoding="utf-8").replace("<details>", "<details open>"), encoding="utf-8")
    printed, console = pages(page.parent, page)
    whole, _ = pages(page.parent, unfolded)
    wrong += [f"printed: console: {line}" for line in console]
    if printed < 2 or printed != whole:
        wrong.append(f"printed: {printed} pages, {whole} with everything unfolded before")
    print("\n".join(wrong) or f"390 px, 1280 px, dark, sorted, printed on {printed} pages")
    sys.exit(1 if wrong else 0)


main()
