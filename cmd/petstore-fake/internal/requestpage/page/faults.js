
// ---- Faults: what is written is what is injected

const fault = byId("fault");
const boxes = [...document.querySelectorAll("[data-field]")];
const parts = (text, separator) => text.match(new RegExp(`(?:[^"${separator}]|"(?:\\\\.|[^"\\\\])*"?)+`, "g")) ?? [];
const fieldOf = (word) => word.split("=")[0].trim();

// put gives a fault's text another value of a field; "" takes the field away.
function put(text, name, value) {
	const word = name + "=" + value;
	let words = parts(text, ",").map((w) => w.trim()).filter(Boolean);
	if (!value) words = words.filter((w) => fieldOf(w) !== name);
	else if (words.some((w) => fieldOf(w) === name)) words = words.map((w) => fieldOf(w) === name ? word : w);
	else words.push(word);
	return words.join();
}

// sync has the boxes show what is written, for the first of several faults.
function sync() {
	const words = parts(parts(fault.value, ";")[0] ?? "", ",").map((w) => w.trim());
	for (const box of boxes) box.value = words.find((w) => fieldOf(w) === box.dataset.field)?.split("=")[1] ?? "";
}

async function inject() {
	let error = "";
	try {
		const n = JSON.parse(await ask("POST", "faults", fault.value)).faults?.length ?? 1;
		say(n === 1 ? "The fault is active." : n + " faults are active.");
	} catch (e) { error = e.message; }
	setText(byId("fault-error"), error);
	fault.setAttribute("aria-invalid", String(error !== ""));
	if (error) fault.focus();
}

on(byId("presets"), "click", ({ target: { dataset } }) => {
	if (!dataset.fault) return;
	// What the reader chose in the boxes holds, but for what the preset says itself.
	fault.value = boxes.filter((b) => b.dataset.chosen && !parts(dataset.fault, ",").some((w) => fieldOf(w) === b.dataset.field))
		.reduce((text, b) => put(text, b.dataset.field, b.dataset.chosen), dataset.fault);
	sync();
	inject();
});
for (const box of boxes) {
	on(box, "change", () => {
		box.dataset.chosen = box.value;
		fault.value = (fault.value.trim() ? parts(fault.value, ";") : [""]).map((one) => put(one, box.dataset.field, box.value)).join("; ");
	});
}
on(fault, "input", sync);
on(byId("fault-form"), "submit", (e) => {
	e.preventDefault();
	inject();
});
