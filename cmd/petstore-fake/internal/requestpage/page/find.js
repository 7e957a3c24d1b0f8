
// ---- Finding among the requests

const filters = byId("filters");
let findTimer;

// given returns the filters that are set.
const given = () => new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));

// address keeps what is shown in the page's address, so that it can be kept and passed on. A reader who
// opens a request comes back from it with the browser's button.
function address(request, push = false) {
	const query = given();
	if (request) query.set("request", request);
	const text = query.toString();
	history[push ? "pushState" : "replaceState"](push ? { opened: true } : history.state, "", text ? "?" + text : location.pathname);
}

function showCount(fit, total) {
	const filtered = given().size > 0;
	const listed = rows.childElementCount;
	setText(byId("fit"), filtered ? count(fit) + " of " + count(total) : count(total));
	setText(byId("har"), filtered ? "Save " + count(fit) + " as HAR" : "Save as HAR");
	byId("har").href = "/_fake/har" + (filtered ? "?" + given() : "");
	byId("clear-filters").hidden = !filtered;
	const at = filters.elements.at.value;
	byId("at-clear").hidden = !at;
	if (at) setText(byId("at-clear"), clockOf(at * 1000) + " to " + clockOf(at * 1000 + slotTime) + " ✕");
	const none = filtered ? "No request that fits." : "No request yet. Send one to " + byId("base").textContent + ", and it is listed here.";
	setText(byId("shown"), fit === 0 ? none : fit > listed ? "The newest " + listed + "; the archive has all." : "");
}

function find() {
	clearTimeout(findTimer);
	address(shownSeq);
	listen(true);
}

function findAt(start) {
	filters.elements.at.value = start;
	find();
}

on(filters, "change", find);
on(filters, "input", (e) => {
	clearTimeout(findTimer);
	if (e.target.name === "text") findTimer = setTimeout(find, 250); // once the reader pauses
});
on(filters, "submit", (e) => {
	e.preventDefault();
	find();
});
click("at-clear", () => { findAt(""); filters.elements.text.focus(); });
click("clear-filters", () => {
	for (const e of filters.elements) if (e.name) e.value = "";
	find();
	filters.elements.text.focus();
});
click("violations", () => {
	filters.elements.violation.value = "true";
	find();
	byId("requests").scrollIntoView();
});
click("clear", () => act("The journal is empty.", "DELETE", "requests"));
