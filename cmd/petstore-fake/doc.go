// Petstore-fake is the Pet Store Service in memory, as a program of its own: what package
// [github.com/petstore/petstore-go/fake] is for tests in Go, it is for everybody else.
//
//	petstore-fake                      # http://127.0.0.1:4010/v1, the key is fake-api-key
//	petstore-fake -plan free -seed pets.json -log text
//
// It prints its base URL, its key, its routes and a curl line, and serves until SIGTERM or an
// interrupt. Nothing is kept on disk. What it answers where the service document is silent is told
// by the documentation of package fake.
//
// # Flags
//
// Each flag can be given by the environment too: -addr as PETSTORE_FAKE_ADDR, and so on. A flag wins
// over its variable, and an empty variable is as good as none.
//
//	-addr HOST:PORT        where to listen; 127.0.0.1:4010
//	-key KEY               the one API key in place of fake-api-key
//	-plan PLAN             of that key: free, pro, business (the default) or enterprise:M,D, with the
//	                       requests per minute and per day, 0 for unlimited
//	-seed FILE             animals to begin with, a JSON array of NewPet objects
//	-latency DURATION      holds every answer of the service back, such as 50ms
//	-fault SPEC            a failure on demand; may be given several times, see below
//	-ban AFTER,DURATION    bans a key for so long after so many requests that follow a 429: 5,10m
//	-variant LIST          what to do where the service document is silent, see below
//	-log FORMAT            writes a line for each request of the service to stderr: text or json.
//	                       No key is in it.
//	-public[=NAMES]        allows an address that is not loopback, and with it everybody who reaches it
//	                       to steer the fake; NAMES, separated by commas, are host names by which the
//	                       admin routes may be called then
//	-version, -help        print and exit
//
// # Ports for scripts
//
// With port 0 the system picks a free port. Standard output is then one line, the port's decimal
// number and nothing else, written once the port accepts connections; what is otherwise printed there
// goes to standard error:
//
//	mkfifo out
//	petstore-fake -addr 127.0.0.1:0 >out &
//	read -r port <out
//	base_url=http://127.0.0.1:$port/v1
//
// # Faults
//
// A fault is a list of fields with commas between them; several faults are separated by semicolons.
//
//	-fault status=503,operation=createPet,times=2,after-commit
//	-fault 'status=429,retry-after="Fri, 31 Dec 2032 23:59:59 GMT"; wire=reset,chance=0.1,times=forever'
//
// The fields are those of fake.Fault: operation, key, skip, times (a number or forever), chance,
// delay, after-commit, status, code, message, retry-after, header ("Name: value", or a name alone to
// take that header away; may be repeated), body, and wire (reset, close, truncate, garbage, stall,
// drip or refuse). A value with a comma or semicolon stands in double quotes, as a Go string. A fault
// can be written as a JSON object too, as the admin routes take it.
//
// # Variants
//
// The value of -variant is a name of fake.Variants, or any list of behaviours such as
// retry-after=date,window=sliding: default-status (none, available, pending, sold), retry-after
// (seconds, date, absent), limit-body (error, empty, html), order (ascending, descending, shuffled),
// invalid-limit (reject, ignore, clamp), invalid-status (reject, ignore), window (fixed, aligned,
// sliding), removal and deprecation-headers (off, on). What is not named is as ever.
//
// # The request page
//
// A browser gets a page at http://127.0.0.1:4010/_fake/ that shows what arrives while it arrives: time,
// operation, key, status, duration, fault, and why a request was refused, with the section of the
// service document. It filters, shows a request with its answer in full, copies it as curl, saves all
// as HAR, draws the windows of a key and the last minutes, and has buttons for faults, latency, bans,
// the clock, the animals and a fresh start. It is one document that loads nothing from elsewhere. No
// key is on it. Without JavaScript it lists the last requests.
//
// It follows the stream of events among the admin routes. Each event is a JSON object: rows (requests that are new or
// were answered), gone (requests that fit the filters no longer), fresh (the rows are in place of all
// before), now (the service's clock), and state (windows, faults, animals and traffic, the parts that
// have changed). A stream that reconnects with Last-Event-ID goes on where it was; a reader that takes
// nothing for 10 seconds is dropped, and there are at most 16 streams.
//
// # Admin routes
//
// They are on the same port. Their requests are not counted, not delayed, never struck by a fault and
// not in the journal.
//
//	GET    /_fake/                    the request page for a browser; for others these routes, as JSON
//	GET    /_fake/requests            the journal, oldest first, with request and answer; filters:
//	                                  operation (none: fits none), method, status (429, 4xx; 0: no
//	                                  answer), key (an id, none, unknown), fault (true, false), since
//	                                  (seq after which), limit (the last 100)
//	GET    /_fake/requests/{id}       a request by its seq, with the curl command that sends it again;
//	                                  bytes bounds what there is of its bodies
//	DELETE /_fake/requests            clears the journal
//	GET    /_fake/har                 the journal as HTTP archive (HAR 1.2); filters: operation to fault
//	GET    /_fake/events              what happens, as server-sent events; filters: operation to fault
//	GET    /_fake/violations          what a well-behaved client would not have done
//	POST   /_fake/reset               starts afresh: the pets of -seed, ids, journal, windows, bans, no
//	                                  faults; keys, plans and the clock stay
//	GET    /_fake/clock               the service's time, and how far it was advanced
//	POST   /_fake/clock               {"advance":"1m"} moves the clock: windows pass, bans end
//	GET    /_fake/latency             how long every answer of the service is held back
//	PUT    /_fake/latency             {"latency":"50ms"} changes that
//	GET    /_fake/faults              the faults, with how often each has struck
//	POST   /_fake/faults              {"status":503,"times":2,"afterCommit":true} injects a fault
//	DELETE /_fake/faults              removes all faults
//	DELETE /_fake/faults/{id}         removes a fault
//	GET    /_fake/keys                the keys, with their plans and windows
//	POST   /_fake/keys                {"key":"team-key-000001","plan":"pro"} adds a key
//	GET    /_fake/keys/{id}           a key
//	DELETE /_fake/keys/{id}           revokes a key: it gets 401
//	PUT    /_fake/keys/{id}/plan      {"plan":"enterprise:100,5000"} changes its plan
//	PUT    /_fake/keys/{id}/ban       {"duration":"10m"} bans it
//	DELETE /_fake/keys/{id}/ban       lifts its ban
//	GET    /_fake/pets                the catalogue by ascending id; filters: status, after (an id),
//	                                  limit (100)
//	POST   /_fake/pets                {"name":"Rex","categoryId":1} adds an animal
//	GET    /_fake/pets/{id}           an animal
//	PUT    /_fake/pets/{id}/status    {"status":"sold"} gives it another status, "" none
//	DELETE /_fake/pets/{id}           deletes it
//	GET    /_fake/openapi             the service as an OpenAPI document (YAML)
//
// Answers are JSON, and refusals are {"error":"..."}. A key goes into a request in full and comes out
// as its first letters, except fake-api-key, which is no secret; keys are told apart by id, the key of
// the command line being 1. Durations are written as in Go: 1h30m, 50ms.
//
// The Host of an admin request must be a loopback name or address, with -public also any IP address,
// the host of -addr and the names given; its Origin, if it has one, must be that host. All else gets
// 403, and so does what a page of another site asks for by itself: such a page can link here, and
// neither steer the program nor look at it. A request that changes something says Content-Type:
// application/json, or has neither body nor Origin.
//
// # Exit status
//
// 0 after a signal, after at most 5 seconds even if requests are open; 1 if the address cannot be
// listened on; 2 if a flag or a variable is wrong.
package main
