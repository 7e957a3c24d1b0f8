
// ---- One request

const maxCode = 4096; // characters of the code that are shown
const dialog = byId("detail");
const wide = matchMedia("(min-width: 77.5em)"); // where it stands beside the list
let shown = { seq: 0 }; // what is shown: its seq, its journal and path, and whether it is pending
let asked = 0; // the request that was asked for last
let form = "curl"; // in which the request is shown as code

// code returns the whole of the request as code.
const code = () => ask("GET", shown.path + "/" + form + "?journal=" + shown.journal);

async function choose(name) {
	form = name;
	for (const b of dialog.querySelectorAll("[data-form]")) b.setAttribute("aria-pressed", String(b.dataset.form === form));
	setText(dialog.querySelector("#copy-code span"), dialog.querySelector("[aria-pressed=true]").textContent);
	const { path } = shown;
	try {
		const text = name === "curl" ? "" : await code();
		if (text && form === name && shown.path === path) setText(byId("code"), text.length < maxCode ? text : text.slice(0, maxCode) + "…");
	} catch (e) { say(e.message, true); }
}

// showDialog opens the request beside the list, or over everything where there is no room.
function showDialog() {
	const focused = document.activeElement;
	const beside = wide.matches;
	document.documentElement.classList.toggle("beside", beside);
	if (!beside) return dialog.showModal();
	dialog.show();
	if (focused !== document.body) focused.focus({ preventScroll: true });
}

// openRequest shows a request, or with a step the next one that fits the filters.
async function openRequest(seq, { push = true, step = "" } = {}) {
	const wasOpen = dialog.open, query = given(), turn = ++asked;
	query.set("journal", step ? shown.journal : journal);
	if (step) query.set("step", step);
	let part;
	try {
		part = parse(await ask("GET", "requests/" + seq + "/html?" + query));
	} catch (e) { return say(e.message, true); }
	if (turn !== asked || wasOpen && !dialog.open) return; // the reader has gone on, or closed it
	if (!part.firstChild) return say("There is no " + step + " request in the list.");
	const { path, journal: at, pending } = part.querySelector(".what").dataset;
	const other = path !== shown.path;
	shown = { seq: Number(path.split("/")[1]), path, journal: at, pending: pending === "true" };
	morphAll(byId("detail-body"), part);
	if (!dialog.open) showDialog();
	if (other) byId("detail-body").scrollTop = dialog.scrollTop = 0;
	choose(form);
	part = byId("r" + shown.seq)?.querySelector("a");
	if (step && part) rove(part);
	address(shown.seq, push && !wasOpen);
	mark();
}

// forget says that the open request is in no journal any more.
function forget() {
	if (!dialog.open || shown.journal === journal) return;
	say("The journal was cleared. The open request is no longer in it.", true);
	for (const b of dialog.querySelectorAll("#repeat, #copy-code, [data-form], [data-step]")) b.disabled = true;
}

function hide() {
	const tr = byId("r" + shown.seq);
	const { classList } = document.documentElement, at = document.activeElement;
	const inside = !classList.contains("beside") || dialog.contains(at) || at === document.body;
	shown = { seq: 0 };
	dialog.close();
	classList.remove("beside");
	address();
	mark();
	if (!tr) return;
	rove(tr.querySelector("a"));
	if (inside) tr.querySelector("a").focus();
}

// closeRequest goes back to the list, in the browser's history too.
function closeRequest() {
	if (history.state?.opened) history.back();
	else hide();
}

const step = (name) => openRequest(shown.seq, { step: name });

on(dialog, "click", async ({ target }) => {
	const b = target.closest("button, a");
	if (target === dialog && dialog.matches(":modal") || b?.id === "close") closeRequest();
	else if (b?.dataset.step) step(b.dataset.step);
	else if (b?.dataset.form) choose(b.dataset.form);
	else if (b?.id === "copy-code") {
		try { await copy(await code(), byId("code")); } catch (e) { say(e.message, true); }
	}
});
on(dialog, "click", (e) => {
	const a = e.target.closest("[data-open]");
	if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
	e.preventDefault();
	openRequest(Number(a.dataset.open));
});
on(dialog, "cancel", (e) => { e.preventDefault(); closeRequest(); });
on(dialog, "keydown", (e) => {
	if (e.target.closest("pre") || (e.key !== "ArrowDown" && e.key !== "ArrowUp")) return;
	e.preventDefault();
	step(e.key === "ArrowDown" ? "older" : "newer");
});
on(wide, "change", () => {
	const { seq } = shown;
	if (!dialog.open) return;
	hide();
	openRequest(seq, { push: false });
});
on(window, "popstate", () => {
	const seq = Number(new URLSearchParams(location.search).get("request"));
	if (seq > 0) openRequest(seq, { push: false });
	else if (shown.seq) hide();
});
