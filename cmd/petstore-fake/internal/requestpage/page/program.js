
// ---- Requests to the program

const patience = 5000; // milliseconds that a button waits
let messageTimer;

// say tells the reader something, on top of an open dialog, which would cover it.
function say(text, wrong = false) {
	for (const e of document.querySelectorAll(".message")) e.textContent = "";
	const e = document.querySelector("dialog:modal .message") ?? byId("message");
	e.textContent = text;
	e.classList.toggle("wrong", wrong);
	clearTimeout(messageTimer);
	messageTimer = setTimeout(() => { e.textContent = ""; }, wrong ? 10000 : 4000);
}

// ask calls an admin route. body is a value, or JSON text.
async function ask(method, path, body, read = "json") {
	const init = { method, headers: { "Content-Type": "application/json" }, signal: AbortSignal.timeout(patience) };
	if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
	let response, text;
	try {
		response = await fetch("/_fake/" + path, init);
		if (response.ok && response.status !== 204) return await response[read]();
		text = await response.text();
	} catch (e) {
		throw new Error(e.name === "TimeoutError" ? "No response from the program within 5 s." : "The program cannot be reached.");
	}
	if (response.ok) return null;
	let reason = "The program responded with status " + response.status + ".";
	try { reason = JSON.parse(text).error; } catch { /* it is no JSON */ }
	throw new Error(reason);
}

async function act(done, method, path, body) {
	try {
		await ask(method, path, body);
		say(done);
		return true;
	} catch (e) {
		say(e.message, true);
		return false;
	}
}

async function copy(text, from) {
	try {
		await navigator.clipboard.writeText(text);
		say("Copied.");
	} catch {
		getSelection().selectAllChildren(from); // without a clipboard, as over plain http in a network
		say("Selected; copy it with the keyboard.");
	}
}

// ---- Time and numbers

let clockOffset = 0; // the service's clock minus the browser's, in milliseconds

const now = () => Date.now() + clockOffset;
const count = (n) => n.toLocaleString("en");
const many = (n, word) => count(n) + " " + word + (n === 1 ? "" : "s");
const clockOf = (ms) => new Date(ms).toISOString().slice(11, 19);

// span writes the time until a moment.
function span(ms) {
	const s = Math.max(0, Math.ceil(ms / 1000));
	const two = (n) => String(n).padStart(2, "0");
	if (s < 3600) return Math.floor(s / 60) + ":" + two(s % 60);
	return Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}
