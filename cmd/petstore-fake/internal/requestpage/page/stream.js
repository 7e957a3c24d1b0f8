
// ---- The stream of events, which says when something has changed

const silence = 5000; // milliseconds without a sign of the program, which gives one every 2 s
let stream, retryTimer, askTimer, turn = 0, asking = false, again = false, askedAt = 0;
let spacing = 250; // milliseconds between two requests for what changed: more if the page is slow to show it
let heard = Date.now(), clockOffset = 0; // heard: when the program was heard last, by the browser's clock

const now = () => Date.now() + clockOffset;
const state = () => byId("strip").dataset;

function live(word, text = word) {
	byId("live").dataset.state = word;
	setText(byId("live"), text);
	const lost = word === "lost", gone = byId("gone");
	document.documentElement.classList.toggle("lost", lost);
	if (lost === !gone.hidden) return;
	gone.hidden = !lost;
	setText(gone, lost ? "No response from the program since " + new Date(heard + clockOffset).toISOString().slice(11, 19) +
		" UTC. The page shows the state at that time, and goes on by itself when the program is back." : "");
}

const lose = () => live("lost", "no response");

// refresh asks for what has changed: at most four times a second, or at once for the reader. The program leaves
// out the rows of a list that stands still.
async function refresh(atOnce = false, sameList = false) {
	clearTimeout(askTimer);
	const pause = askedAt + spacing - Date.now();
	if (!atOnce && (asking || pause > 0)) {
		again = true;
		if (!asking) askTimer = setTimeout(refresh, pause);
		return;
	}
	const mine = ++turn, address = location.search;
	[asking, again, askedAt] = [true, false, Date.now()];
	let text = "";
	try { text = await ask("GET", "page?top=" + topRow(sameList) + address.replace("?", "&")); } catch { /* the stream shows it */ }
	if (mine !== turn) return; // the reader has gone on
	asking = false;
	if (text) take(parse(text), address);
	if (again) refresh();
}

// take shows the parts of the page as they are now.
function take(parts, address) {
	const begun = performance.now(), before = shown;
	shown = address;
	for (const part of [...parts.children]) morph(byId(part.id), part);
	clockOffset = state().now - Date.now();
	mark();
	document.querySelector("main").toggleAttribute("data-open", param("request") !== "");
	announce(before);
	tick();
	requestAnimationFrame(() => setTimeout(() => { spacing = Math.min(1000, Math.max(250, 10 * (performance.now() - begun))); }));
}

// span writes the time until a moment.
function span(ms) {
	const s = Math.max(0, Math.ceil(ms / 1000));
	const two = (n) => String(n).padStart(2, "0");
	const minutes = s < 3600 ? Math.floor(s / 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60);
	return minutes + ":" + two(s % 60);
}

function tick() {
	if (byId("release") && !still()) refresh();
	if (document.hidden || Date.now() - heard > silence) return document.hidden || lose();
	byId("clock").dateTime = new Date(now()).toISOString();
	setText(byId("clock"), byId("clock").dateTime.slice(0, 19).replace("T", " "));
	for (const e of document.querySelectorAll("[data-until]")) setText(e, span(e.dataset.until - now()));
}

// hear hears of the program. An event has the number of changes so far, which the page may show already.
function hear(e) {
	heard = Date.now();
	live("live");
	const same = e.lastEventId === state().changes;
	if (e.type === "beat" || !same) refresh(false, same);
}

function listen() {
	clearTimeout(retryTimer);
	stream?.close();
	stream = new EventSource("/_fake/events");
	stream.onmessage = hear;
	on(stream, "beat", hear); // a window or a ban may have ended
	stream.onerror = () => {
		lose();
		if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(listen, 2000);
	};
}

// A page that nobody looks at takes none of the few connections that a browser has for a host.
on(document, "visibilitychange", () => {
	if (!document.hidden) {
		heard = Date.now(); // it has not listened
		return listen();
	}
	clearTimeout(retryTimer);
	stream?.close();
	live("paused");
});

clockOffset = state().now - Date.now();
shown = location.search;
if (param("key")) byId("key").value = param("key");
mark();
tick();
if (!document.hidden) listen();
setInterval(tick, 1000);
