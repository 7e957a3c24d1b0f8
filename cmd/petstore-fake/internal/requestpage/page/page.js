"use strict";
// The script of the request page. What a request brought along goes into the page as text, by
// textContent, and never as markup; the page's policy refuses anything else.

const maxRows = 200; // as many as the program sends
const maxDetail = 65536; // bytes of a body
const byId = (id) => document.getElementById(id);

document.documentElement.classList.add("script");

// ---- Elements

// make returns an element with properties, attributes and children.
function make(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in e) e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

// draw returns an SVG element.
function draw(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// drop removes an element. The focus, if it was in there, goes to the neighbour.
function drop(e) {
  const focused = e.contains(document.activeElement);
  const heir = e.nextElementSibling ?? e.previousElementSibling ?? e.closest("section");
  e.remove();
  if (focused) heir?.querySelector("button, a")?.focus();
}

// match makes the children of a parent those of a list, and keeps the ones that are there, with
// the focus that may be in them.
function match(parent, list, idOf, create, update) {
  const ids = new Set(list.map((item) => String(idOf(item))));
  for (const e of [...parent.children]) if (!ids.has(e.dataset.id)) drop(e);
  const old = new Map([...parent.children].map((e) => [e.dataset.id, e]));
  let at = parent.firstElementChild;
  for (const item of list) {
    const id = String(idOf(item));
    let e = old.get(id);
    if (!e) {
      e = create(item);
      e.dataset.id = id;
    }
    update(e, item);
    if (e === at) at = at.nextElementSibling;
    else parent.insertBefore(e, at);
  }
}

// ---- Requests to the program

let messageTimer;

// say tells the reader something, on top of an open request, which would cover it.
function say(text, wrong = false) {
  for (const e of document.querySelectorAll(".message")) e.textContent = "";
  const e = byId(dialog.open ? "detail-message" : "message");
  e.textContent = text;
  e.classList.toggle("wrong", wrong);
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => { e.textContent = ""; }, wrong ? 10000 : 4000);
}

// ask calls an admin route. body is JSON text.
async function ask(method, path, body) {
  const init = { method, headers: { "Content-Type": "application/json" } };
  if (body !== undefined) init.body = body;
  const answer = await fetch("/_fake/" + path, init).catch(() => { throw new Error("The program does not answer."); });
  const text = await answer.text();
  if (answer.ok) return text ? JSON.parse(text) : null;
  let reason = "the program answered with status " + answer.status;
  try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
  throw new Error(reason);
}

// act does what a button is for, and says so.
async function act(done, method, path, body) {
  try {
    await ask(method, path, body);
    say(done);
    return true;
  } catch (e) {
    say(e.message, true);
    return false;
  }
}

async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(from); // without a clipboard, as over plain http in a network
    say("Selected; copy it with the keyboard.");
  }
}

// ---- Time and numbers

let clockOffset = 0; // the service's clock minus the browser's, in milliseconds

const now = () => Date.now() + clockOffset;
const timeOf = (iso) => new Date(iso).toISOString().slice(11, 23);
const count = (n) => n.toLocaleString("en");

function took(ms) {
  if (ms < 0.9995) return (ms * 1000).toFixed(0) + " µs";
  if (ms < 9.95) return ms.toFixed(1) + " ms";
  if (ms < 999.5) return ms.toFixed(0) + " ms";
  return (ms / 1000).toFixed(2) + " s";
}

// span writes the time until a moment.
function span(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  if (s < 3600) return Math.floor(s / 60) + ":" + two(s % 60);
  return Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

// ---- The list of requests

const rows = byId("rows");

function statusOf(r) {
  if (r.pending) return ["open", "open"];
  if (r.status === 0) return ["none", "lost"];
  const kind = r.status === 429 ? "limited" : r.status >= 500 ? "failed" : r.status >= 400 ? "refused" : "fine";
  return [String(r.status), kind];
}

function keyText(r) {
  if (r.keyId === 0) return r.key === "none" ? "no key" : "unknown key";
  return r.key === "fake-api-key" ? r.key : r.key + " #" + r.keyId;
}

function createRow(r) {
  const cell = (kind, ...children) => make("td", { className: kind, role: "cell" }, ...children);
  return make("tr", { id: "r" + r.seq, role: "row" },
    cell("time"),
    cell("op", make("a", { href: "?request=" + r.seq, tabIndex: -1 }), " ", make("span", { className: "path" })),
    cell("sender"), cell("status", make("b")), cell("took"), cell("hint"));
}

function updateRow(tr, r) {
  const [text, kind] = statusOf(r);
  setText(tr.querySelector(".time"), timeOf(r.time));
  setText(tr.querySelector("a"), r.operation || "none");
  setText(tr.querySelector(".path"), r.method + " " + r.path);
  setText(tr.querySelector(".sender"), keyText(r));
  const badge = tr.querySelector("b");
  badge.className = kind;
  setText(badge, text);
  setText(tr.querySelector(".took"), r.pending ? "" : took(r.durationMs));
  tr.querySelector(".hint").replaceChildren(...why(r));
}

// why tells of a fault, the section of the service document, and the hint.
function why(r) {
  const [, before, sections, after] = /^(.*) \((sections? [\d., and]+)\)(.*)$/s.exec(r.hint) ?? [null, r.hint, "", ""];
  const parts = [];
  if (r.fault) parts.push(make("i", { className: "fault" }, "fault"), " ");
  if (sections) parts.push(make("i", {}, sections), " ");
  parts.push(make("span", { title: r.hint }, before + after));
  return parts;
}

// showRows takes what an event says about requests, oldest first.
function showRows(event) {
  const kept = new Set(event.rows.map((r) => "r" + r.seq));
  if (event.fresh) for (const tr of [...rows.children]) if (!kept.has(tr.id)) drop(tr);
  for (const seq of event.gone) if (byId("r" + seq)) drop(byId("r" + seq));
  for (const r of event.rows) {
    let tr = byId("r" + r.seq);
    if (!tr) {
      tr = createRow(r);
      if (!event.fresh) tr.classList.add("new");
      // Late ones stand where they belong.
      let before = rows.firstElementChild;
      while (before && Number(before.id.slice(1)) > r.seq) before = before.nextElementSibling;
      rows.insertBefore(tr, before);
    }
    updateRow(tr, r);
  }
  while (rows.childElementCount > maxRows) drop(rows.lastElementChild);
  rove();
  showCount(rows.childElementCount);
}

function showCount(n) {
  const filtered = [...new FormData(byId("filters")).values()].some(Boolean);
  const none = filtered ? "No request that fits." : "No request yet. Send one to " + byId("base").textContent + ", and it stands here.";
  const some = (n === 1 ? "1 request" : n + " requests") + (filtered ? (n === 1 ? " that fits." : " that fit.") : ".");
  setText(byId("shown"), n === 0 ? none : n < maxRows ? some : "The newest " + n + (filtered ? " that fit" : "") + "; the archive has all.");
}

// rove leaves one link of the list to the tab key; the arrow keys go from one to the next.
function rove(to) {
  const reached = to ?? rows.querySelector('a[tabindex="0"]') ?? rows.querySelector("a");
  for (const a of rows.querySelectorAll('a[tabindex="0"]')) if (a !== reached) a.tabIndex = -1;
  if (reached) reached.tabIndex = 0;
}

rows.addEventListener("keydown", (e) => {
  const tr = e.target.closest("tr");
  const to = {
    ArrowDown: tr?.nextElementSibling, ArrowUp: tr?.previousElementSibling,
    Home: rows.firstElementChild, End: rows.lastElementChild,
  }[e.key];
  if (!to) return;
  e.preventDefault();
  const link = to.querySelector("a");
  rove(link);
  link.focus();
});

rows.addEventListener("click", (e) => {
  const tr = e.target.closest("tr");
  if (!tr || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed) return;
  e.preventDefault();
  openRequest(Number(tr.id.slice(1)));
});

// ---- One request

const dialog = byId("detail");
let shownSeq = 0, shownOpen = false; // the request that is shown or asked for, and whether it is still without an answer

// indent lays a JSON text out over lines without reading its numbers, which may be longer than
// JavaScript's.
function indent(text) {
  try { JSON.parse(text); } catch { return text; }
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  return text.trim().replace(/"(?:[^"\\]|\\.)*"|\s+|[[{]\s*[\]}]|[[\]{},:]/g, (token) => {
    if (token[0] === '"') return token;
    if (/^\s/.test(token)) return "";
    if (token.length > 1) return token[0] + token.at(-1);
    if (token === "[" || token === "{") { depth++; return token + line(); }
    if (token === "]" || token === "}") { depth--; return line() + token; }
    return token === "," ? token + line() : ": ";
  });
}

function headerList(header) {
  const list = make("dl");
  for (const name of Object.keys(header ?? {}).sort()) {
    for (const value of header[name]) list.append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }
  return list;
}

function bodyOf(seq, text, binary, size) {
  if (size === 0) return make("p", { className: "dim" }, "No body.");
  const raw = binary ? binary : text;
  const box = make("div", { className: "body" });
  const pre = make("pre", { tabIndex: 0 }, binary ? raw : size <= maxDetail ? indent(raw) : raw);
  const about = binary ? count(size) + " bytes, as base64" : count(size) + (size === 1 ? " byte" : " bytes");
  box.append(make("p", { className: "dim" }, about, " ",
    make("button", { type: "button", className: "quiet", onclick: () => copy(raw, pre) }, size > maxDetail ? "Copy this part" : "Copy")), pre);
  if (size > maxDetail) {
    box.append(make("p", {}, "The first " + count(maxDetail) + " bytes are shown. ",
      make("a", { href: "/_fake/requests/" + seq, target: "_blank", rel: "noopener" }, "The whole as JSON")));
  }
  return box;
}

function showDetail(d) {
  shownOpen = d.status === 0 && d.hint === "";
  const [text, kind] = statusOf({ ...d, pending: shownOpen });
  const curl = make("pre", { tabIndex: 0 }, d.curl);
  setText(byId("detail-title"), "Request " + d.seq);
  byId("detail-body").replaceChildren(
    make("p", { className: "what" }, make("b", { className: kind }, text), " ",
      make("code", {}, d.method + " " + d.path)),
    make("p", { className: "dim" }, [
      d.operation || "no operation", (d.keyId ? "key " : "") + keyText(d), timeOf(d.time) + " UTC",
      ...shownOpen ? [] : [took(d.durationMs)],
    ].join(" · ")),
    make("p", { className: "why" }, ...why(d)),
    make("h3", {}, "Request"), headerList(d.header), bodyOf(d.seq, d.body, d.bodyBase64, d.bodySize),
    make("h3", {}, "Answer"), headerList(d.answerHeader), bodyOf(d.seq, d.answer, d.answerBase64, d.answerSize),
    make("h3", {}, "As curl ", make("button", { type: "button", id: "copy-curl", onclick: () => copy(d.curl, curl) }, "Copy as curl")),
    curl,
  );
}

// address keeps what is shown in the page's address, so that it can be kept and passed on.
function address(change) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  history.replaceState(null, "", text ? "?" + text : location.pathname);
}

async function openRequest(seq) {
  const before = shownSeq, wasOpen = dialog.open;
  shownSeq = seq;
  try {
    const detail = await ask("GET", "requests/" + seq + "?bytes=" + maxDetail);
    if (shownSeq !== seq || wasOpen && !dialog.open) return; // the reader has gone on, or closed it
    showDetail(detail);
  } catch (e) {
    if (shownSeq === seq) shownSeq = before;
    say(e.message, true);
    return;
  }
  if (!dialog.open) dialog.showModal();
  if (seq !== before) dialog.scrollTop = 0;
  address({ request: seq });
}

// step goes to the next request of the list, an older one for 1.
function step(by) {
  const tr = byId("r" + shownSeq);
  const to = tr ? (by > 0 ? tr.nextElementSibling : tr.previousElementSibling) : rows.firstElementChild;
  if (to) openRequest(Number(to.id.slice(1)));
  else say("The list has no " + (by > 0 ? "older" : "newer") + " request.");
}

byId("older").addEventListener("click", () => step(1));
byId("newer").addEventListener("click", () => step(-1));
byId("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => {
  address({ request: "" });
  const link = byId("r" + shownSeq)?.querySelector("a");
  shownSeq = 0;
  if (link) { rove(link); link.focus(); }
});
dialog.addEventListener("keydown", (e) => {
  if (e.target.closest("pre") || (e.key !== "ArrowDown" && e.key !== "ArrowUp")) return;
  e.preventDefault();
  step(e.key === "ArrowDown" ? 1 : -1);
});

// ---- The windows of a key

let keys = { total: 0, list: [] };
let gaugeTimer;

const chosenKey = () => keys.list.find((k) => String(k.id) === byId("key").value) ?? keys.list[0];

function showKeys(part) {
  keys = part;
  const name = (k) => keyText({ keyId: k.id, key: k.key }) + (k.revoked ? " (revoked)" : "");
  const option = (k) => make("option", { value: k.id });
  match(byId("key"), keys.list, (k) => k.id, option, (e, k) => setText(e, name(k)));
  // Nothing is replaced, since that would close the list under the reader's hand.
  const filter = document.querySelector('#filters [name="key"]');
  const old = new Map([...filter.options].map((o) => [o.value, o]));
  for (const k of keys.list) {
    const o = old.get(String(k.id)) ?? option(k);
    if (!o.parentElement) old.get("none").before(o);
    setText(o, name(k));
  }
  showKey();
}

function showKey() {
  const k = chosenKey();
  if (!k) return;
  setText(byId("plan"), "plan " + k.plan + (k.limited ? " · " + count(k.limited) + " × 429" : ""));
  gauge(byId("gauge-minute"), "Minute", k.minute);
  gauge(byId("gauge-day"), "Day", k.day);
  const banned = k.bannedUntil ? Date.parse(k.bannedUntil) - now() : 0;
  setText(byId("ban"), banned > 0 ? "Banned for another " + span(banned) + "." : "");
  byId("ban-lift").disabled = banned <= 0;
}

// gauge draws how much of a window is left.
function gauge(e, label, w) {
  if (!e.firstElementChild) {
    const arc = "M 8 58 A 50 50 0 0 1 108 58";
    e.append(draw("svg", { viewBox: "0 0 116 62", "aria-hidden": "true" },
      draw("path", { d: arc, class: "track" }), draw("path", { d: arc, class: "level", pathLength: 100 })),
    make("strong"), make("span", { className: "of" }), make("span", { className: "dim reset" }));
    e.setAttribute("role", "meter");
    e.setAttribute("aria-label", label + ", requests remaining");
    e.setAttribute("aria-valuemin", "0");
  }
  const left = Date.parse(w.reset) - now();
  const share = w.limit === null ? 1 : w.remaining / w.limit;
  e.querySelector(".level").setAttribute("stroke-dasharray", (share * 100).toFixed(2) + " 100");
  e.className = "gauge " + (share <= 0 ? "empty" : share <= 0.25 ? "low" : "");
  setText(e.querySelector("strong"), w.limit === null ? "∞" : count(w.remaining));
  setText(e.querySelector(".of"), w.limit === null ? label + ": no limit" : "of " + count(w.limit) + " a " + label.toLowerCase());
  setText(e.querySelector(".reset"), w.used ? "resets in " + span(left) : "unused");
  e.setAttribute("aria-valuemax", w.limit ?? 1);
  e.setAttribute("aria-valuenow", w.limit === null ? 1 : w.remaining);
  e.setAttribute("aria-valuetext", e.querySelector("strong").textContent + " " + e.querySelector(".of").textContent);
  // A window that has ended says so only when it is asked.
  if (w.used && left < 0 && !gaugeTimer) gaugeTimer = setTimeout(refreshKeys, 250);
}

async function refreshKeys() {
  try {
    const fresh = await ask("GET", "keys/" + chosenKey().id);
    showKeys({ total: keys.total, list: keys.list.map((k) => k.id === fresh.id ? fresh : k) });
  } catch { /* the stream tells when the program is back */ }
  gaugeTimer = undefined;
}

byId("key").addEventListener("change", showKey);

// ---- The plot

let traffic = { slotSeconds: 5, slotCount: 60, slots: [], waits: [] };

function showTraffic() {
  const width = 300, height = 100, seconds = traffic.slotSeconds * traffic.slotCount;
  const end = (Math.floor(now() / 1000 / traffic.slotSeconds) + 1) * traffic.slotSeconds;
  const x = (unix) => Math.min(Math.max((unix - end + seconds) / seconds, 0), 1) * width;
  const slots = traffic.slots.filter((s) => s.start > end - seconds);
  const peak = Math.max(1, ...slots.map((s) => s.requests));
  const bar = width / traffic.slotCount;
  const shapes = [];
  let waited = 0;
  for (const w of traffic.waits) {
    const from = Date.parse(w.from) / 1000, until = Math.min(Date.parse(w.until) / 1000, now() / 1000);
    if (until <= end - seconds || until <= from) continue;
    waited += until - Math.max(from, end - seconds);
    shapes.push(draw("rect", { class: "wait", x: x(from), y: 0, width: x(until) - x(from), height }));
  }
  let all = 0, limited = 0;
  for (const s of slots) {
    all += s.requests;
    limited += s.limited;
    const h = (s.requests / peak) * (height - 2), l = (s.limited / peak) * (height - 2);
    shapes.push(draw("rect", { class: "fine", x: x(s.start) + bar * 0.1, y: height - h, width: bar * 0.8, height: h - l }));
    if (l) shapes.push(draw("rect", { class: "limited", x: x(s.start) + bar * 0.1, y: height - l, width: bar * 0.8, height: l }));
  }
  byId("graph").replaceChildren(...shapes);
  setText(byId("peak"), slots.length ? "at most " + count(peak) + " in " + traffic.slotSeconds + " s" : "nothing came");
  const parts = [count(all) + (all === 1 ? " request" : " requests"), count(limited) + " × 429", count(Math.ceil(waited)) + " s told to wait"];
  byId("graph").setAttribute("aria-label", "Last 5 minutes: " + parts.join(", "));
  match(byId("legend"), ["fine", "limited", "wait"], (kind) => kind,
    (kind) => make("span", { className: kind }), (e, kind) => setText(e, parts[["fine", "limited", "wait"].indexOf(kind)]));
}

// ---- Faults, pets, the clock

function showFaults(part) {
  const words = (f) => f.text + (f.active ? "" : ", done");
  match(byId("faults"), part.list, (f) => f.id, (f) => make("li", {}, make("span", { className: "clamp", title: f.text }), make("b"),
    make("button", { type: "button", className: "quiet", ariaLabel: "Remove: " + f.text,
      onclick: () => act("Removed.", "DELETE", "faults/" + f.id) }, "Remove")),
  (e, f) => {
    e.classList.toggle("done", !f.active);
    setText(e.firstElementChild, words(f));
    setText(e.children[1], "struck " + count(f.fired));
  });
  byId("faults-clear").hidden = part.total === 0;
}

function showPets(part) {
  setText(byId("pets-total"), part.total > part.list.length ?
    "the last " + part.list.length + " of " + count(part.total) : count(part.total));
  byId("no-pets").hidden = part.total > 0;
  match(byId("pets"), part.list, (p) => p.id, (p) => {
    const status = make("select", { ariaLabel: "Status of " + p.name + ", id " + p.id });
    for (const s of ["", "available", "pending", "sold"]) status.append(make("option", { value: s }, s || "none"));
    status.addEventListener("change", () => act("Changed.", "PUT", "pets/" + p.id + "/status", JSON.stringify({ status: status.value })));
    return make("tr", {}, make("td", {}, p.id), make("td", {}, make("span", { className: "clamp", title: p.name }, p.name)), make("td", {}, p.categoryId),
      make("td", {}, status), make("td", {}, make("button", { type: "button", className: "quiet",
        title: "Delete", ariaLabel: "Delete " + p.name + ", id " + p.id,
        onclick: () => act("Deleted.", "DELETE", "pets/" + p.id) }, "✕")));
  }, (e, p) => {
    const status = e.querySelector("select");
    if (![...status.options].some((o) => o.value === p.status)) status.append(make("option", {}, p.status));
    if (status.value !== p.status) status.value = p.status;
  });
}

byId("add-pet").addEventListener("submit", async (e) => {
  e.preventDefault();
  const fields = ['"name":' + JSON.stringify(byId("pet-name").value), '"categoryId":' + byId("pet-category").value];
  const status = byId("pet-status").value;
  if (status) fields.push('"status":' + JSON.stringify(status));
  // Written by hand: a category is a 64-bit integer, which a number of JavaScript's may not hold.
  if (await act("Added.", "POST", "pets", "{" + fields.join(",") + "}")) byId("pet-name").value = "";
});

// inject makes a fault strike the next request of the chosen operation. done gets the name of that.
function inject(fault, done) {
  const operation = byId("fault-operation").value;
  return act(done("next " + (operation || "request")), "POST", "faults", JSON.stringify(operation ? { ...fault, operation } : fault));
}

// given returns the number in a field as text, "" after the browser has told what is wrong with it.
const given = (id) => byId(id).reportValidity() ? String(byId(id).valueAsNumber) : "";
const click = (id, f) => byId(id).addEventListener("click", f);
const ban = () => "keys/" + chosenKey().id + "/ban";

click("fault-503", () => inject({ status: 503 }, (next) => "The " + next + " gets 503."));
click("fault-429", () => {
  const retryAfter = given("retry-after");
  if (retryAfter) inject({ status: 429, retryAfter }, (next) => "The " + next + " gets 429.");
});
click("fault-reset", () => inject({ wire: "reset" }, (next) => "The connection of the " + next + " is reset."));
click("faults-clear", () => act("There are no faults.", "DELETE", "faults"));
click("latency", () => {
  const ms = given("latency-ms");
  if (ms) act("Every answer takes " + ms + " ms more.", "PUT", "latency", JSON.stringify({ latency: ms + "ms" }));
});
click("latency-off", () => act("No latency.", "PUT", "latency", '{"latency":"0s"}'));
click("ban-key", () => {
  const seconds = given("ban-seconds");
  if (seconds) act("The key is banned.", "PUT", ban(), JSON.stringify({ duration: seconds + "s" }));
});
click("ban-lift", () => act("The ban is lifted.", "DELETE", ban()));
click("reset", () => act("Everything is as at the start.", "POST", "reset"));
click("clear", () => act("The journal is empty.", "DELETE", "requests"));
click("copy-base", () => copy(byId("base").textContent, byId("base")));
for (const b of document.querySelectorAll("[data-advance]")) {
  b.addEventListener("click", () => act("The clock went forward.", "POST", "clock", JSON.stringify({ advance: b.dataset.advance })));
}

function tick() {
  if (document.hidden) return;
  const t = new Date(now());
  setText(byId("clock"), t.toISOString().slice(0, 19).replace("T", " "));
  byId("clock").dateTime = t.toISOString();
  showKey();
  showTraffic();
}

// ---- The stream of events

let stream, lastEventId = "", retryTimer;

function live(state) {
  byId("live").dataset.state = state;
  setText(byId("live"), state);
}

const show = {
  clock: (ahead) => setText(byId("ahead"), ahead === "0s" ? "" : "+" + ahead.replace(/(?<=[hm])0[ms]/g, "")),
  latency: (d) => { setText(byId("latency"), d === "0s" ? "Latency" : "Latency: " + d); byId("latency-off").disabled = d === "0s"; },
  keys: showKeys, faults: showFaults, pets: showPets,
  traffic: (part) => { traffic = part; },
};

function take(event) {
  clockOffset = Date.parse(event.now) - Date.now();
  for (const [name, part] of Object.entries(event.state)) show[name]?.(part);
  showRows(event);
  if (dialog.open && shownOpen && event.rows.some((r) => r.seq === shownSeq && !r.pending)) openRequest(shownSeq);
  tick();
}

// listen follows the program. The filters are the program's to apply: it knows more requests than
// the page shows.
function listen(fresh) {
  clearTimeout(retryTimer);
  stream?.close();
  const query = new URLSearchParams(new FormData(byId("filters")));
  if (!fresh && lastEventId) query.set("lastEventId", lastEventId);
  live("connecting");
  stream = new EventSource("/_fake/events?" + query);
  stream.onopen = () => live("live");
  stream.onmessage = (message) => {
    lastEventId = message.lastEventId;
    take(JSON.parse(message.data));
  };
  stream.onerror = () => {
    live("connecting");
    if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(listen, 2000);
  };
}

byId("filters").addEventListener("change", () => {
  address(Object.fromEntries(new FormData(byId("filters"))));
  listen(true);
});
byId("filters").addEventListener("submit", (e) => e.preventDefault());

// A page that nobody looks at takes none of the few connections that a browser has for a host.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen(false);
  clearTimeout(retryTimer);
  stream?.close();
  live("paused");
});

for (const a of rows.querySelectorAll("a")) a.tabIndex = -1;
rove();
if (!document.hidden) listen(true);
setInterval(tick, 1000);
const asked = Number(new URLSearchParams(location.search).get("request"));
if (asked > 0) openRequest(asked);
