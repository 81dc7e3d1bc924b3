"use strict";
// Cells are only ever set as text; nothing of the table becomes markup or code.
const $ = id => document.getElementById(id);
const tab = Math.random().toString(36).slice(2);
const shown = [];   // rows this tab has shown, for going back
let current = null, busy = false;

async function ask(path, options) {
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error || response.statusText);
  return content;
}

function load(row) {
  const wanted = row === undefined ? "" : `&row=${row}`;
  return work(() => ask(`state?tab=${tab}${wanted}`));
}

function send(answer) {
  if (current === null) return;
  const row = current;
  work(() => ask("answer", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ row, answer, tab }),
  }), () => shown.push(row));
}

async function work(request, then = () => {}) {
  if (busy) return;
  busy = true;
  try {
    const state = await request();
    then();
    $("problem").hidden = true;
    show(state);
  } catch (error) {
    const gone = error instanceof TypeError;
    $("problem").textContent = gone
      ? "Not saved: the command that serves this page has stopped. Start it again, and open its new address."
      : `Not saved: ${error.message}`;
    $("problem").hidden = false;
  }
  busy = false;
}

function show(state) {
  current = state.row === null ? null : state.row.row;
  $("source").textContent = state.source;
  $("row").hidden = current === null;
  $("done").hidden = current !== null;
  $("again").disabled = $("back").disabled = shown.length === 0;
  if (current !== null) {
    $("question").textContent = state.question;
    $("name").textContent = state.row.name;
    $("given").hidden = state.answer === null;
    $("given").textContent = `answered: ${state.answer}`;
    fill($("first"), state.row.first);
    fill($("folded"), state.row.folded);
    $("more").hidden = state.row.folded.length === 0;
    $("more-title").textContent = state.row.folded.length === 1
      ? "1 more column" : `${state.row.folded.length} more columns`;
  }
  summary(state);
}

function fill(list, cells) {
  list.replaceChildren(...cells.flatMap(([name, value]) => {
    const term = document.createElement("dt"), cell = document.createElement("dd");
    term.textContent = name;
    cell.textContent = value;
    return [term, cell];
  }));
}

const percent = share => `${(100 * share).toFixed(1)} %`;

function summary(state) {
  const { done, total, counts, history, needed } = state;
  $("meter").firstElementChild.style.width = `${100 * done / total}%`;
  $("meter").setAttribute("aria-valuemax", total);
  $("meter").setAttribute("aria-valuenow", done);
  $("progress").textContent =
    `${done} of ${total} checked: ${counts.yes} yes, ${counts.no} no, ${counts.unsure} unsure`;
  const last = history[history.length - 1];
  if (last) {
    $("share").textContent = percent(last.class_prior);
    $("range").textContent =
      `between ${percent(last.low)} and ${percent(last.high)}, with 95 % confidence whatever the model, ` +
      `based on ${state.known} checked rows`;
    $("needed").textContent = last.high - last.low <= 0.05
      ? "The range is under 5 points."
      : `About ${needed} checked rows in all would bring the range under 5 points.`;
    draw(history);
  }
}

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw(history) {
  const chart = $("chart"), width = chart.parentElement.clientWidth - 40, height = 160;
  const left = 44, bottom = 24, last = history.length - 1;
  const low = Math.min(...history.map(h => h.low)), high = Math.max(...history.map(h => h.high));
  const x = i => left + (width - left - 4) * (last ? i / last : 1);
  const y = v => 6 + (height - bottom - 6) * (1 - (v - low) / Math.max(high - low, 1e-9));
  const path = key => history.map((h, i) => `${x(i).toFixed(1)},${y(h[key]).toFixed(1)}`);
  const parts = [element("title", { id: "chart-title" },
    `The range after each answer: at last ${percent(history[last].low)} to ${percent(history[last].high)}`)];
  for (const value of [low, (low + high) / 2, high]) {
    parts.push(element("line", { class: "axis", x1: left, x2: width, y1: y(value), y2: y(value) }));
    parts.push(element("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" },
      `${Math.round(100 * value)} %`));
  }
  parts.push(element("polygon", { class: "band", points: [...path("high"), ...path("low").reverse()].join(" ") }));
  parts.push(element("polyline", { class: "line", points: path("class_prior").join(" ") }));
  parts.push(element("text", { x: left, y: height - 4 }, `${history[0].n} checked`));
  if (last) parts.push(element("text", { x: width, y: height - 4, "text-anchor": "end" }, `${history[last].n}`));
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.replaceChildren(...parts);
  chart.removeAttribute("hidden");
}

function back() {
  if (shown.length) load(shown.pop());
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const answer = { y: "yes", n: "no", u: "unsure" }[event.key.toLowerCase()];
  if (answer) send(answer);
  if (event.key.toLowerCase() === "b") back();
});
for (const button of document.querySelectorAll("[data-answer]"))
  button.addEventListener("click", () => send(button.dataset.answer));
$("back").addEventListener("click", back);
$("again").addEventListener("click", back);
// Another tab may answer: look now and then.
setInterval(() => { if (!busy && !document.hidden) ask(`state?tab=${tab}&row=${current ?? ""}`).then(summary, () => {}); }, 3000);
load();
