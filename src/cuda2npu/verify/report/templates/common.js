"use strict";
// What the other files use: data, words, numbers, elements. Text from the data enters through textContent alone.

const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";

const words = {
  get language() { return root.lang === "en" ? 0 : 1; },
  say(key, values = {}) {
    const text = data.words[key] ? data.words[key][this.language] : key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
  },
};

function element(name, options = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, options, children);
}

function drawn(name, options = {}, ...children) {
  return filled(document.createElementNS(SVG, name), options, children);
}

function filled(made, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === false || value === undefined || value === null) continue;
    made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) made.append(typeof child === "string" ? document.createTextNode(child) : child);
  return made;
}

// JSON has neither infinity nor nan: both come as words.
function toNumber(value) {
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return value === undefined || value === null ? null : NaN;
}

function format(value, digits = 4) {
  if (value === undefined || value === null) return "";
  if (typeof value !== "number") return typeof value === "string" ? value : JSON.stringify(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e6 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
}

// Near 1 it is the distance that counts.
function formatNearOne(value) {
  const near = typeof value === "number" && value !== 1 && Math.abs(value - 1) < 1e-3;
  return near ? String(Number(value.toFixed(Math.min(12, 1 - Math.floor(Math.log10(Math.abs(value - 1))))))) : format(value, 5);
}

function metric(row, name, of = "metrics") {
  return row[of] ? row[of][data.metrics.indexOf(name)] : null;
}

// What the chart shows of a record: the relative norm; |norm ratio - 1| where there are only statistics.
function errorOf(row, of = "metrics") {
  const relative = toNumber(metric(row, "relative_norm", of));
  if (relative !== null) return relative;
  const ratio = toNumber(metric(row, "norm_ratio", of));
  return ratio === null ? null : Math.abs(ratio - 1);
}

function titleOf(row) {
  const call = row.call ? ` · ${words.say("call", { call: row.call + 1 })}` : "";
  return `${row.name || words.say("kind." + row.kind)}${row.path ? ` [${row.path}]` : ""}${call}`;
}
