// The page's address says what is shown, so that a reader can keep it and pass it on.

const list = byId("list"), find = byId("text"), scroller = byId("scroll");
let moved = -Infinity, paused = false; // moved: when the pointer moved over the list last
let shown = location.search; // the address of what is shown
let findTimer = 0; // runs while the reader writes

const param = (name, address = location.search) => new URLSearchParams(address).get(name) ?? "";
const links = () => [...list.querySelectorAll("tbody a")];
const seqOf = (e) => Number(e.closest("tbody").id.slice(1));

// to returns the address with another value of a parameter; "" takes the parameter out.
function to(name, value) {
	const query = new URLSearchParams(location.search);
	query.set(name, value);
	if (!value) query.delete(name);
	return "?" + query;
}

// go shows another address.
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

// still reports whether the list takes no new rows: while it is scrolled down, has the focus or is
// paused, and for 3 s after a pointer has moved over it.
const still = () =>
	paused || scroller.scrollTop > 0 || list.contains(document.activeElement) || Date.now() - moved < 3000;

// topRow returns the seq of the first row, or 0 if the list does not stand still.
function topRow() {
	return param("text") === param("text", shown) && links()[0] && still() ? seqOf(links()[0]) : 0;
}

// mark marks the open request, and makes one row the only stop of the tab key: the row with the
// focus, or the newest.
function mark() {
	const all = links(), stop = all.find((a) => a === document.activeElement) ?? all[0];
	for (const a of all) {
		a.tabIndex = a === stop ? 0 : -1;
		a.ariaCurrent = String(seqOf(a)) === param("request") ? "true" : null;
	}
}

// announce reports the result of a step to readers who cannot see it.
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

// step moves the focus to the older (1) or the newer (-1) row. If a request is open, step opens that
// of the row.
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
	else if (link.id === "close") close(e.detail === 0); // by the keyboard
	else go(link.dataset.to ?? link.getAttribute("href"));
});

// release shows what is new in a list that stood still.
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
