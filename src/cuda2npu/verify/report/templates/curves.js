// Losses and other numbers by step, of both sides.

const curves = (() => {
  const HEIGHT = 220;
  const EDGE = { left: 64, right: 14, top: 12, bottom: 26 };
  const box = document.getElementById("curves");

  function write() {
    if (box) box.replaceChildren(...data.curves.map(curve));
  }

  function curve(of) {
    const width = Math.max(320, Math.min(700, box.clientWidth - 18));
    const key = "curve." + of.name.replaceAll(" ", "_");
    const name = data.words[key] ? words.say(key) : of.name;
    const sides = { reference: of.reference.map(toNumber), candidate: of.candidate.map(toNumber) };
    const count = Math.max(of.reference.length, of.candidate.length);
    const finite = Object.values(sides).flat().filter(Number.isFinite);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": name });
    if (finite.length) svg.append(...axes(finite, count, width), ...lines(sides, finite, count, width));
    return element("figure", { class: "curve" }, element("h3", {}, name), svg, legend(), values(of, name));
  }

  function range(finite) {
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
    return [low - margin, high + margin];
  }

  function place(finite, count, width) {
    const [low, high] = range(finite);
    return {
      x: (step) => EDGE.left + ((width - EDGE.left - EDGE.right) * (count > 1 ? step : 0.5)) / Math.max(1, count - 1),
      y: (value) => EDGE.top + ((HEIGHT - EDGE.top - EDGE.bottom) * (high - value)) / (high - low),
    };
  }

  // Round numbers between the ends, four steps or so.
  function ticks([low, high]) {
    const rough = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
    const first = Math.ceil(low / step);
    return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  }

  function axes(finite, count, width) {
    const to = place(finite, count, width);
    const parts = ticks(range(finite)).flatMap((value) => {
      const y = round(to.y(value));
      return [
        drawn("path", { class: "axis", d: `M${EDGE.left} ${y}H${width - EDGE.right}` }),
        drawn("text", { x: EDGE.left - 8, y: y + 4, "text-anchor": "end" }, format(value, 6)),
      ];
    });
    const every = Math.max(1, Math.ceil(count / 10));
    for (let step = 0; step < count; step += every) {
      parts.push(drawn("text", { x: to.x(step), y: HEIGHT - 8, "text-anchor": "middle" }, String(step)));
    }
    return parts;
  }

  function lines(sides, finite, count, width) {
    const to = place(finite, count, width);
    return Object.entries(sides).flatMap(([side, values]) => {
      const has = (i) => Number.isFinite(values[i]);
      const at = (i) => `${round(to.x(i))} ${round(to.y(values[i]))}`;
      const steps = values.map((_, i) => i).filter(has);
      const path = steps.map((i) => `${has(i - 1) ? "L" : "M"}${at(i)}`).join("");
      const dots = count > 60 ? "" : steps.map((i) => `M${at(i)}h0`).join("");
      return [drawn("path", { class: side, d: path }), drawn("path", { class: "dots-" + side, d: dots })];
    });
  }

  function legend() {
    const entries = ["reference", "candidate"].map((side) => {
      const sample = drawn("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, drawn("path", { class: side, d: "M0 6H26" }));
      return element("span", {}, sample, words.say(side));
    });
    return element("figcaption", { class: "legend" }, ...entries);
  }

  function values(of, name) {
    const heading = header([words.say("filter.step"), words.say("reference"), words.say("candidate"), words.say("curve.difference")]);
    const body = element("tbody");
    for (let step = 0; step < Math.max(of.reference.length, of.candidate.length); step++) {
      const [left, right] = [of.reference[step], of.candidate[step]];
      const difference = typeof left === "number" && typeof right === "number" ? right - left : null;
      const cells = [left, right, difference].map((value, i) => element("td", { class: "number" }, format(value, i < 2 ? 7 : 3)));
      body.append(element("tr", {}, element("th", { scope: "row" }, String(step)), ...cells));
    }
    return element("details", {}, element("summary", {}, words.say("curve.values")), element("table", { "aria-label": name }, heading, body));
  }

  return { write };
})();
