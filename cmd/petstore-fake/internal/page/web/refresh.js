// This script keeps the page up to date: up to four times a second, it asks for changed parts.

let timer, turn = 0;
let answered; // the last question whose response the page has shown
let heard = Date.now(), clockOffset = 0; // heard: the time of the program's last response

const now = () => Date.now() + clockOffset;
const ends = () => document.querySelectorAll("[data-until]"); // show the time until a window ends

function live(word, text = word) {
	byId("live").dataset.state = word;
	setText(byId("live"), text);
	byId("gone").hidden = word !== "lost";
	setText(byId("since"), new Date(heard + clockOffset).toISOString().slice(11, 19));
}

// refresh asks for the parts of the page, shows them, and starts the timer for the next refresh. If
// the page has the newest version, the program sends no parts. For a list that stands still, the
// program sends no rows.
async function refresh() {
	clearTimeout(timer);
	const mine = ++turn, address = location.search, query = new URLSearchParams(address);
	if (document.hidden) return live("paused");
	if (topRow()) query.set("top", topRow());
	const question = "page?" + query, over = [...ends()].some((e) => e.dataset.until < now());
	const version = question === answered && !over ? byId("strip").dataset.version : "";
	let text;
	try {
		text = await ask("GET", question + "&version=" + version);
		heard = Date.now();
	} catch { /* there was no response */ }
	if (mine !== turn) return; // another refresh has begun meanwhile, for example for a new address
	live(...text === undefined ? ["lost", "no response"] : ["live"]);
	if (text) {
		take(parse(text), address);
		answered = question;
	}
	timer = setTimeout(refresh, text === undefined ? 1000 : 250);
}

// take puts new parts into the page. They belong to the given address.
function take(parts, address) {
	const before = shown;
	shown = address;
	for (const part of [...parts.children]) morph(byId(part.id), part);
	clockOffset = byId("strip").dataset.now - Date.now();
	mark();
	document.querySelector("main").toggleAttribute("data-open", param("request") !== "");
	announce(before);
	tick();
}

function tick() {
	if (byId("live").dataset.state === "lost") return;
	byId("clock").dateTime = new Date(now()).toISOString();
	setText(byId("clock"), byId("clock").dateTime.slice(0, 19).replace("T", " "));
	for (const e of ends()) setText(e, new Date(Math.max(0, e.dataset.until - now())).toISOString().slice(11, 19));
}

on(document, "visibilitychange", () => refresh());
if (param("key")) byId("key").value = param("key");
refresh();
setInterval(tick, 1000);
