
// ---- One request

const maxDetail = 16384, maxCode = 4096; // bytes of a body, and of a command
const dialog = byId("detail");
const wide = matchMedia("(min-width: 77.5em)"); // where it stands beside the list
let shownSeq = 0, shownOpen = false; // the request that is shown or asked for, and whether it is pending
let form = "curl"; // in which the request is shown as code

function headerList(header, notes = {}) {
	const list = make("dl");
	for (const name of Object.keys(header ?? {}).sort()) {
		for (const value of header[name]) {
			list.append(make("div", {}, make("dt", {}, name.replace("X-Ratelimit", "X-RateLimit")),
				make("dd", {}, value, ...notes[name] ? [" ", make("em", {}, notes[name])] : [])));
		}
	}
	return list;
}

function bodyOf(seq, text, laidOut, binary, size) {
	if (size === 0) return make("p", { className: "dim" }, "No body.");
	const raw = binary ?? text;
	const pre = make("pre", { tabIndex: 0 }, binary ?? laidOut);
	const box = make("div", { className: "body" }, make("p", { className: "dim" }, many(size, "byte"), binary ? ", as base64 " : " ",
		button(size > maxDetail ? "Copy this part" : "Copy", () => copy(raw, pre), { className: "quiet" })), pre);
	if (size > maxDetail) {
		box.append(make("p", {}, "The first " + count(maxDetail) + " bytes are shown. ",
			make("a", { href: "/_fake/requests/" + seq, target: "_blank", rel: "noopener" }, "The whole as JSON")));
	}
	return box;
}

// codeOf shows a part of the request as code; what is copied is the whole.
function codeOf(seq) {
	const pre = make("pre", { tabIndex: 0, id: "code" }, "…");
	const path = () => "requests/" + seq + "/" + form;
	const forms = ["curl", "go", "fetch"].map((name) => button(name === "go" ? "Go" : name, () => choose(name)));
	const choose = async (name) => {
		form = name;
		forms.forEach((b, i) => b.setAttribute("aria-pressed", String(["curl", "go", "fetch"][i] === name)));
		try {
			const text = await ask("GET", path() + "?bytes=" + maxCode, undefined, "text");
			if (form === name) setText(pre, text.length < maxCode ? text : text + "…");
		} catch (e) { setText(pre, e.message); }
	};
	choose(form);
	const whole = button("Copy", async () => {
		try { await copy(await ask("GET", path(), undefined, "text"), pre); } catch (e) { say(e.message, true); }
	}, { id: "copy-code" });
	return [make("h3", {}, "Send it again as"), make("p", { className: "forms" }, ...forms, whole), pre];
}

function triesOf(d) {
	if (d.tries.length === 0) return [];
	return [make("h3", { title: guess }, "Tries of this call, as far as can be guessed"), make("ol", { className: "tries" }, ...d.tries.map((r) =>
		make("li", {}, button(r.clock, () => openRequest(r.seq), { className: "quiet", disabled: r.seq === d.seq }), " ",
			make("b", { className: r.kind }, r.status), " ", r.fault ?? "")))];
}

function showDetail(d) {
	const r = d.row;
	shownOpen = Boolean(r.pending);
	setText(byId("detail-title"), "Request " + d.seq);
	byId("detail-body").replaceChildren(
		make("p", { className: "what" }, make("b", { className: r.kind }, r.status), " ", make("code", {}, d.method + " " + d.path)),
		make("p", { className: "dim" }, [d.operation || "no operation", r.sender, r.day + " " + r.clock + " UTC",
			...r.since ? [r.since + " since the last request of the key"] : [], ...r.took ? [r.took] : []].join(" · ")),
		make("p", { className: "why" }, ...why(r)),
		...(r.rules ?? []).map((rule) => make("p", { className: "why" }, rule.detail)),
		...triesOf(d),
		make("h3", {}, "Request"), headerList(d.header), bodyOf(d.seq, d.body, d.bodyText, d.bodyBase64, d.bodySize),
		make("h3", {}, "Response"), headerList(d.answerHeader, d.notes), bodyOf(d.seq, d.answer, d.answerText, d.answerBase64, d.answerSize),
		...codeOf(d.seq),
	);
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

async function openRequest(seq, push = true) {
	const before = shownSeq, wasOpen = dialog.open;
	shownSeq = seq;
	try {
		const detail = await ask("GET", "requests/" + seq + "?bytes=" + maxDetail);
		if (shownSeq !== seq || wasOpen && !dialog.open) return; // the reader has gone on, or closed it
		showDetail(detail);
	} catch (e) {
		if (shownSeq === seq) shownSeq = before;
		say(e.message, true);
		return;
	}
	if (!dialog.open) showDialog();
	if (seq !== before) dialog.scrollTop = 0;
	address(seq, push && !wasOpen);
	for (const tr of rows.children) markShown(tr);
}

function hide() {
	const tr = byId("r" + shownSeq);
	const { classList } = document.documentElement, at = document.activeElement;
	const inside = !classList.contains("beside") || dialog.contains(at) || at === document.body;
	shownSeq = 0;
	dialog.close();
	classList.remove("beside");
	address();
	if (!tr) return;
	markShown(tr);
	rove(tr.querySelector("a"));
	if (inside) tr.querySelector("a").focus();
}

// closeRequest goes back to the list, in the browser's history too.
function closeRequest() {
	if (history.state?.opened) history.back();
	else hide();
}

// step goes to the next request of the list, an older one for 1.
function step(by) {
	const tr = byId("r" + shownSeq);
	const to = tr ? (by > 0 ? tr.nextElementSibling : tr.previousElementSibling) : rows.firstElementChild;
	if (to) openRequest(Number(to.id.slice(1)));
	else say("The list has no " + (by > 0 ? "older" : "newer") + " request.");
}

click("older", () => step(1));
click("newer", () => step(-1));
click("close", closeRequest);
click("repeat", () => act("Sent again.", "POST", "requests/" + shownSeq + "/repeat"));
on(dialog, "click", (e) => { if (e.target === dialog && dialog.matches(":modal")) closeRequest(); });
on(dialog, "cancel", (e) => { e.preventDefault(); closeRequest(); });
on(dialog, "keydown", (e) => {
	if (e.target.closest("pre") || (e.key !== "ArrowDown" && e.key !== "ArrowUp")) return;
	e.preventDefault();
	step(e.key === "ArrowDown" ? 1 : -1);
});
on(wide, "change", () => {
	const seq = shownSeq;
	if (!dialog.open) return;
	hide();
	openRequest(seq, false);
});
on(window, "popstate", () => {
	const seq = Number(new URLSearchParams(location.search).get("request"));
	if (seq > 0) openRequest(seq, false);
	else if (shownSeq) hide();
});
