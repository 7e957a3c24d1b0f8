
// ---- Pets

function showPets(part) {
	setText(byId("pets-total"), part.total > part.list.length ?
		"the last " + part.list.length + " of " + count(part.total) : count(part.total));
	byId("no-pets").hidden = part.total > 0;
	// An id may belong to another pet after a reset.
	match(byId("pets"), part.list, (p) => JSON.stringify([p.id, p.name, p.categoryId]), (p) => {
		const status = make("select", { ariaLabel: "Status of " + p.name + ", id " + p.id });
		for (const s of ["", "available", "pending", "sold"]) status.append(make("option", { value: s }, s || "none"));
		on(status, "change", () => act("Changed.", "PUT", "pets/" + p.id + "/status", { status: status.value }));
		return make("tr", {}, make("td", {}, p.id), make("td", {}, make("span", { className: "clamp", title: p.name }, p.name)), make("td", {}, p.categoryId),
			make("td", {}, status), make("td", {}, button("✕",
			() => act("Deleted.", "DELETE", "pets/" + p.id), { className: "quiet", title: "Delete", ariaLabel: "Delete " + p.name + ", id " + p.id })));
	}, (e, p) => {
		const status = e.querySelector("select");
		if (![...status.options].some((o) => o.value === p.status)) status.append(make("option", {}, p.status));
		if (status.value !== p.status) status.value = p.status;
	});
}

on(byId("add-pet"), "submit", async (e) => {
	e.preventDefault();
	const fields = ['"name":' + JSON.stringify(byId("pet-name").value), '"categoryId":' + byId("pet-category").value];
	const status = byId("pet-status").value;
	if (status) fields.push('"status":' + JSON.stringify(status));
	// Written by hand: a category is a 64-bit integer, which a number of JavaScript's may not hold.
	if (await act("Added.", "POST", "pets", "{" + fields.join(",") + "}")) byId("pet-name").value = "";
});
