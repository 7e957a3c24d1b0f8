
// ---- Requests to the program

let messageTimer;

// say shows the reader a message.
function say(text, wrong = false) {
	setText(byId("message"), text);
	byId("message").classList.toggle("wrong", wrong);
	clearTimeout(messageTimer);
	messageTimer = setTimeout(() => setText(byId("message"), ""), wrong ? 10000 : 4000);
}

// ask calls an admin route and returns the text of the response.
async function ask(method, path, body) {
	let response, text;
	try {
		response = await fetch("/_fake/" + path, { method, body, signal: AbortSignal.timeout(3000) });
		text = await response.text();
	} catch (e) {
		const late = e.name === "TimeoutError";
		throw new Error(late ? "No response from the program within 3 s." : "The program cannot be reached.");
	}
	if (response.ok) return text;
	throw new Error(JSON.parse(text).error);
}

// act sends the requests that the attributes of an element describe: a method and one or more
// paths. It may ask a question before, and shows a message after. The error of a form is shown
// beside its field.
async function act(e, body) {
	const chosen = byId("key").selectedOptions[0], beside = e.querySelector(".error");
	const [method, ...paths] = e.dataset.act.replace("{key}", chosen?.value).split(" ");
	if (e.dataset.confirm && !confirm(e.dataset.confirm.replace("{name}", chosen?.text))) return;
	let error = "";
	try {
		for (const path of paths) await ask(method, path, body);
		say(e.dataset.done);
		refresh();
		for (const field of e.querySelectorAll(".once")) field.value = "";
	} catch ({ message }) { error = message; }
	if (!beside) return error && say(error, true);
	setText(beside, error);
	const wrong = error && ([...e.elements].find((f) => f.name && error.includes(f.name)) ?? e.elements[0]);
	for (const field of e.elements) field.ariaInvalid = field === wrong ? "true" : null;
	if (wrong) wrong.focus();
}

async function copy(from) {
	try {
		await navigator.clipboard.writeText(from.textContent);
		say("Copied.");
	} catch {
		getSelection().selectAllChildren(from); // without a clipboard, as over plain http in a network
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

// member writes a field as JSON has it. A number is sent as it was written, because a number of
// JavaScript cannot hold every category, a 64-bit integer.
function member({ name, value, type, inputMode, dataset }) {
	if (type === "datetime-local") value = new Date(value + "Z").toISOString();
	const isJSON = inputMode === "numeric" || value.startsWith("{");
	return JSON.stringify(name) + ":" + (isJSON ? value : JSON.stringify(value + (dataset.unit ?? "")));
}

on(document, "submit", (e) => {
	e.preventDefault();
	const fields = [...e.target.elements].filter((f) => f.name && f.value);
	act(e.target, e.target.id === "fault-form" ? byId("fault").value : "{" + fields.map(member) + "}");
});
