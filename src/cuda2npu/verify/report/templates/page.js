// Language, and the few switches outside of table and charts.

function writePage() {
  for (const labelled of document.querySelectorAll("[data-label]")) {
    labelled.setAttribute("aria-label", words.say(labelled.dataset.label));
  }
  for (const hinted of document.querySelectorAll("[data-hint]")) {
    hinted.setAttribute("placeholder", words.say(hinted.dataset.hint));
  }
  chart.write();
  curves.write();
  table.write();
}

document.getElementById("switch").addEventListener("click", () => {
  root.lang = words.language ? data.languages.en : data.languages.zh;
  writePage();
});

const onlyDifferences = document.getElementById("only-differences");
if (onlyDifferences) {
  onlyDifferences.addEventListener("change", () => {
    document.getElementById("environment").classList.toggle("only-differences", onlyDifferences.checked);
  });
}

const showFirst = document.getElementById("show-first");
if (showFirst && data.first !== null) {
  showFirst.hidden = false;
  showFirst.addEventListener("click", () => table.reveal(data.first));
}

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  chart.write();
  curves.write();
});

writePage();
