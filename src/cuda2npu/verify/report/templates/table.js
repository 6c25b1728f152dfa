// The table of records: filter, sort, and no more rows in the document than were asked for.

const table = (() => {
  const FIRST = 200;
  const MORE = 500;
  const form = document.getElementById("filters");
  const head = document.querySelector("#rows thead tr");
  const body = document.querySelector("#rows tbody");
  const severity = { fail: 0, incomparable: 1, warn: 2, pass: 3 };
  const steps = [...new Set(data.rows.map((row) => row.step))];
  const kinds = [...new Set(data.rows.map((row) => row.kind))];
  const value = (name) => (row) => toNumber(metric(row, name));

  // first: how a click sorts at first, the worst on top.
  const columns = [
    { name: "index", number: true, key: (row) => row.index, first: 1 },
    { name: "step", number: true, key: (row) => row.step, first: 1, hidden: steps.length < 2 },
    { name: "name", key: (row) => row.name, first: 1 },
    { name: "kind", key: (row) => kinds.indexOf(row.kind), first: 1 },
    { name: "verdict", key: (row) => severity[row.verdict], first: 1 },
    { name: "rule", key: (row) => row.rule || null, first: 1 },
    { name: "message", key: (row) => row.message || null, first: 1 },
    { name: "cosine", number: true, key: value("cosine"), first: 1 },
    { name: "relative_norm", number: true, key: value("relative_norm"), first: -1 },
    { name: "norm_ratio", number: true, key: value("norm_ratio"), first: 1 },
    { name: "max_absolute", number: true, key: value("max_absolute"), first: -1 },
    { name: "added", number: true, key: (row) => toNumber(row.added), first: -1 },
  ].filter((column) => !column.hidden);

  let sorted = { column: columns[0], direction: 1 };
  let found = [];
  let shown = 0;
  const open = new Set();

  data.rows.forEach((row, index) => {
    row.index = index;
    row.text = [row.name, row.module, row.path, row.source, row.rule, row.message].join("\n").toLowerCase();
  });

  function buildHead() {
    head.replaceChildren(...columns.map((column) => {
      const button = element("button", { type: "button" }, words.say("column." + column.name));
      button.addEventListener("click", () => sortBy(column));
      const active = column === sorted.column;
      const sort = active && (sorted.direction > 0 ? "ascending" : "descending");
      const of = column.number ? "number" : false;
      return element("th", { scope: "col", class: of, "aria-sort": sort, "data-column": column.name }, button);
    }));
  }

  function buildFilters() {
    options(form.kind, words.say("filter.every_kind"), kinds.map((kind) => [kind, words.say("kind." + kind)]));
    options(form.step, words.say("filter.every_step"), steps.map((step) => [step, `${words.say("filter.step")} ${step}`]));
    form.step.hidden = steps.length < 2;
  }

  function sortBy(column) {
    sorted = { column, direction: column === sorted.column ? -sorted.direction : column.first };
    buildHead();
    head.children[columns.indexOf(column)].firstChild.focus();
    update();
  }

  // What has no value stays at the end, whatever the direction; nan is worse than any number.
  function compare(a, b) {
    const { key } = sorted.column;
    const [left, right] = [key(a), key(b)];
    if (left === null || right === null) return (left === null) - (right === null) || a.index - b.index;
    return sorted.direction * order(left, right) || a.index - b.index;
  }

  function order(left, right) {
    if (typeof left === "string") return left < right ? -1 : Number(left > right);
    const [noLeft, noRight] = [Number.isNaN(left), Number.isNaN(right)];
    if (noLeft || noRight) return (noLeft - noRight) * sorted.column.first * -1;
    return left < right ? -1 : Number(left > right);
  }

  function update() {
    const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map((box) => box.value));
    const text = form.text.value.trim().toLowerCase();
    found = data.rows.filter((row) => verdicts.has(row.verdict)
      && (!form.kind.value || row.kind === form.kind.value)
      && (!form.step.value || String(row.step) === form.step.value)
      && row.text.includes(text));
    if (sorted.column !== columns[0] || sorted.direction < 0) found.sort(compare);
    body.replaceChildren();
    shown = 0;
    show(FIRST);
  }

  function show(count) {
    const next = found.slice(shown, shown + count);
    const rows = document.createDocumentFragment();
    for (const row of next) {
      rows.append(rowElement(row));
      if (open.has(row.index)) rows.append(detailsElement(row));
    }
    body.append(rows);
    shown += next.length;
    if (!found.length) {
      body.replaceChildren(element("tr", {}, element("td", { colspan: columns.length }, words.say("nothing"))));
    }
    const left = found.length - shown;
    document.getElementById("shown").textContent = words.say("shown", { shown, found: found.length, all: data.rows.length });
    document.getElementById("more").hidden = !left;
    document.getElementById("more-some").textContent = words.say("more", { count: Math.min(MORE, left) });
    document.getElementById("more-all").textContent = words.say("everything", { count: found.length });
  }

  function rowElement(row) {
    const cells = {
      index: () => element("td", { class: "number dim" }, String(row.index)),
      step: () => element("td", { class: "number" }, String(row.step)),
      name: () => nameCell(row),
      kind: () => element("td", { class: "kind" }, words.say("kind." + row.kind)),
      verdict: () => element("td", { class: row.verdict }, verdictTag(row)),
      rule: () => element("td", { class: "rule" }, row.rule || ""),
      message: () => element("td", { class: "message" }, row.message || ""),
      cosine: () => number(formatNearOne(metric(row, "cosine"))),
      norm_ratio: () => number(formatNearOne(metric(row, "norm_ratio"))),
      relative_norm: () => number(format(metric(row, "relative_norm"))),
      max_absolute: () => number(format(metric(row, "max_absolute"))),
      added: () => number(format(row.added)),
    };
    const first = row.index === data.first ? " first-row" : "";
    const made = element("tr", { class: "row" + first, "data-index": row.index });
    made.append(...columns.map((column) => cells[column.name]()));
    return made;
  }

  function nameCell(row) {
    const button = element("button", { type: "button", "aria-expanded": String(open.has(row.index)) }, row.name || words.say("kind." + row.kind));
    const parts = [row.module, row.path && `[${row.path}]`, row.call && words.say("call", { call: row.call + 1 })];
    const below = element("span", { class: "dim" }, parts.filter(Boolean).join(" · "));
    return element("th", { scope: "row", class: "name" }, button, below);
  }

  function verdictTag(row) {
    const mark = element("span", { class: "mark " + row.verdict, "aria-hidden": "true" });
    return element("span", { class: "tag " + row.verdict }, mark, words.say("verdict." + row.verdict));
  }

  function number(text) {
    return element("td", { class: "number" }, text);
  }

  function detailsElement(row) {
    const cell = element("td", { colspan: columns.length }, details(row));
    return element("tr", { class: "details", "data-of": row.index }, cell);
  }

  function toggle(line) {
    const index = Number(line.dataset.index);
    const opens = !open.has(index);
    if (opens) {
      open.add(index);
      line.after(detailsElement(data.rows[index]));
    } else {
      open.delete(index);
      line.nextElementSibling.remove();
    }
    line.querySelector("button").setAttribute("aria-expanded", String(opens));
  }

  // Show one record, whatever the filters hide.
  function reveal(index) {
    if (!found.includes(data.rows[index])) {
      form.reset();
      update();
    }
    show(Math.max(0, found.indexOf(data.rows[index]) + 1 - shown));
    const line = body.querySelector(`tr.row[data-index="${index}"]`);
    if (!open.has(index)) toggle(line);
    line.scrollIntoView({ block: "center" });
    line.querySelector("button").focus({ preventScroll: true });
  }

  function write() {
    buildHead();
    buildFilters();
    update();
  }

  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr.row");
    if (line && !String(getSelection())) toggle(line);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", update);
  form.addEventListener("reset", () => setTimeout(update));
  document.getElementById("more-some").addEventListener("click", () => show(MORE));
  document.getElementById("more-all").addEventListener("click", () => show(found.length));
  return { write, reveal };
})();

function options(select, every, pairs) {
  const chosen = select.value;
  const made = pairs.map(([value, label]) => element("option", { value }, String(label)));
  select.replaceChildren(...(every === null ? [] : [element("option", { value: "" }, every)]), ...made);
  if ([...select.options].some((option) => option.value === chosen)) select.value = chosen;
}
