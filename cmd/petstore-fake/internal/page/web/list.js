
// ---- The page's address says what is shown, so that a reader can keep it and pass it on

const list = byId("list"), find = byId("text"), scroller = byId("scroll"), letters = byId("letters");
let moved = -Infinity, paused = false; // moved: when the pointer moved over the list last
let shown = null; // the address of what is shown
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

// step moves the focus to the older (1) or the newer (-1) row. If a request is open, step opens the
// neighbour. If the list does not have the neighbour, its number is in data-older or data-newer.
function step(by) {
	const all = links(), open = Number(param("request")), known = byId("detail").dataset;
	const at = all.findIndex((a) => open ? seqOf(a) === open : a === document.activeElement);
	const next = at >= 0 ? all[at + by] : !open && all[0];
	if (open && !next && Number(known.seq) !== open) return; // no neighbours known yet
	const seq = next ? seqOf(next) : open && Number(by > 0 ? known.older : known.newer);
	if (!seq) return say("There is no " + (by > 0 ? "older" : "newer") + " request in the list.");
	byId("r" + seq)?.querySelector("a").focus();
	mark();
	if (open) go(to("request", seq));
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

letters.checked = localStorage.getItem("letters") !== "off";
on(letters, "change", () => localStorage.setItem("letters", letters.checked ? "on" : "off"));

on(document, "keydown", (e) => {
	if (e.key === "Escape" && param("request") && !document.querySelector(":popover-open")) return close(true);
	if (e.target.closest("input, select, pre") || e.ctrlKey || e.metaKey || e.altKey) return;
	if (e.key.length === 1 && !letters.checked) return;
	const act = {
		"/": () => find.focus(), "?": () => byId("keys-help").togglePopover(), j: () => step(1), k: () => step(-1),
		...e.target.closest("#list") && { ArrowDown: () => step(1), ArrowUp: () => step(-1) },
	}[e.key];
	if (!act) return;
	e.preventDefault();
	act();
});
