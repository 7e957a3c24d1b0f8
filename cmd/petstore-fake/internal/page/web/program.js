// This script sends requests to the program.

let messageTimer;

// say shows a message for 4 seconds or, if something went wrong, for 10 seconds.
function say(text, wrong = false) {
	setText(byId("message"), text);
	byId("message").classList.toggle("wrong", wrong);
	clearTimeout(messageTimer);
	messageTimer = setTimeout(() => setText(byId("message"), ""), wrong ? 10000 : 4000);
}

// ask calls an admin route and returns the text of the response. It throws an error for the reader.
async function ask(method, path, body) {
	let response, text;
	try {
		response = await fetch("/_fake/" + path, { method, body, signal: AbortSignal.timeout(3000) });
		text = await response.text();
	} catch {
		throw new Error("The program cannot be reached.");
	}
	if (!response.ok) throw new Error(JSON.parse(text).error);
	return text;
}

// act sends a request for an element: data-act is the method and the path, data-confirm a question
// that the reader must confirm first, and data-done the message after a success. A form shows an
// error beside its field; for a button, the error is the message.
async function act(e, body) {
	const [method, path] = e.dataset.act.replace("{key}", byId("key").value).split(" ");
	if (e.dataset.confirm && !confirm(e.dataset.confirm)) return;
	let error = "";
	try {
		await ask(method, path, body);
		say(e.dataset.done);
		refresh();
	} catch ({ message }) { error = message; }
	if (!e.elements) return error && say(error, true);
	setText(e.querySelector(".error"), error);
	e.elements[0].ariaInvalid = error ? "true" : null;
	if (error) e.elements[0].focus();
}

async function copy(from) {
	try {
		await navigator.clipboard.writeText(from.textContent);
		say("Copied.");
	} catch {
		getSelection().selectAllChildren(from); // no clipboard: the page came over http from another machine
		say("Selected; copy it with the keyboard.");
	}
}

on(document, "click", ({ target }) => {
	const b = target.closest("button");
	if (b?.dataset.act) act(b, b.dataset.body);
	else if (b?.dataset.copy) copy(byId(b.dataset.copy));
	else if (b?.dataset.fault) {
		byId("fault").value = b.dataset.fault;
		byId("fault-form").requestSubmit();
	}
});

on(document, "submit", (e) => {
	e.preventDefault();
	act(e.target, e.target.elements[0].value); // the first field has JSON, or its short form
});
