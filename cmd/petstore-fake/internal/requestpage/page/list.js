
// ---- What is shown stands in the page's address, so that it can be kept and passed on

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

// still reports whether the list stands still: while it is scrolled, has the focus or is paused,
// and for 3 s after a pointer has moved over it.
const still = () => paused || scroller.scrollTop > 0 || list.contains(document.activeElement) || Date.now() - moved < 3000;

// topRow returns the seq of the first row, or 0 if the list does not stand still.
const topRow = () => links()[0] && param("text") === param("text", shown) && still() ? seqOf(links()[0]) : 0;

// mark marks the open request, and makes one row the stop of the tab key: the newest, or the one
// with the focus.
function mark() {
	const all = links(), stop = all.find((a) => a === document.activeElement) ?? all[0];
	for (const a of all) {
		a.tabIndex = a === stop ? 0 : -1;
		a.ariaCurrent = String(seqOf(a)) === param("request") ? "true" : null;
	}
}

// announce reports the result of a step to readers who cannot see it.
function announce(before) {
	if (param("text") !== param("text", before)) setText(byId("said"), byId("fit").textContent + " requests");
	if (param("request") && param("request") !== param("request", before)) {
		setText(byId("said"), byId("detail-title").textContent + ": " + (document.querySelector("#detail .what, #detail > p")?.textContent ?? ""));
	}
}

function close(focus) {
	const a = byId("r" + param("request"))?.querySelector("a");
	go(to("request", ""));
	if (focus) a?.focus({ preventScroll: true }); // the newest rows may be far from it
}

// step moves the focus by so many rows, from the row that has it or is open. If a request is open,
// the one of the new row is opened instead.
function step(by) {
	const all = links(), at = all.findIndex((a) => a === document.activeElement || a.ariaCurrent);
	const a = at < 0 ? all[0] : all[at + by];
	if (!a) return say("There is no " + (by > 0 ? "older" : "newer") + " request in the list.");
	a.focus();
	mark();
	if (param("request")) go(to("request", seqOf(a)));
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
	const inList = e.target.closest("#list");
	if (e.key === "Escape" && param("request") && !document.querySelector(":popover-open")) return close(true);
	if (e.target.closest("input, select, pre") || e.ctrlKey || e.metaKey || e.altKey || e.key.length === 1 && !letters.checked) return;
	const act = {
		"/": () => find.focus(), "?": () => byId("keys-help").togglePopover(), j: () => step(1), k: () => step(-1),
		...inList && {
			ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => links()[0].focus(), End: () => links().at(-1).focus(),
		},
	}[e.key];
	if (!act) return;
	e.preventDefault();
	act();
});
