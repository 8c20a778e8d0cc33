"use strict";
// Heads of columns sort. Cells begin with their number; what has none is sorted by its letters.
for (const table of document.querySelectorAll("table.t")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.scope = "col";
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => {
        const text = row.cells[column].textContent.trim();
        return { row, text, value: parseFloat(text) };
      });
      const numeric = keyed.some((one) => !isNaN(one.value)) && keyed.every((one) => !one.text || !isNaN(one.value));
      keyed.sort((a, b) => {
        if (!a.text || !b.text) return !a.text - !b.text;
        const order = numeric ? a.value - b.value : a.text.localeCompare(b.text);
        return rising ? order : -order;
      });
      body.append(...keyed.map((one) => one.row));
    });
  });
}
// Printing shows all that is folded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
