package report

import (
	"fmt"
	"strings"
)

// Documents returns the files for the folder of documents, by name. The plot is of the first report.
func Documents(reports []*Report) map[string]string {
	return map[string]string{
		"benchmarks.md":  document(reports),
		"benchmarks.svg": Plot(reports[0]),
	}
}

func document(reports []*Report) string {
	var out strings.Builder
	out.WriteString(intro)
	for _, r := range reports {
		out.WriteString(standing(r))
	}
	out.WriteString(reading)
	out.WriteString("\n## Goals\n\nWhat the client is to reach on the Go version of its go.mod.\n\n" +
		reports[0].goalTable())
	for _, r := range reports {
		out.WriteString(results(r))
	}
	out.WriteString(method)
	return out.String()
}

// standing is where ours is not ahead of every other client.
func standing(r *Report) string {
	var lines []string
	for _, row := range r.Rows() {
		peer, ratio := r.Best(row)
		if verdict := ratio.verdict(); verdict != "ahead" {
			if verdict == "level" {
				verdict = "level with"
			}
			lines = append(lines, fmt.Sprintf("- %s: %s %s, %s: %s", row, verdict, peer, ratio, row.reason(peer)))
		}
	}
	heading := fmt.Sprintf("\n### Where it is not ahead on %s\n\n", r.Toolchain)
	if len(lines) == 0 {
		return heading + fmt.Sprintf("In none of the %d rows.\n", len(r.Rows()))
	}
	return heading + fmt.Sprintf("In %d of %d rows; ratios are ours to theirs, quartiles in parentheses.\n\n",
		len(lines), len(r.Rows())) + strings.Join(lines, "\n") + "\n"
}

// reason is why ours is not ahead of a peer.
func (r Row) reason(peer string) string {
	list := strings.HasPrefix(r.Operation, "list")
	switch {
	case list && r.Transport == "TCP":
		return "the system calls are the same and outweigh the decoding"
	case list && peer == "ogen":
		return "ogen decodes without reflection, too, and has no limiter"
	case list:
		return "the decoding saves less than the limiter, the attempt's timer and the retry loop cost"
	}
	return "decoding so little saves less than the limiter, the attempt's timer and the retry loop cost"
}

func results(r *Report) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n## Results on %s\n\n%s, %s, %d rounds. ", r.Toolchain, r.Platform, r.Date, r.Rounds)
	out.WriteString("Versions: " + versions(r) + ".\n")
	for _, transport := range []string{"stub", "TCP"} {
		for _, goroutines := range []int{1, 64} {
			heading := map[string]string{"stub": "Without a network", "TCP": "Over TCP"}[transport]
			if goroutines > 1 {
				heading += ", 64 goroutines"
			} else {
				heading += ", one call after another"
			}
			out.WriteString("\n### " + heading + "\n\n" + r.ratioTable(transport, goroutines))
		}
	}
	fmt.Fprintf(&out, "\n### Memory\n\nThrough the stub, one call after another. "+
		"%d B in %d allocations of each are the stub's: the response, its header and its body.\n\n%s",
		r.Stub.Bytes, r.Stub.Allocs, r.memoryTable())
	out.WriteString("\n### Times, for orientation\n\n" + r.timeTable())
	out.WriteString("\n### Connections\n\n64 goroutines, each client with its own transport; " +
		"CPU time per call of client and server together.\n\n" + r.connectionTable())
	out.WriteString("\n### Writes to the socket\n\n" + r.writeTable())
	out.WriteString("\n### Large bodies\n\n" + r.heapTable())
	out.WriteString("\n### The fake\n\n" + r.fakeTable())
	return out.String()
}

func versions(r *Report) string {
	var names []string
	for _, c := range r.Clients {
		if c.Version != "" {
			names = append(names, c.Name+" "+c.Version)
		}
	}
	return strings.Join(names, ", ")
}
