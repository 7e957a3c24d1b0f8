
// ---- The list of requests

const maxRows = 200; // as many as the program sends
const rows = byId("rows");
const seqOf = (tr) => Number(tr.id.slice(1));
let pointed = false; // whether the pointer is on the list, which then holds still
let pressed = null; // the row under the pointer when it was pressed
const waiting = new Map(); // rows that are not listed yet, by their ids

// showRows lists what an event has. Nothing moves under the pointer: new rows wait until it leaves.
function showRows({ fresh, rows: list, gone }, asked) {
	if (fresh && (asked || !pointed)) {
		waiting.clear();
		const kept = new Set(list.map(({ seq }) => "r" + seq));
		for (const tr of [...rows.children]) if (!kept.has(tr.id)) drop(tr);
	}
	const missing = [];
	for (const tr of [...parse(list.map(({ html }) => html).join("")).children]) {
		const here = byId(tr.id);
		if (here) morph(here, tr);
		else missing.push(tr);
	}
	for (const tr of missing) waiting.set(tr.id, tr);
	for (const seq of gone) waiting.delete("r" + seq) || byId("r" + seq)?.setAttribute("data-gone", "");
	if (asked || !pointed) release();
	while (waiting.size > maxRows) waiting.delete(waiting.keys().next().value);
	byId("held").hidden = waiting.size === 0;
	setText(byId("held"), waiting.size + " new");
}

// release lists the rows that wait.
function release() {
	for (const tr of waiting.values()) {
		// Late ones stand where they belong.
		let before = rows.firstElementChild;
		while (before && seqOf(before) > seqOf(tr)) before = before.nextElementSibling;
		rows.insertBefore(tr, before);
	}
	waiting.clear();
	for (const tr of rows.querySelectorAll("[data-gone]")) drop(tr);
	while (rows.childElementCount > maxRows) drop(rows.lastElementChild);
	byId("held").hidden = true;
	arrange();
}

// arrange does what depends on the rows around a row: the day where it changes, the sentence once for a run
// of refusals, a bracket for tries that follow each other. One key needs no column.
function arrange() {
	const senders = new Set(), told = new Set();
	let before;
	for (const tr of rows.children) {
		const { day, call, sender } = tr.dataset, sentence = tr.lastElementChild.textContent;
		const joins = call !== "0" && call === before?.dataset.call;
		if (!sentence) told.clear();
		tr.classList.toggle("newday", before !== undefined && day !== before.dataset.day);
		tr.classList.toggle("told", sentence !== "" && !told.has(sentence));
		tr.classList.toggle("later", joins);
		before?.classList.toggle("earlier", joins);
		told.add(sentence);
		senders.add(sender);
		before = tr;
	}
	before?.classList.remove("earlier");
	byId("requests").classList.toggle("one", senders.size < 2);
	mark();
	rove();
}

// mark shows which row is open.
function mark() {
	for (const a of rows.querySelectorAll("[aria-current]")) a.removeAttribute("aria-current");
	byId("r" + shown.seq)?.querySelector("a").setAttribute("aria-current", "true");
}

// rove leaves one link of the list to the tab key; the arrow keys go from one to the next.
function rove(to) {
	const reached = to ?? rows.querySelector('a[tabindex="0"]') ?? rows.querySelector("a");
	for (const a of rows.querySelectorAll("a")) a.tabIndex = a === reached ? 0 : -1;
}

// walk moves the focus to a row. The open request follows where it stands beside the list.
function walk(tr) {
	const link = tr?.querySelector("a");
	if (!link) return;
	rove(link);
	link.focus();
	if (dialog.open) openRequest(seqOf(tr));
}

on(rows, "keydown", (e) => {
	const tr = e.target.closest("tr");
	const to = {
		ArrowDown: tr?.nextElementSibling, ArrowUp: tr?.previousElementSibling,
		Home: rows.firstElementChild, End: rows.lastElementChild,
	}[e.key];
	if (!to) return;
	e.preventDefault();
	walk(to);
});

on(rows, "pointerenter", () => { pointed = true; });
on(rows, "pointerleave", () => {
	pointed = false;
	release();
});
on(rows, "pointerdown", (e) => {
	pointed = true;
	pressed = e.target.closest("tr");
});
on(rows, "click", (e) => {
	const tr = e.detail > 0 && pressed || e.target.closest("tr"); // Enter on the link is a click without a press
	if (!tr || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed) return;
	e.preventDefault();
	openRequest(seqOf(tr));
});
