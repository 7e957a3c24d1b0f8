// The page's address has the chosen filter, request and key: a reader can save it and share it.

const list = byId("list"), find = byId("text"), scroller = byId("scroll");
let moved = -Infinity, paused = false; // moved: the time when the pointer last moved over the list
let shown = location.search; // the address whose parts the page shows: location.search may be newer
let findTimer = 0; // runs until the reader has stopped typing in Find

const param = (name, address = location.search) => new URLSearchParams(address).get(name) ?? "";
const links = () => [...list.querySelectorAll("tbody a")];
const seqOf = (e) => Number(e.closest("tbody").id.slice(1));

// to returns the page's address with a new value for a parameter; "" removes the parameter.
function to(name, value) {
	const query = new URLSearchParams(location.search);
	query.set(name, value);
	if (!value) query.delete(name);
	return "?" + query;
}

// go changes the page's address, and shows what belongs to it without loading the page again.
function go(address, replace = false) {
	history[replace ? "replaceState" : "pushState"](null, "", address);
	arrive();
}

function arrive() {
	if (!findTimer && find.value.trim() !== param("text")) find.value = param("text");
	if (!param("request") !== !param("request", shown)) byId("faults-fold").open = !param("request");
	refresh();
}
on(window, "popstate", arrive);

// still reports whether the list stands still, without new rows: while it is scrolled down, has the
// focus or is paused, and for 3 s after a pointer has moved over it.
const still = () =>
	paused || scroller.scrollTop > 0 || list.contains(document.activeElement) || Date.now() - moved < 3000;

// topRow returns the number of the request in the first row, if the list stands still. It returns 0
// if the list needs rows from the program: it is empty, shows new requests, or has another filter.
function topRow() {
	return param("text") === param("text", shown) && links()[0] && still() ? seqOf(links()[0]) : 0;
}

// mark marks the row of the open request. It also makes the Tab key stop at only one row: the row
// with the focus or, without one, the newest row.
function mark() {
	const all = links(), stop = all.find((a) => a === document.activeElement) ?? all[0];
	for (const a of all) {
		a.tabIndex = a === stop ? 0 : -1;
		a.ariaCurrent = String(seqOf(a)) === param("request") ? "true" : null;
	}
}

// announce tells users of screen readers what a new address has found: how many requests fit the
// filter, or which request is open. The parameter before is the earlier address.
function announce(before) {
	const changed = (name) => param(name) && param(name) !== param(name, before);
	if (changed("text")) setText(byId("said"), byId("fit").textContent + " requests");
	const what = document.querySelector("#detail .what, #detail > p")?.textContent;
	if (changed("request")) setText(byId("said"), byId("detail-title").textContent + ": " + what);
}

function close(focus) {
	const a = byId("r" + param("request"))?.querySelector("a");
	go(to("request", ""));
	if (focus) a?.focus({ preventScroll: true });
}

// step moves the focus to the next older (1) or newer (-1) row. If the page shows the details of a
// request, step shows those of the new row's request.
function step(by) {
	const all = links(), next = all[all.indexOf(document.activeElement) + by];
	if (!next) return;
	next.focus();
	mark();
	if (param("request")) go(to("request", seqOf(next)));
}

for (const kind of ["pointermove", "pointerdown"]) on(list, kind, () => { moved = Date.now(); });
on(document, "click", (e) => {
	const link = e.target.closest("[data-to], a[href^='?']"), row = e.target.closest("#list tbody");
	if (e.target.id === "release") return release();
	if (!link && !row || e.ctrlKey || e.metaKey || e.shiftKey || !getSelection().isCollapsed) return;
	e.preventDefault();
	if (row) go(to("request", seqOf(row)));
	else if (link.id === "close") close(e.detail === 0); // detail is 0 if the click came from the keyboard
	else go(link.dataset.to ?? link.getAttribute("href"));
});

// release ends everything that makes the list stand still, and shows the new rows.
function release() {
	[paused, moved, scroller.scrollTop] = [false, -Infinity, 0];
	byId("pause").ariaPressed = "false";
	document.activeElement.blur();
	refresh();
}

on(byId("pause"), "click", (e) => {
	paused = !paused;
	e.target.ariaPressed = String(paused);
	refresh();
});
on(find, "input", () => {
	clearTimeout(findTimer);
	findTimer = setTimeout(() => {
		findTimer = 0;
		if (find.value.trim() !== param("text")) go(to("text", find.value.trim()), true);
	}, 250);
});
on(byId("key"), "change", (e) => go(to("key", e.target.value), true));

on(document, "keydown", (e) => {
	if (e.key === "Escape" && param("request") && !document.querySelector(":popover-open")) close(true);
});
on(list, "keydown", (e) => {
	const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
	if (!by) return;
	e.preventDefault();
	step(by);
});
