
// ---- The list of requests

const maxRows = 200; // as many as the program sends
const rows = byId("rows");
const guess = "A guess: the same key sent the same again within 2 minutes of a 429, a 5xx or no whole response";

function createRow(r) {
	const cell = (kind, ...children) => make("td", { className: kind, role: "cell" }, ...children);
	return make("tr", { id: "r" + r.seq, role: "row" },
		cell("time"), cell("since"),
		cell("op", make("a", { href: "?request=" + r.seq, tabIndex: -1 }), " ", make("span", { className: "path" })),
		cell("sender"), cell("status", make("b")), cell("took"), cell("hint"));
}

function updateRow(tr, r) {
	tr.row = r;
	tr.className = r.tries ? "tried" + (r.try === 1 ? " first" : "") + (r.try === r.tries ? " last" : "") : "";
	markShown(tr);
	setText(tr.querySelector(".since"), r.since ?? "");
	setText(tr.querySelector("a"), r.operation || "none");
	setText(tr.querySelector(".path"), r.method + " " + r.path);
	setText(tr.querySelector(".sender"), r.sender);
	const badge = tr.querySelector("b");
	badge.className = r.kind;
	setText(badge, r.status);
	setText(tr.querySelector(".took"), r.took ?? "");
	tr.querySelector(".hint").replaceChildren(...why(r));
}

function markShown(tr) {
	tr.classList.toggle("shown", tr.row?.seq === shownSeq);
	const link = tr.querySelector("a");
	if (tr.row?.seq === shownSeq) link.setAttribute("aria-current", "true");
	else link.removeAttribute("aria-current");
}

// why returns the notes on a request: tries, violations, fault, section of the service document, hint.
function why(r) {
	const notes = [];
	const badge = (className, text, title = "") => notes.push(make("i", title ? { className, title } : { className }, text), " ");
	if (r.tries) badge("try", "try " + r.try + " of " + r.tries, guess);
	for (const rule of r.rules ?? []) badge("rule", rule.text, rule.detail);
	if (r.fault) {
		badge("fault", "fault");
		notes.push(make("span", {}, r.fault), " ");
	}
	if (r.sections) badge("", r.sections);
	return [...notes, make("span", {}, r.hint ?? "")];
}

function showRows(event) {
	const kept = new Set(event.rows.map((r) => "r" + r.seq));
	if (event.fresh) for (const tr of [...rows.children]) if (!kept.has(tr.id)) drop(tr);
	for (const seq of event.gone) if (byId("r" + seq)) drop(byId("r" + seq));
	for (const r of event.rows) {
		let tr = byId("r" + r.seq);
		if (!tr) {
			tr = createRow(r);
			// Late ones stand where they belong.
			let before = rows.firstElementChild;
			while (before && Number(before.id.slice(1)) > r.seq) before = before.nextElementSibling;
			rows.insertBefore(tr, before);
		}
		updateRow(tr, r);
	}
	while (rows.childElementCount > maxRows) drop(rows.lastElementChild);
	rove();
	showDays();
}

// showDays writes the day where it changes; one key needs no column.
function showDays() {
	const senders = new Set();
	let day;
	for (const tr of rows.children) {
		const r = tr.row;
		if (!r) return; // the rows of the document, before the first event
		senders.add(r.sender);
		const other = day && day !== r.day ? r.day : "";
		const time = tr.querySelector(".time");
		if (time.textContent !== (other && other + " ") + r.clock) {
			time.replaceChildren(...other ? [make("span", { className: "day" }, other), " "] : [], r.clock);
		}
		day = r.day;
	}
	rows.parentElement.classList.toggle("one", senders.size < 2);
}

// rove leaves one link of the list to the tab key; the arrow keys go from one to the next.
function rove(to) {
	const reached = to ?? rows.querySelector('a[tabindex="0"]') ?? rows.querySelector("a");
	for (const a of rows.querySelectorAll('a[tabindex="0"]')) if (a !== reached) a.tabIndex = -1;
	if (reached) reached.tabIndex = 0;
}

// walk moves the focus to a row. The open request follows where it stands beside the list.
function walk(tr) {
	const link = tr?.querySelector("a");
	if (!link) return;
	rove(link);
	link.focus();
	if (dialog.open) openRequest(tr.row.seq);
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

on(rows, "click", (e) => {
	const tr = e.target.closest("tr");
	if (!tr || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed) return;
	e.preventDefault();
	openRequest(Number(tr.id.slice(1)));
});
