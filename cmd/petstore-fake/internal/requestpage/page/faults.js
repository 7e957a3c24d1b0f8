
// ---- Faults

let faults = { total: 0, list: [] };
const fault = byId("fault");

function showFaults(part) {
	faults = part;
	match(byId("faults"), part.list, (f) => f.id + f.text, (f) => make("li", {}, make("span", { className: "clamp", title: f.text }, f.text), make("small"),
		button("Remove", () => act("Removed.", "DELETE", "faults/" + f.id), { className: "quiet", ariaLabel: "Remove: " + f.text })), showFault);
	byId("faults-clear").hidden = part.total === 0;
}

function showFault(e, f) {
	const rest = f.until ? Date.parse(f.until) - now() : 1;
	const active = f.active && rest > 0;
	e.classList.toggle("done", !active);
	setText(e.children[1], (!active ? "over" : f.until ? span(rest) + " left" : "active") + ", struck " + count(f.fired) + " ×");
}

function tickFaults() {
	faults.list.forEach((f, i) => { if (f.until) showFault(byId("faults").children[i], f); });
}

// setField sets a field of the fault that is being written, or takes it away.
function setField(name, value) {
	const fields = fault.value.split(",").filter((f) => f.trim() && !f.trim().startsWith(name + "="));
	fault.value = [...fields, ...value ? [name + "=" + value] : []].join(",");
}

for (const b of document.querySelectorAll("[data-fault]")) {
	on(b, "click", () => {
		fault.value = b.dataset.fault;
		for (const e of document.querySelectorAll("[data-field]")) if (e.value) setField(e.dataset.field, e.value);
		fault.focus();
	});
}
for (const e of document.querySelectorAll("[data-field]")) {
	on(e, "change", () => setField(e.dataset.field, e.value));
}
on(byId("fault-form"), "submit", async (e) => {
	e.preventDefault();
	let error = "";
	try {
		// A string: the text of a fault as -fault takes it.
		const { faults } = await ask("POST", "faults", JSON.stringify(fault.value));
		say(faults.length === 1 ? "The fault is active." : faults.length + " faults are active.");
	} catch (e) { error = e.message; }
	setText(byId("fault-error"), error);
	fault.setAttribute("aria-invalid", String(error !== ""));
	if (error) fault.focus();
});
click("faults-clear", () => act("There are no faults.", "DELETE", "faults"));
click("latency", () => {
	const ms = number("latency-ms");
	if (ms) act("Every response takes " + ms + " ms more.", "PUT", "latency", { latency: ms + "ms" });
});
click("latency-off", () => act("No latency.", "PUT", "latency", { latency: "0s" }));
