
// ---- The keyboard

const letters = byId("letters");
letters.checked = localStorage.getItem("petstore-fake-letters") !== "off";
on(letters, "change", () => localStorage.setItem("petstore-fake-letters", letters.checked ? "on" : "off"));
click("help", () => byId("keyboard").showModal());

on(document, "keydown", (e) => {
	if (e.key === "Escape" && dialog.open && !document.querySelector("dialog:modal")) return closeRequest();
	const typing = e.target.closest("input:not([type=checkbox]), select, textarea");
	if (typing || !letters.checked || e.ctrlKey || e.metaKey || e.altKey || byId("keyboard").open) return;
	const at = byId("r" + shownSeq) ?? document.activeElement.closest("#rows tr");
	const keys = {
		"/": () => filters.elements.text.focus(),
		"?": () => byId("keyboard").showModal(),
		j: () => walk(at ? at.nextElementSibling : rows.firstElementChild),
		k: () => walk(at ? at.previousElementSibling : rows.firstElementChild),
	};
	if (!Object.hasOwn(keys, e.key)) return;
	if (dialog.matches(":modal")) {
		if (e.key === "j" || e.key === "k") step(e.key === "j" ? 1 : -1);
		return;
	}
	e.preventDefault();
	keys[e.key]();
});

// ---- The begin

for (const a of rows.querySelectorAll("a")) a.tabIndex = -1;
rove();
if (!document.hidden) listen(true);
setInterval(tick, 1000);
const asked = Number(new URLSearchParams(location.search).get("request"));
if (asked > 0) openRequest(asked, false);
