
// ---- The stream of events

const silence = 5000; // milliseconds without a sign of the program, which gives one every 2 s
let stream, retryTimer, lastEventId = document.body.dataset.position;
let journal = lastEventId.split("-")[0]; // which the program has
let heard = 0, lost = false; // when the program was heard last, by the browser's clock
let anew = false; // whether the reader waits for other rows

function live(state) {
	byId("live").dataset.state = state;
	setText(byId("live"), state);
}

// watch says when the program has gone, or stands still.
function watch() {
	const gone = Date.now() - heard > silence;
	if (gone === lost) return;
	lost = gone;
	document.documentElement.classList.toggle("lost", lost);
	live(lost ? "lost" : "live");
	for (const e of document.querySelectorAll(".gone")) {
		e.hidden = !lost;
		setText(e, lost ? "No response from the program since " + clockOf(heard + clockOffset) +
			" UTC. The page shows the state at that time, and goes on by itself when the program is back." : "");
	}
}

function hear() {
	heard = Date.now();
	watch();
}

// span writes the time until a moment.
function span(ms) {
	const s = Math.max(0, Math.ceil(ms / 1000));
	const two = (n) => String(n).padStart(2, "0");
	const minutes = s < 3600 ? Math.floor(s / 60) : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60);
	return minutes + ":" + two(s % 60);
}

function tick() {
	if (document.hidden || !heard) return;
	watch();
	if (lost) return;
	byId("clock").dateTime = new Date(now()).toISOString();
	setText(byId("clock"), byId("clock").dateTime.slice(0, 19).replace("T", " "));
	for (const e of document.querySelectorAll("[data-until]")) setText(e, span(e.dataset.until - now()));
}

function take(event, id) {
	lastEventId = id;
	const other = journal !== id.split("-")[0];
	journal = id.split("-")[0];
	clockOffset = Date.parse(event.now) - Date.now();
	hear();
	for (const [name, html] of Object.entries(event.state)) {
		for (const e of document.querySelectorAll('[data-part="' + name + '"]')) morphAll(e, parse(html));
	}
	showRows(event, anew || other);
	if (other) forget();
	if (telling) setText(byId("told"), byId("fit").textContent + " requests fit.");
	anew = telling = false;
	if (shown.pending && event.rows.some((r) => r.seq === shown.seq)) openRequest(shown.seq);
	showSlot();
	tick();
}

// listen follows the program. The filters are the program's to apply: it knows more requests than
// the page shows.
function listen(fresh) {
	clearTimeout(retryTimer);
	stream?.close();
	const query = given();
	anew ||= Boolean(fresh);
	query.set("chart", byId("key").value || "1");
	if (!fresh) query.set("lastEventId", lastEventId);
	live("connecting");
	stream = new EventSource("/_fake/events?" + query);
	stream.onopen = () => live("live");
	stream.onmessage = (message) => take(JSON.parse(message.data), message.lastEventId);
	on(stream, "beat", hear);
	stream.onerror = () => {
		live("connecting");
		if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(listen, 2000);
	};
}

on(byId("key"), "change", () => listen());

// A page that nobody looks at takes none of the few connections that a browser has for a host.
on(document, "visibilitychange", () => {
	if (!document.hidden) {
		if (!lost) heard &&= Date.now(); // it has not listened
		return listen();
	}
	clearTimeout(retryTimer);
	stream?.close();
	live("paused");
});
