
// ---- Finding among the requests

const filters = byId("filters");
let findTimer, telling = false; // whether the reader is to hear how many requests fit

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

function find() {
	clearTimeout(findTimer);
	address(shown.seq);
	telling = true;
	listen(true);
}

function filter(name, value) {
	filters.elements[name].value = value;
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
on(byId("requests"), "click", ({ target }) => {
	if (target.id === "further") {
		filter("before", seqOf(rows.lastElementChild));
		byId("requests").focus();
	} else if (target.dataset.clear) {
		filter(target.dataset.clear, "");
		filters.elements.text.focus();
	} else if (target.id === "clear-filters") {
		for (const e of filters.elements) if (e.name) e.value = "";
		find();
		filters.elements.text.focus();
	}
});
on(document.querySelector("header"), "click", ({ target }) => {
	if (target.id !== "violations") return;
	filter("violation", "true");
	byId("requests").scrollIntoView();
});

// What the page was asked for stands first in a field, by its value; the field may have it in words.
for (const select of filters.querySelectorAll("select")) {
	const inWords = [...select.options].findLast((o) => o.value === select.value);
	if (inWords === select.options[0]) continue;
	inWords.selected = true;
	if (select.options[0].value) select.options[0].remove();
}
