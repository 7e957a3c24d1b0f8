package report

// What the document says around its tables.

const intro = `# Benchmarks

What a call costs with this client, and with what one could use instead. Every number is of one run that
measured all clients side by side; the tables give CPU time as a ratio to net/http with encoding/json, the way
a careful user writes it, since a ratio can be compared between machines and a time cannot. Below 1 is less.

![CPU time per call as a ratio to net/http with encoding/json](benchmarks.svg)

The bars reach from quartile to quartile of the rounds. All of ours is measured with the limiter, the retries,
the timeout of each attempt and the strict decoding on; none of the others has a limiter, and by
default only go-retryablehttp retries.

## What to read from them
`

const reading = `
**Lists** are where the time goes, and where the decoder decides: the longer the list, the further ahead.
ogen is the one other client that does not decode by reflection.

**create, get and 404** have a body of 70 bytes or so: what is measured is what happens around it. Ours has a
lock and a permit of the limiter, a context with a timer for the attempt and the loop of go-retryablehttp to pay
for; the yardstick has none of them.

**Over TCP** the system calls, net/http's connections and the scheduler's wakeups are the same for everybody,
some 60 µs of CPU time for calls one after another and 20 µs from many goroutines, and pull all ratios
towards 1. A difference of a microsecond or two in the small calls is then less than the rounds differ by.

**64 goroutines** share one connection pool that is large enough, the same for all clients, so that the rows
compare the clients. What the pools of the defaults cost is in the table of connections.

**A toolchain is part of a ratio**: Go 1.27 builds encoding/json on its new version 2, and so moves the
yardstick.
`

const method = `
## Method

- The program is the module [bench](../bench). It generates the clients of ogen and oapi-codegen from
  [openapi.yaml](../openapi.yaml), with their defaults and from OpenAPI 3.1 as it is, lays them over its own
  source in the build and starts the result; nothing generated is kept.
- **Same answers**: lists of 20 and 100 animals, one animal, and a 404, each with Date, Content-Type,
  Content-Length and the three rate limit headers. The stub is an http.RoundTripper on the caller's
  goroutine; over TCP there is one net/http server, in a process of its own, so that its time is not counted.
- **Same job**: before anything is measured, each client has to bring the same typed result, or the code of
  the Error object, and the same rate limit. ogen and oapi-codegen parse the headers by themselves; for
  the others the adapter does it with strconv, ours included in its result.
- **CPU time** is user and system time of the whole process, garbage collection included (getrusage). Garbage of
  earlier calls is collected before each measurement.
- **Rounds** are interleaved: in each, every client makes the same number of calls, as many as take the
  yardstick about 40 ms, beginning with another client each time. A ratio is taken within a round. Tables show the
  median and, in parentheses, the quartiles. The last column compares ours with the fastest of all others, again
  round by round: **ahead** if the upper quartile is below 1, **behind** if the lower one is above 1, else **level**.
- Memory is what the runtime has counted: medians over the rounds.
- **Connections** are counted by the server, in three runs, each client with its own default transport. Of the calls
  that are cancelled the server has the request and never answers. HTTPS is without HTTP/2.
- **Large bodies** come over net/http's transport on a connection in memory. "Allocated in all" is with the garbage
  collector off, and so an upper bound of what the call can hold at a time; "most at a time" is the growth of the heap
  with the collector as usual, garbage not yet collected included, sampled without pause from runtime/metrics, the
  worst of five calls. The bodies without an end, or with one far away, are read up to the bound, 10 MiB by
  default, and refused; the other clients have no bound.
- The benchmarks of package fake are its own ("go test -bench . ./fake"), but for the CPU time of its server over TCP.
- The machine is shared and noisy. Times are for orientation only.

## Run it

    cd bench                        # a module of its own: go run ./bench from the root finds no package
    go mod download                 # once; after that no network is needed
    go run . -quick                 # a look, under a minute
    go run .                        # all of it, some minutes
    go run . -update                # the same, and writes this document
    GOTOOLCHAIN=go1.27.4 go run . -update
    go run . -only heap,connections # parts: calls, connections, writes, heap, service, fake
    go test ./...                   # every client does its job; no times

From the root of the repository it is "go -C bench run .".
`
