"use strict";
// Cells are only ever set as text; nothing of the table becomes markup or code.
const $ = id => document.getElementById(id);
const shown = [];   // rows this tab has shown, for going back
let current = null, busy = false;

async function ask(path, options) {
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error || response.statusText);
  return content;
}

function load(row) {
  return work(() => ask(row === undefined ? "state" : `state?row=${row}`));
}

function send(answer) {
  if (current === null) return;
  const row = current;
  work(() => ask("answer", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ row, answer }),
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
  const { done, total, counts, low, high, needed } = state;
  $("meter").firstElementChild.style.width = `${100 * done / total}%`;
  $("meter").setAttribute("aria-valuemax", total);
  $("meter").setAttribute("aria-valuenow", done);
  $("progress").textContent =
    `${done} of ${total} checked: ${counts.yes} yes, ${counts.no} no, ${counts.unsure} unsure`;
  if (low !== null) {
    $("share").textContent = percent(state.class_prior);
    $("range").textContent =
      `between ${percent(low)} and ${percent(high)}, with 95 % confidence whatever the model, ` +
      `based on ${state.known} checked rows`;
    $("needed").textContent = high - low <= 0.05
      ? "The range is under 5 points."
      : `About ${needed} checked rows in all would bring the range under 5 points.`;
  }
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
setInterval(() => { if (!busy && !document.hidden) ask(`state?row=${current ?? ""}`).then(summary, () => {}); }, 3000);
load();
