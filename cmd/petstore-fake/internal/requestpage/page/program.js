
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
		throw new Error(e.name === "TimeoutError" ? "No response from the program within 3 s." : "The program cannot be reached.");
	}
	if (response.ok) return text;
	let reason = "The program responded with status " + response.status + ".";
	try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
	throw new Error(reason);
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
		for (const path of paths) {
			const text = await ask(method, path, body);
			if (e.id === "repeat") go(to("request", JSON.parse(text).seq));
		}
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
});

// A form sends its fields with = between them. For a pet it writes JSON by hand, because a number
// of JavaScript cannot hold every category, a 64-bit integer.
on(document, "submit", (e) => {
	e.preventDefault();
	const fields = [...e.target.elements].filter((f) => f.name && f.value);
	const pet = fields.map((f) => JSON.stringify(f.name) + ":" + (f.name === "categoryId" ? f.value : JSON.stringify(f.value)));
	act(e.target, e.target.id === "add-pet" ? "{" + pet + "}" : fields.map((f) => f.value + (f.dataset.unit ?? "")).join("="));
});

// ---- Faults: what is written is what is injected; the boxes write, too

const fault = byId("fault"), boxes = [...document.querySelectorAll("[data-field]")];

// put gives the fault another value of a field; "" takes the field away.
function put(field, value) {
	const others = fault.value.split(",").filter((word) => word.trim() && !word.trim().startsWith(field + "="));
	fault.value = others.concat(value ? field + "=" + value : []).join();
}

for (const box of boxes) on(box, "change", () => put(box.dataset.field, box.value));
on(byId("presets"), "click", ({ target: { dataset } }) => {
	if (!dataset.fault) return;
	fault.value = dataset.fault;
	for (const { dataset: { field }, value } of boxes) if (value && !dataset.fault.includes(field + "=")) put(field, value);
	byId("fault-form").requestSubmit();
});
