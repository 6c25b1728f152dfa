// Everything about one record.

function details(row) {
  const box = element("div", { class: "grid" });
  if (row.metrics) box.append(metricsTable(row));
  box.append(sidesTable(row));
  return element("div", {}, element("p", { class: "full" }, titleOf(row)), box);
}

function metricsTable(row) {
  const table = element("table");
  const head = [words.say("metric"), words.say("candidate")];
  if (row.benchmark) head.push(words.say("benchmark"));
  table.append(header(head));
  const body = element("tbody");
  const add = (label, value, benchmark) => {
    if (value === null || value === undefined) return;
    const cells = [element("th", { scope: "row" }, label), element("td", { class: "number" }, value)];
    if (row.benchmark) cells.push(element("td", { class: "number" }, benchmark || ""));
    body.append(element("tr", {}, ...cells));
  };
  const shown = (value, name) => {
    if (value === null || value === undefined) return null;
    return name === "cosine" || name === "norm_ratio" ? formatNearOne(value) : format(value, 5);
  };
  for (const name of data.metrics) {
    add(words.say("metrics." + name), shown(metric(row, name), name), shown(metric(row, name, "benchmark"), name));
  }
  (row.quantiles || []).forEach((value, i) => {
    add(words.say("quantile", { percent: ["50", "90", "99", "99.9"][i] }), format(value, 5));
  });
  if (row.added !== undefined) add(words.say("added"), format(row.added, 5));
  if (row.noise !== undefined) add(words.say("noise"), format(row.noise, 5));
  table.append(body);
  return table;
}

function sidesTable(row) {
  const table = element("table");
  table.append(header([words.say("both"), words.say("reference"), words.say("candidate")]));
  const body = element("tbody");
  const add = (label, pair) => {
    const cells = pair.map((value) => element("td", {}, value));
    body.append(element("tr", {}, element("th", { scope: "row" }, label), ...cells));
  };
  const missing = (value) => (value === null || value === "" ? words.say("missing") : value);
  if (row.dtype) add(words.say("dtype"), row.dtype.map(missing));
  if (row.shape) add(words.say("shape"), row.shape.map((shape) => (shape ? `(${shape.join(", ")})` : "")));
  if (row.value) add(words.say("value"), row.value.map((value) => (value === null ? "" : format(value, 9))));
  if (row.worst) {
    const place = `${words.say("worst")} [${row.worst.index.join(", ")}]`;
    add(place, [format(row.worst.reference, 7), format(row.worst.candidate, 7)]);
  }
  if (row.statistics) {
    data.statistics.forEach((name, i) => {
      add(words.say(name), row.statistics.map((side) => (side ? format(side[i], 6) : "")));
    });
  }
  const single = (label, value) => {
    const cell = element("td", { colspan: 2 }, element("code", {}, value));
    body.append(element("tr", {}, element("th", { scope: "row" }, label), cell));
  };
  if (row.module) single(words.say("class"), row.module);
  if (row.source) single(words.say("source"), row.source);
  if (row.rule) single(words.say("column.rule"), row.rule);
  if (row.message) single(words.say("column.message"), row.message);
  table.append(body);
  return table;
}

function header(labels) {
  return element("thead", {}, element("tr", {}, ...labels.map((label) => element("th", { scope: "col" }, label))));
}
