
// ---- The windows of a key

let keys = { total: 0, list: [] };

const chosenKey = () => keys.list.find((k) => String(k.id) === byId("key").value) ?? keys.list[0];
const keyPath = (rest = "") => "keys/" + chosenKey().id + rest;
const banned = (k) => k.bannedUntil ? Math.max(0, Date.parse(k.bannedUntil) - now()) : 0;

function showKeys(part) {
	keys = part;
	const name = (k) => k.name + (k.revoked ? " (revoked)" : "");
	const option = (k) => make("option", { value: k.id });
	match(byId("key"), keys.list, (k) => k.id, option, (e, k) => setText(e, name(k)));
	// Nothing is replaced, since that would close the list under the reader's hand.
	const filter = filters.elements.key;
	const old = new Map([...filter.options].map((o) => [o.value, o]));
	for (const k of keys.list) {
		const o = old.get(String(k.id)) ?? option(k);
		if (!o.parentElement) old.get("none").before(o);
		setText(o, name(k));
	}
	showKey();
}

function showKey() {
	const k = chosenKey();
	if (!k) return;
	setText(byId("plan"), "plan " + k.plan + (k.limited ? " · " + count(k.limited) + " × 429" : ""));
	gauge(byId("gauge-minute"), "Minute", k.minute, banned(k));
	gauge(byId("gauge-day"), "Day", k.day, 0);
	byId("ban-lift").disabled = !banned(k);
	byId("revoke").disabled = k.revoked;
}

function gauge(e, label, w, ban) {
	if (!e.firstElementChild) {
		const arc = "M 8 58 A 50 50 0 0 1 108 58";
		e.append(draw("svg", { viewBox: "0 0 116 62", "aria-hidden": "true" },
			draw("path", { d: arc, class: "track" }), draw("path", { d: arc, class: "level", pathLength: 100 })),
		make("strong"), make("span", { className: "of" }), make("span", { className: "dim reset" }));
		e.setAttribute("role", "meter");
		e.setAttribute("aria-label", label + ", requests remaining");
		e.setAttribute("aria-valuemin", "0");
	}
	const until = Date.parse(w.reset) - now();
	const share = ban ? 0 : w.limit === null ? 1 : w.remaining / w.limit;
	const number = w.limit === null ? "∞" : count(w.remaining);
	e.querySelector(".level").setAttribute("stroke-dasharray", (share * 100).toFixed(2) + " 100");
	e.className = "gauge " + (ban ? "ban " : "") + (share <= 0 ? "empty" : share <= 0.25 ? "low" : "");
	setText(e.querySelector("strong"), ban ? "banned " + span(ban) : number);
	setText(e.querySelector(".of"), w.limit === null ? label + ": no limit" : (ban ? number + " " : "") + "of " + count(w.limit) + " a " + label.toLowerCase());
	setText(e.querySelector(".reset"), w.used ? "resets in " + span(until) : "unused");
	e.setAttribute("aria-valuemax", w.limit ?? 1);
	e.setAttribute("aria-valuenow", w.limit === null ? 1 : w.remaining);
	e.setAttribute("aria-valuetext", e.querySelector("strong").textContent + " " + e.querySelector(".of").textContent);
}

on(byId("key"), "change", () => { showKey(); listen(); });

// number returns the number in a field as text, "" after the browser has said what is wrong with it.
const number = (id) => byId(id).reportValidity() ? String(byId(id).valueAsNumber) : "";

click("ban-key", () => {
	const seconds = number("ban-seconds");
	if (seconds) act("The key is banned.", "PUT", keyPath("/ban"), { duration: seconds + "s" });
});
click("ban-lift", () => act("The ban is lifted.", "DELETE", keyPath("/ban")));
click("revoke", () => {
	const k = chosenKey();
	if (confirm("Revoke " + k.name + "? Its requests get 401 until the key is added again.")) act("The key is revoked.", "DELETE", "keys/" + k.id);
});
on(byId("plan-form"), "submit", (e) => {
	e.preventDefault();
	act("The plan is changed.", "PUT", keyPath("/plan"), { plan: byId("plan-new").value });
});
on(byId("key-form"), "submit", async (e) => {
	e.preventDefault();
	if (await act("The key is added.", "POST", "keys", { key: byId("key-new").value, plan: byId("key-plan").value })) byId("key-new").value = "";
});
