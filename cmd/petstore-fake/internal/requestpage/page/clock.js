
// ---- The clock, and what is active

let latency = "0s", ahead = "0s";

// showStrip lists what makes the service behave otherwise than at the start.
function showStrip() {
	const active = faults.list.filter((f) => f.active && !(Date.parse(f.until) <= now())).length;
	const parts = [];
	if (latency !== "0s") parts.push(["latency", "Every response takes " + latency + " more", "Turn off", () => byId("latency-off").click()]);
	if (active) parts.push(["faults", many(active, "fault") + " active", "Remove all", () => byId("faults-clear").click()]);
	for (const k of keys.list) {
		if (banned(k)) parts.push(["ban" + k.id, k.name + " is banned for " + span(banned(k)), "Lift", () => act("The ban is lifted.", "DELETE", "keys/" + k.id + "/ban")]);
	}
	if (ahead !== "0s") parts.push(["clock", "The clock is " + ahead.replace("-", "") + (ahead[0] === "-" ? " behind" : " ahead")]);
	match(byId("strip"), parts, ([id]) => id, ([, , name, f]) => make("li", {}, make("span"), ...name ? [" ", button(name, f, { className: "quiet" })] : []),
		(e, [, text]) => setText(e.firstElementChild, text));
}

function tick() {
	if (document.hidden || !heard) return;
	watch();
	if (lost) return;
	const t = new Date(now());
	setText(byId("clock"), t.toISOString().slice(0, 19).replace("T", " "));
	byId("clock").dateTime = t.toISOString();
	showKey();
	showChart();
	tickFaults();
	showStrip();
}

for (const b of document.querySelectorAll("[data-advance]")) {
	on(b, "click", () => act("The clock went forward.", "POST", "clock", { advance: b.dataset.advance }));
}
click("window-end", () => {
	const rest = Math.ceil(Date.parse(chosenKey().minute.reset) - now());
	act("The window is over.", "POST", "clock", { advance: Math.max(rest, 0) + "ms" });
});
click("reset", () => {
	const question = "Put everything back to the start of the program? Requests, pets, windows, bans, faults and the clock change.";
	if (confirm(question)) act("Everything is as at the start.", "POST", "reset");
});
click("copy-base", () => copy(byId("base").textContent, byId("base")));
