
// ---- The keyboard

const letters = byId("letters");
letters.checked = localStorage.getItem("petstore-fake-letters") !== "off";
on(letters, "change", () => localStorage.setItem("petstore-fake-letters", letters.checked ? "on" : "off"));
on(byId("help"), "click", () => byId("keyboard").showModal());

on(document, "keydown", (e) => {
	if (e.key === "Escape" && dialog.open && !document.querySelector("dialog:modal")) return closeRequest();
	const typing = e.target.closest("input:not([type=checkbox]), select, textarea");
	if (typing || !letters.checked || e.ctrlKey || e.metaKey || e.altKey || byId("keyboard").open) return;
	const at = byId("r" + shown.seq) ?? document.activeElement.closest("#rows tr");
	const keys = {
		"/": () => filters.elements.text.focus(),
		"?": () => byId("keyboard").showModal(),
		j: () => shown.seq && !at ? step("older") : walk(at ? at.nextElementSibling : rows.firstElementChild),
		k: () => shown.seq && !at ? step("newer") : walk(at ? at.previousElementSibling : rows.firstElementChild),
	};
	if (!Object.hasOwn(keys, e.key)) return;
	if (dialog.matches(":modal")) {
		if (e.key === "j" || e.key === "k") step(e.key === "j" ? "older" : "newer");
		return;
	}
	e.preventDefault();
	keys[e.key]();
});

// ---- The begin

arrange();
if (!document.hidden) listen();
setInterval(tick, 1000);
const opened = Number(new URLSearchParams(location.search).get("request"));
if (opened > 0) openRequest(opened, { push: false });
