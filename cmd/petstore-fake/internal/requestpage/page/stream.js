
// ---- The stream of events

const silence = 5000; // milliseconds without a sign of the program, which gives one every 2 s
let stream, lastEventId = "", retryTimer;
let heard = 0, lost = false; // when the program was heard last, by the browser's clock

function live(state) {
	byId("live").dataset.state = state;
	setText(byId("live"), state);
}

const show = {
	clock: (value) => { ahead = value; },
	latency: (value) => { latency = value; byId("latency-off").disabled = value === "0s"; },
	keys: showKeys, faults: showFaults, pets: showPets,
	traffic: (part) => { traffic = part; },
	left: (part) => { left = part; },
	violations: (n) => { byId("violations").hidden = n === 0; setText(byId("violations"), many(n, "violation")); },
};

// watch says when the program has gone, or stands still.
function watch() {
	const gone = Date.now() - heard > silence;
	if (gone === lost) return;
	lost = gone;
	document.documentElement.classList.toggle("lost", lost);
	live(lost ? "lost" : "live");
	byId("lost").hidden = !lost;
	setText(byId("lost"), lost ? "No response from the program since " + clockOf(heard + clockOffset) + " UTC. The page shows the state at that time." : "");
}

function hear() {
	heard = Date.now();
	watch();
}

function take(event) {
	clockOffset = Date.parse(event.now) - Date.now();
	hear();
	for (const [name, part] of Object.entries(event.state)) show[name]?.(part);
	showRows(event);
	showCount(event.fit, event.total);
	if (dialog.open && shownOpen && event.rows.some((r) => r.seq === shownSeq && !r.pending)) openRequest(shownSeq);
	tick();
}

// listen follows the program. The filters are the program's to apply: it knows more requests than
// the page shows.
function listen(fresh) {
	clearTimeout(retryTimer);
	stream?.close();
	const query = given();
	if (!fresh && lastEventId) query.set("lastEventId", lastEventId);
	if (keys.list.length) query.set("chart", chosenKey().id);
	live("connecting");
	stream = new EventSource("/_fake/events?" + query);
	stream.onopen = () => live("live");
	stream.onmessage = (message) => {
		lastEventId = message.lastEventId;
		take(JSON.parse(message.data));
	};
	on(stream, "beat", hear);
	stream.onerror = () => {
		live("connecting");
		if (stream.readyState === EventSource.CLOSED) retryTimer = setTimeout(listen, 2000);
	};
}

// A page that nobody looks at takes none of the few connections that a browser has for a host.
on(document, "visibilitychange", () => {
	if (!document.hidden) {
		if (!lost) heard &&= Date.now(); // it has not listened
		return listen(false);
	}
	clearTimeout(retryTimer);
	stream?.close();
	live("paused");
});
