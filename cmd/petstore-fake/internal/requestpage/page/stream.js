
// ---- The stream of events, which says when something has changed

const silence = 5000; // milliseconds without a sign of the program, which gives one every 2 s
const spacing = 250; // milliseconds between two requests for what changed
let stream, retryTimer, askTimer, turn = 0, asking = false, again = false, askedAt = 0;
let heard = 0, clockOffset = 0, journal = 0; // heard: when the program was heard last, by the browser's clock

const now = () => Date.now() + clockOffset;
const clockOf = (ms) => new Date(ms).toISOString().slice(11, 19);

function live(state, text = state) {
	byId("live").dataset.state = state;
	setText(byId("live"), text);
	const lost = state === "lost", gone = byId("gone");
	document.documentElement.classList.toggle("lost", lost);
	if (lost === !gone.hidden) return;
	gone.hidden = !lost;
	setText(gone, lost ? "No response from the program since " + clockOf(heard + clockOffset) +
		" UTC. The page shows the state at that time, and goes on by itself when the program is back." : "");
}

function hear() {
	heard = Date.now();
	live("live");
}

const lose = () => live(heard ? "lost" : "connecting", heard ? "no response" : "connecting");

// refresh asks for what has changed: at most four times a second, or at once for the reader.
async function refresh(atOnce = "") {
	clearTimeout(askTimer);
	const pause = askedAt + spacing - Date.now();
	if (!atOnce && (asking || pause > 0)) {
		again = true;
		if (!asking) askTimer = setTimeout(refresh, pause);
		return;
	}
	const mine = ++turn;
	[asking, again, askedAt] = [true, false, Date.now()];
	let text = "", error;
	try { text = await ask("GET", "page?" + query); } catch (e) { error = e; }
	if (mine !== turn) return; // the reader has gone on
	asking = false;
	if (!error || error.status === 400) { // filters that are none
		byId("find-error").hidden = !error;
		setText(byId("find-error"), error?.message ?? "");
	}
	if (!error) take(parse(text), atOnce);
	if (again) refresh();
}

// take shows the parts of the page as they are now.
function take(parts, atOnce) {
	const { now: time, journal: number } = parts.firstElementChild.dataset;
	const cleared = journal && number !== journal;
	[clockOffset, journal] = [Number(time) - Date.now(), number];
	for (const part of [...parts.children]) {
		if (part.id === "list") show(part, atOnce === "found" || cleared);
		else if (byId(part.id)) morph(byId(part.id), part);
	}
	if (cleared && open) {
		say("The journal was cleared. The request that was open is no longer in it.", true);
		closeRequest();
	}
	tick();
}

// span writes the time until a moment.
function span(ms) {
	const s = Math.max(0, Math.ceil(ms / 1000));
	const two = (n) => String(n).padStart(2, "0");
	const minutes = s < 3600 ? Math.floor(s / 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60);
	return minutes + ":" + two(s % 60);
}

function tick() {
	release();
	if (document.hidden || !heard) return;
	if (Date.now() - heard > silence) return lose();
	byId("clock").dateTime = new Date(now()).toISOString();
	setText(byId("clock"), byId("clock").dateTime.slice(0, 19).replace("T", " "));
	for (const e of document.querySelectorAll("[data-until]")) setText(e, span(e.dataset.until - now()));
}

function listen() {
	clearTimeout(retryTimer);
	stream?.close();
	stream = new EventSource("/_fake/events");
	stream.onmessage = () => { hear(); refresh(); };
	on(stream, "beat", () => { hear(); refresh(); }); // a window or a ban may have ended
	stream.onerror = () => {
		lose();
		if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(listen, 2000);
	};
}

// A page that nobody looks at takes none of the few connections that a browser has for a host.
on(document, "visibilitychange", () => {
	if (!document.hidden) {
		heard &&= Date.now(); // it has not listened
		return listen();
	}
	clearTimeout(retryTimer);
	stream?.close();
	live("paused");
});

document.documentElement.classList.add("script");
if (query.get("key")) byId("key").value = query.get("key");
if (open) byId("faults-fold").open = false;
if (!document.hidden) listen();
setInterval(tick, 1000);
