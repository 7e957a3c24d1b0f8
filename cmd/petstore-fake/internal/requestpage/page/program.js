
// ---- Requests to the program

const patience = 5000; // milliseconds that a button waits
let messageTimer;

// say tells the reader something.
function say(text, wrong = false) {
	setText(byId("message"), text);
	byId("message").classList.toggle("wrong", wrong);
	clearTimeout(messageTimer);
	messageTimer = setTimeout(() => setText(byId("message"), ""), wrong ? 10000 : 4000);
}

// ask calls an admin route with JSON and returns the text of the response.
async function ask(method, path, body) {
	let response, text;
	try {
		const headers = { "Content-Type": "application/json" };
		response = await fetch("/_fake/" + path, { method, headers, body, signal: AbortSignal.timeout(patience) });
		text = await response.text();
	} catch (e) {
		throw new Error(e.name === "TimeoutError" ? "No response from the program within 5 s." : "The program cannot be reached.");
	}
	if (response.ok) return text;
	let reason = "The program responded with status " + response.status + ".";
	try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
	throw Object.assign(new Error(reason), { status: response.status });
}

async function copy(text, from) {
	try {
		await navigator.clipboard.writeText(text);
		say("Copied.");
	} catch {
		setText(from, text);
		getSelection().selectAllChildren(from); // without a clipboard, as over plain http in a network
		say("Selected; copy it with the keyboard.");
	}
}

// act does what an element says: a method and the paths to call it with, what to say then, and perhaps a
// question before.
async function act(e, body) {
	const chosen = byId("key").selectedOptions[0];
	const [method, ...paths] = e.dataset.act.replace("{key}", chosen?.value).split(" ");
	if (e.dataset.confirm && !confirm(e.dataset.confirm.replace("{name}", chosen?.text))) return false;
	try {
		for (const path of paths) await ask(method, path, body);
		say(e.dataset.done);
		return true;
	} catch (error) {
		say(error.message, true);
		return false;
	}
}

on(document, "click", async (e) => {
	const b = e.target.closest?.("button");
	if (b?.dataset.act) act(b, b.dataset.body);
	else if (b?.dataset.copy) copy(byId(b.dataset.copy).textContent, byId(b.dataset.copy));
	else if (b?.dataset.curl) {
		try { copy(JSON.parse(await ask("GET", b.dataset.curl)).curl, byId("curl")); } catch (error) { say(error.message, true); }
	}
});

// written writes a field as JSON. A category is a 64-bit integer, which a number of JavaScript's may not hold.
const written = (e) => e.hasAttribute("data-raw") ? e.value : JSON.stringify(e.value + (e.dataset.unit ?? ""));

for (const form of document.querySelectorAll("form[data-act]")) {
	on(form, "submit", async (e) => {
		e.preventDefault();
		const fields = [...form.elements].filter((f) => f.name && f.value).map((f) => JSON.stringify(f.name) + ":" + written(f));
		if (await act(form, "{" + fields.join() + "}")) for (const f of form.querySelectorAll(".once")) f.value = "";
	});
}
