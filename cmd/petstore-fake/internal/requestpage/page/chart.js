
// ---- The chart

const kinds = [["fine", "2xx"], ["refused", "4xx"], ["limited", "429"], ["failed", "5xx"], ["lost", "none"]];
const graph = byId("graph");
const slotTime = 5000; // milliseconds
const slotCount = 60;
let traffic = [], left = [];
let pointed = 0; // the begin of the slot that the reader points at

// chartEnd returns the end of the chart, a whole slot, in milliseconds.
const chartEnd = () => (Math.floor(now() / slotTime) + 1) * slotTime;
const slotStart = (i) => chartEnd() - (slotCount - i) * slotTime;
const slotOf = (start) => Math.max(0, slotCount - (chartEnd() - start) / slotTime);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function showChart() {
	const begin = chartEnd() - slotCount * slotTime;
	const slots = traffic.filter((s) => s.start * 1000 >= begin);
	const peak = Math.max(1, ...slots.map((s) => sum(s.count)));
	const x = (ms) => Math.min(Math.max((ms - begin) / slotTime, 0), slotCount) * 5;
	const shapes = [];
	if (pointed) shapes.push(draw("rect", { class: "pointed", x: slotOf(pointed) * 5, y: 0, width: 5, height: 100 }));
	for (let m = 1; m < 5; m++) shapes.push(draw("path", { class: "tick", d: "M" + m * 60 + " 0V100" }));
	for (const s of slots) {
		let y = 100;
		s.count.forEach((n, kind) => {
			const height = n / peak * 96;
			y -= height;
			if (n) shapes.push(draw("rect", { class: kinds[kind][0], x: x(s.start * 1000) + 0.5, y, width: 4, height }));
		});
	}
	shapes.push(draw("path", { class: "left", d: leftPath(x) }));
	graph.firstElementChild.replaceChildren(...shapes);
	setText(byId("peak"), slots.length ? count(peak) : "");
	setText(byId("limit"), left.length ? count(left.at(-1).limit) + " left" : "");
	showLegend(slots);
	showSlot();
}

// leftPath is the line of what remained of the key's limit, as responses told it: down with each, and up
// when the window ends.
function leftPath(x) {
	let path = "";
	const y = (n, limit) => 98 - Math.min(n / limit, 1) * 94;
	left.forEach((s, i) => {
		const before = left[i - 1], at = x(s.at * 1000);
		if (!(s.limit > 0)) return;
		if (!path) path = "M" + at + " " + y(s.left, s.limit);
		else if (before.reset < s.at) path += "H" + x(before.reset * 1000) + "V" + y(1, 1);
		path += "H" + at + "V" + y(s.left, s.limit);
	});
	const last = left.at(-1);
	if (path && last.reset * 1000 < now()) path += "H" + x(last.reset * 1000) + "V" + y(1, 1);
	return path && path + "H" + x(now());
}

function showLegend(slots) {
	const total = kinds.map((_, kind) => sum(slots.map((s) => s.count[kind])));
	const parts = kinds.map(([kind, text], i) => [kind, text + " " + count(total[i])]).filter((_, i) => total[i]);
	if (left.length) parts.push(["left", "left of " + chosenKey()?.name]);
	match(byId("legend"), parts, ([kind]) => kind, ([kind]) => make("span", { className: kind }), (e, [, text]) => setText(e, text));
}

function showSlot() {
	const counts = traffic.find((s) => s.start * 1000 === pointed)?.count ?? [];
	const list = kinds.map(([, text], kind) => counts[kind] ? counts[kind] + " × " + text : "").filter(Boolean).join(", ") || "nothing";
	const text = pointed && clockOf(pointed) + ": " + list;
	setText(byId("slot"), text || "");
	graph.setAttribute("aria-valuemax", slotCount - 1);
	graph.setAttribute("aria-valuenow", pointed ? slotOf(pointed) : slotCount - 1);
	graph.setAttribute("aria-valuetext", text || "the last 5 minutes");
}

function point(start) {
	if (start === pointed) return;
	pointed = start;
	showChart();
}

const slotUnder = (e) => {
	const r = graph.getBoundingClientRect();
	return slotStart(Math.min(slotCount - 1, Math.max(0, Math.floor((e.clientX - r.left) / r.width * slotCount))));
};
const findPointed = () => { if (pointed) findAt(pointed / 1000); };
on(graph, "pointermove", (e) => point(slotUnder(e)));
on(graph, "pointerleave", () => point(0));
on(graph, "blur", () => point(0));
on(graph, "click", (e) => { point(slotUnder(e)); findPointed(); });
on(graph, "keydown", (e) => {
	const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -slotCount, End: slotCount }[e.key];
	if (e.key === "Enter") findPointed();
	if (!by) return;
	e.preventDefault();
	point(slotStart(Math.min(slotCount - 1, Math.max(0, (pointed ? slotOf(pointed) : slotCount) + by))));
});
