// The error of every record in the order of execution, on a logarithmic scale.

const chart = (() => {
  const HEIGHT = 340;
  const EDGE = { left: 62, right: 16, top: 26, bottom: 58 };
  const PHASES = {
    input: "forward", output: "forward", loss: "forward", metric: "forward",
    input_gradient: "backward", output_gradient: "backward", gradient: "backward",
    parameter: "update", buffer: "update", learning_rate: "update",
  };
  const SHAPES = {
    pass: (x, y) => `M${x} ${y}h0`,
    warn: (x, y) => `M${x} ${y - 5}l5 9h-10z`,
    fail: (x, y) => `M${x - 4} ${y - 4}l8 8m-8 0l8 -8`,
    incomparable: (x, y) => `M${x} ${y - 5}v10`,
  };
  const figure = document.getElementById("chart");
  const select = document.getElementById("chart-step");
  const tip = document.getElementById("tip");
  const steps = [...new Set(data.rows.map((row) => row.step))];
  let points = [];
  let cursor = null;
  let at = -1;

  function rowsOfStep() {
    const step = select.value === "" ? steps[0] : Number(select.value);
    return data.rows.filter((row) => row.step === step && (errorOf(row) !== null || row.verdict === "incomparable"));
  }

  function scales(rows, width) {
    const errors = rows.flatMap((row) => [errorOf(row), errorOf(row, "benchmark")]);
    const positive = errors.filter((error) => error > 0 && Number.isFinite(error)).map(Math.log10);
    const low = Math.floor(Math.min(...positive, Infinity));
    // A gradient that is 0 in exact arithmetic is off by any factor: it must not flatten all others.
    const high = Math.min(Math.ceil(Math.max(...positive, -Infinity)), 2);
    const bottom = positive.length ? Math.min(low, high - 2) : -8;
    const top = positive.length ? Math.max(high, bottom + 2) : 0;
    const inner = HEIGHT - EDGE.top - EDGE.bottom;
    const exact = HEIGHT - EDGE.bottom - 8; // errors of 0 lie below the scale
    return {
      bottom, top, exact,
      x: (i) => EDGE.left + 8 + ((width - EDGE.left - EDGE.right - 16) * i) / Math.max(1, rows.length - 1),
      y: (error) => {
        if (Number.isNaN(error) || Math.log10(error) > top) return EDGE.top;
        if (error === 0) return exact;
        return EDGE.top + ((inner - 24) * (top - Math.log10(error))) / (top - bottom);
      },
    };
  }

  function write() {
    const rows = rowsOfStep();
    if (steps.length > 1) {
      document.getElementById("chart-steps").hidden = false;
      options(select, null, steps.map((step) => [step, step]));
    }
    figure.replaceChildren();
    points = [];
    if (!rows.some((row) => errorOf(row) !== null)) {
      figure.append(element("p", { class: "dim" }, words.say("chart.empty")));
      return;
    }
    const width = Math.max(480, figure.clientWidth - 18);
    const scale = scales(rows, width);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, tabindex: 0, role: "img", "aria-label": words.say("chart") });
    svg.append(...axis(scale, width), ...phases(rows, scale, width));
    points = rows.map((row, i) => {
      const error = errorOf(row);
      return { row, x: scale.x(i), y: error === null ? HEIGHT - EDGE.bottom + 10 : scale.y(error) };
    });
    svg.append(line("line", points.filter((point) => errorOf(point.row) !== null)));
    const benchmark = rows.map((row, i) => ({ x: scale.x(i), error: errorOf(row, "benchmark") })).filter((point) => point.error !== null);
    if (benchmark.length) svg.append(line("benchmark", benchmark.map(({ x, error }) => ({ x, y: scale.y(error) }))));
    for (const verdict of ["incomparable", "pass", "warn", "fail"]) {
      const path = points.filter(({ row }) => row.verdict === verdict).map(({ x, y }) => SHAPES[verdict](round(x), round(y))).join("");
      if (path) svg.append(drawn("path", { class: "points " + verdict, d: path }));
    }
    svg.append(...firstLine(width));
    cursor = drawn("circle", { class: "cursor", r: 7, visibility: "hidden" });
    svg.append(cursor);
    listen(svg, width);
    figure.append(svg, legend(rows, benchmark.length > 0));
  }

  function axis(scale, width) {
    const parts = [];
    const every = Math.max(1, Math.ceil((scale.top - scale.bottom) / 8));
    for (let power = scale.bottom; power <= scale.top; power += every) {
      const y = scale.y(10 ** power);
      parts.push(drawn("path", { class: "axis", d: `M${EDGE.left} ${y}H${width - EDGE.right}` }));
      const label = drawn("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end" }, "10");
      label.append(drawn("tspan", { dy: -5, "font-size": 9 }, String(power)));
      parts.push(label);
    }
    parts.push(drawn("path", { class: "axis", d: `M${EDGE.left} ${scale.exact}H${width - EDGE.right}`, "stroke-dasharray": "2 4" }));
    parts.push(drawn("text", { x: EDGE.left - 8, y: scale.exact + 4, "text-anchor": "end" }, words.say("chart.exact")));
    parts.push(drawn("text", { x: 4, y: 12 }, words.say("chart.y")));
    return parts;
  }

  // Bands beneath that say what was going on: forward, backward, update.
  function phases(rows, scale, width) {
    const parts = [];
    let start = 0;
    for (let i = 1; i <= rows.length; i++) {
      if (i < rows.length && PHASES[rows[i].kind] === PHASES[rows[start].kind]) continue;
      const left = start ? (scale.x(start - 1) + scale.x(start)) / 2 + 1 : EDGE.left;
      const right = i < rows.length ? (scale.x(i - 1) + scale.x(i)) / 2 - 1 : width - EDGE.right;
      const y = HEIGHT - EDGE.bottom + 24;
      parts.push(drawn("rect", { class: "phase", x: round(left), y, width: round(Math.max(1, right - left)), height: 20, rx: 3 }));
      const phase = PHASES[rows[start].kind];
      if (phase && right - left > 70) {
        parts.push(drawn("text", { x: (left + right) / 2, y: y + 14, "text-anchor": "middle" }, words.say("phase." + phase)));
      }
      start = i;
    }
    return parts;
  }

  function firstLine(width) {
    const first = points.find(({ row }) => row.index === data.first);
    if (!first) return [];
    const right = first.x < width / 2;
    const text = `${words.say("chart.first")}: ${shortened(data.firstName)}`;
    return [
      drawn("path", { class: "first-line", d: `M${round(first.x)} ${EDGE.top - 6}V${HEIGHT - EDGE.bottom + 20}` }),
      drawn("text", { class: "first-label", x: first.x + (right ? 6 : -6), y: EDGE.top + 2, "text-anchor": right ? "start" : "end" }, text),
    ];
  }

  function shortened(name) {
    return name.length > 44 ? "…" + name.slice(-43) : name;
  }

  function line(name, through) {
    return drawn("path", { class: name, d: through.map(({ x, y }, i) => `${i ? "L" : "M"}${round(x)} ${round(y)}`).join("") });
  }

  function legend(rows, hasBenchmark) {
    const box = element("figcaption", { class: "legend" });
    const add = (sample, text) => {
      const svg = drawn("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, sample);
      box.append(element("span", {}, svg, text));
    };
    for (const verdict of ["pass", "warn", "fail", "incomparable"]) {
      if (!rows.some((row) => row.verdict === verdict)) continue;
      const text = words.say(verdict === "incomparable" ? "chart.unmeasured" : "verdict." + verdict);
      add(drawn("path", { class: "points " + verdict, d: SHAPES[verdict](13, 6) }), text);
    }
    if (hasBenchmark) add(drawn("path", { class: "benchmark", d: "M0 6H26" }), words.say("chart.benchmark"));
    return box;
  }

  function listen(svg, width) {
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) * width) / box.width;
      const y = ((event.clientY - box.top) * width) / box.width;
      moveTo(nearest(x, y));
      place(event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("click", () => at >= 0 && table.reveal(points[at].row.index));
    svg.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (move === undefined && event.key !== "Enter") return;
      event.preventDefault(); // or Enter would press what gets the focus
      if (event.key === "Enter") {
        if (at >= 0) table.reveal(points[at].row.index);
        return;
      }
      moveTo(Math.min(points.length - 1, Math.max(0, at + move)));
      const box = svg.getBoundingClientRect();
      place(box.left + (points[at].x * box.width) / width, box.top + (points[at].y * box.width) / width);
    });
  }

  function nearest(x, y) {
    let best = -1;
    let least = Infinity;
    points.forEach((point, i) => {
      const distance = (point.x - x) ** 2 + ((point.y - y) / 4) ** 2;
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  function moveTo(index) {
    at = index;
    const { row, x, y } = points[index];
    filled(cursor, { cx: x, cy: y, visibility: "visible" }, []);
    const error = errorOf(row);
    const parts = [titleOf(row), words.say("kind." + row.kind), words.say("verdict." + row.verdict)];
    if (error !== null) parts.push(format(error));
    tip.textContent = parts.join(" · ").slice(0, 400);
  }

  function place(x, y) {
    tip.hidden = false;
    const room = innerWidth - x > 480;
    tip.style.left = room ? `${x + 14}px` : "auto";
    tip.style.right = room ? "auto" : `${innerWidth - x + 14}px`;
    tip.style.top = `${y + 16}px`;
  }

  function hide() {
    tip.hidden = true;
    at = -1;
    if (cursor) cursor.setAttribute("visibility", "hidden");
  }

  select.addEventListener("change", write);
  if (data.first !== null) {
    options(select, null, steps.map((step) => [step, step]));
    select.value = data.rows[data.first].step;
  }
  return { write };
})();

function round(value) {
  return Math.round(value * 10) / 10;
}
