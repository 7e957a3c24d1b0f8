
// ---- The list of requests

const list = byId("list"), find = byId("text"), held = byId("held");
const query = new URLSearchParams(location.search);
let open = Number(query.get("request")) || 0; // the request that is shown beside the list
let moved = 0, pointed = false; // when the pointer moved over the list last, and whether it is there
let paused = false, pressed = null; // the row under the pointer when it was pressed
let kept = null; // the newest list, which waits while the shown one holds still
let findTimer;

const rows = () => byId("rows")?.children ?? [];
const seqOf = (tr) => Number(tr.id.slice(1));
const linkOf = (tr) => tr?.querySelector("a");
const still = () => paused || pointed && Date.now() - moved < 3000;

// show lists requests. Nothing moves under a pointer that moves, or while the reader has paused.
function show(newest, anyway) {
	if (!anyway && still()) kept = newest;
	else {
		kept = null;
		morph(list, newest);
	}
	const top = rows()[0] ? seqOf(rows()[0]) : 0;
	const fresh = [...kept?.querySelectorAll("#rows > tr") ?? []].filter((tr) => seqOf(tr) > top).length;
	held.hidden = fresh === 0;
	setText(held, fresh + " new");
	const at = document.activeElement.closest("#rows tr") ?? rows()[0]; // the one stop of the tab key: the newest
	for (const tr of rows()) {
		linkOf(tr).tabIndex = tr === at ? 0 : -1;
		linkOf(tr).ariaCurrent = seqOf(tr) === open ? "true" : null;
	}
}

// release lists what waits.
const release = (anyway) => { if (kept && (anyway || !still())) show(kept, anyway); };

// address keeps what is shown in the page's address, so that it can be kept and passed on. A reader who
// opens a request comes back from it with the browser's button.
function address({ push = false, found = false } = {}) {
	for (const [name, value] of [["text", find.value.trim()], ["request", open], ["key", byId("key").value]]) {
		if (!value || name === "key" && value === "1") query.delete(name);
		else query.set(name, value);
	}
	const text = query.toString();
	history[push ? "pushState" : "replaceState"](push ? { opened: true } : history.state, "", text ? "?" + text : location.pathname);
	refresh(found ? "found" : "open");
}

function openRequest(seq, push = !open && seq > 0) {
	if (Boolean(open) !== Boolean(seq)) byId("faults-fold").open = !seq; // the request has the height of the column
	open = seq;
	address({ push });
}

function closeRequest() {
	const tr = byId("r" + open);
	if (history.state?.opened) history.back();
	else openRequest(0);
	linkOf(tr)?.focus({ preventScroll: true }); // the newest rows may be far from it
}

on(window, "popstate", () => {
	const now = new URLSearchParams(location.search);
	find.value = now.get("text") ?? "";
	openRequest(Number(now.get("request")) || 0, false);
});

// step goes to the next row, where the focus or the open request is; the open request follows.
function step(name) {
	const at = document.activeElement.closest("#rows tr") ?? byId("r" + open);
	const tr = at ? at[name === "older" ? "nextElementSibling" : "previousElementSibling"] : rows()[0];
	if (!tr) return at ? say("There is no " + name + " request in the list.") : undefined;
	linkOf(tr).focus();
	if (open) openRequest(seqOf(tr));
}

on(list, "pointermove", () => { pointed = true; moved = Date.now(); });
on(list, "pointerleave", () => { pointed = false; release(); });
on(list, "pointerdown", (e) => { pointed = true; moved = Date.now(); pressed = e.target.closest("#rows tr"); });
on(list, "click", (e) => {
	if (e.target.id === "older") return search("before:" + seqOf([...rows()].at(-1)));
	const tr = e.detail > 0 && pressed || e.target.closest("#rows tr"); // Enter on the link is a click without a press
	if (!tr || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed) return;
	e.preventDefault();
	openRequest(seqOf(tr));
});
on(held, "click", () => release(true));
on(byId("pause"), "click", ({ currentTarget }) => {
	paused = !paused;
	currentTarget.setAttribute("aria-pressed", String(paused));
	release();
});
on(byId("detail"), "click", (e) => {
	const other = e.target.closest("[data-open]"), { id } = e.target;
	if (other) { e.preventDefault(); openRequest(Number(other.dataset.open)); }
	else if (id === "close") closeRequest();
});

// ---- Finding

// search puts a word such as status:429 into what is to be found, in place of another of its name; the same
// word again takes it out.
function search(word) {
	const name = word.split(":")[0] + ":";
	const words = find.value.split(/\s+/).filter(Boolean);
	find.value = words.filter((w) => !w.startsWith(name)).concat(words.includes(word) ? [] : word).join(" ");
	address({ found: true });
}

on(document, "click", (e) => {
	const chip = e.target.closest?.("[data-find]");
	if (chip) search(chip.dataset.find);
});
on(find, "input", () => {
	clearTimeout(findTimer);
	findTimer = setTimeout(() => address({ found: true }), 250); // once the reader pauses
});
on(byId("key"), "change", () => address());

on(document, "keydown", (e) => {
	if (e.key === "Escape" && open) return closeRequest();
	if (e.target.closest("input, select, pre") || e.ctrlKey || e.metaKey || e.altKey) return;
	const inList = e.target.closest("#rows");
	const act = {
		"/": () => find.focus(), j: () => step("older"), k: () => step("newer"),
		...inList && {
			ArrowDown: () => step("older"), ArrowUp: () => step("newer"),
			Home: () => linkOf(rows()[0]).focus(), End: () => linkOf([...rows()].at(-1)).focus(),
		},
	}[e.key];
	if (!act) return;
	e.preventDefault();
	act();
});
