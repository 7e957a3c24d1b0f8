// Each script of the page can use the names of the others. The program makes all HTML, and its
// templates escape the content of requests. The scripts set only texts and attributes.

const byId = (id) => document.getElementById(id);
const on = (e, type, f) => e.addEventListener(type, f);
const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// parse makes elements of HTML, which must come from the program.
function parse(html) {
	const template = document.createElement("template");
	template.innerHTML = html;
	return template.content;
}

// Attributes that the scripts or the browser set: morph must not remove them.
const own = ["aria-current", "open", "tabindex"];

// morph changes the element to until it equals the element from. A child that both have stays, with
// its focus, scroll position and selection. Children with ids are the same if their ids are equal,
// other children if their places are equal.
function morph(to, from) {
	for (const name of to.getAttributeNames()) {
		if (!from.hasAttribute(name) && !own.includes(name)) to.removeAttribute(name);
	}
	for (const { name, value } of from.attributes) if (to.getAttribute(name) !== value) to.setAttribute(name, value);
	let at = to.firstChild;
	const here = new Map([...to.children].filter((e) => e.id).map((e) => [e.id, e]));
	for (const wanted of [...from.childNodes]) {
		const fits = wanted.id ? here.get(wanted.id) : at;
		if (fits?.nodeName !== wanted.nodeName || !wanted.id && fits.id) {
			to.insertBefore(wanted, at);
			continue;
		}
		while (wanted.id && at !== fits) at = drop(at);
		at = at.nextSibling;
		if (fits.isEqualNode(wanted)) continue;
		if (wanted.nodeType === Node.ELEMENT_NODE) morph(fits, wanted);
		else fits.data = wanted.data;
	}
	while (at) at = drop(at);
}

// drop removes a node and returns the next one. If the node had the focus, a button or link in a
// neighbour gets the focus or, if the neighbours have none, one in the section around them.
function drop(e) {
	const next = e.nextSibling;
	const heirs = [e.nextElementSibling, e.previousElementSibling, e.parentElement.closest("section, header")];
	const focused = e.contains(document.activeElement);
	e.remove();
	if (focused) heirs.map((heir) => heir?.querySelector("button, a")).find(Boolean)?.focus();
	return next;
}
