"use strict";
// Sorts and filters the tables, and marks in the contents where the reader is. Without it the page says the same.
{
  const MANY_ROWS = 8;
  const collator = new Intl.Collator("en", { numeric: true });

  // The number that a cell begins with: "+0.18 [+0.13, +0.24]", "1,204", "54%", "< 0.001"; null for "n/a".
  function numberIn(text) {
    const found = text.replace(/\u2212/g, "-").replace(/,/g, "").match(/^[<≥±~ ]*([-+]?\d+(?:\.\d+)?)/);
    return found ? Number(found[1]) - (text.startsWith("<") ? 1e-9 : 0) : null;
  }

  function orderBy(column, numeric, direction) {
    const textOf = (row) => row.cells[column].textContent;
    return (a, b) => {
      if (!numeric) return direction * collator.compare(textOf(a), textOf(b));
      const x = numberIn(textOf(a)), y = numberIn(textOf(b));
      if (x === null || y === null) return (x === null) - (y === null); // the unknown is last, either way
      return direction * (x - y);
    };
  }

  function makeSortable(table) {
    const body = table.tBodies[0], asPublished = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "" }[head.ariaSort ?? ""] ?? "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next) head.setAttribute("aria-sort", next);
        const rows = [...asPublished];
        if (next) rows.sort(orderBy(column, head.classList.contains("number"), next === "ascending" ? 1 : -1));
        body.append(...rows);
      });
    });
  }

  function makeFilterable(table, tools) {
    const rows = [...table.tBodies[0].rows];
    const field = document.createElement("input"), told = document.createElement("output");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", `Filter rows: ${table.caption.textContent}`);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      told.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
    tools.prepend(field, told);
  }

  for (const block of document.querySelectorAll(".table-block")) {
    const table = block.querySelector("table"), rows = table.tBodies[0].rows.length;
    if (rows > 1) makeSortable(table);
    if (rows > MANY_ROWS) makeFilterable(table, block.querySelector(".tools"));
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    const entered = entries.find((entry) => entry.isIntersecting);
    if (!entered) return;
    const current = links.get(entered.target.getAttribute("aria-labelledby"));
    links.forEach((link) => link.removeAttribute("aria-current"));
    current.setAttribute("aria-current", "true");
    const list = current.closest("ol");
    list.scrollLeft = current.offsetLeft - list.offsetLeft - 16;
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("section[aria-labelledby]").forEach((section) => seen.observe(section));
}
