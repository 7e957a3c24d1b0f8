
// ---- The chart

const graph = byId("graph");
const slotTime = 5, slotCount = 60; // seconds
let slot = -1; // what the reader points at

const begin = () => Number(graph.firstElementChild.dataset.begin);

function showSlot() {
	const at = begin() + slot * slotTime;
	const text = slot < 0 ? "" : clockOf(at * 1000) + ": " + (graph.querySelector('[data-at="' + at + '"]')?.dataset.text ?? "nothing");
	setText(byId("slot"), text);
	graph.setAttribute("aria-valuenow", slot < 0 ? slotCount - 1 : slot);
	graph.setAttribute("aria-valuetext", text || "the last 5 minutes");
}

function point(to) {
	slot = to < 0 ? -1 : Math.min(slotCount - 1, to);
	showSlot();
}

const findPointed = () => { if (slot >= 0) filter("at", begin() + slot * slotTime); };
const slotUnder = (e) => {
	const r = graph.getBoundingClientRect();
	return Math.max(0, Math.floor((e.clientX - r.left) / r.width * slotCount));
};
on(graph, "pointermove", (e) => point(slotUnder(e)));
on(graph, "pointerleave", () => point(-1));
on(graph, "blur", () => point(-1));
on(graph, "click", (e) => { point(slotUnder(e)); findPointed(); });
on(graph, "keydown", (e) => {
	const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -slotCount, End: slotCount }[e.key];
	if (e.key === "Enter") findPointed();
	if (!by) return;
	e.preventDefault();
	point(Math.max(0, (slot < 0 ? slotCount : slot) + by));
});
