"use strict";
// The script of the request page: these files one after another. What a request contains goes into the
// page as text and never as markup; the page's policy refuses anything else.

const byId = (id) => document.getElementById(id);
const on = (e, type, f) => e.addEventListener(type, f);
const click = (id, f) => on(byId(id), "click", f);

document.documentElement.classList.add("script");

// make returns an element with properties, attributes and children.
function make(tag, properties = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (name in e) e[name] = value;
		else e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

// draw is make for SVG.
function draw(tag, attributes = {}, ...children) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
	e.append(...children);
	return e;
}

const setText = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// drop removes an element. The focus, if it was in there, goes to the neighbour.
function drop(e) {
	const focused = e.contains(document.activeElement);
	const heir = e.nextElementSibling ?? e.previousElementSibling ?? e.closest("section");
	e.remove();
	if (focused) heir?.querySelector("button, a")?.focus();
}

// match makes the children of a parent those of a list, and keeps the ones that are there, with
// the focus that may be in them.
function match(parent, list, idOf, create, update) {
	const ids = list.map((item) => String(idOf(item)));
	for (const e of [...parent.children]) if (!ids.includes(e.dataset.id)) drop(e);
	const old = new Map([...parent.children].map((e) => [e.dataset.id, e]));
	let at = parent.firstElementChild;
	list.forEach((item, i) => {
		const e = old.get(ids[i]) ?? create(item);
		e.dataset.id = ids[i];
		update(e, item);
		if (e === at) at = at.nextElementSibling;
		else parent.insertBefore(e, at);
	});
}

const button = (text, onclick, properties) => make("button", { type: "button", onclick, ...properties }, text);
