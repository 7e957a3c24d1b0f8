package replay

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/cmd/petstore-fake/internal/spec"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

// longest bounds a request that is sent again, which a fault may let wait without an end.
const longest = time.Minute

// Send sends a request again to its fake, with the key it came with, and calls done with the
// response: with the status 0 if there is none. It does not wait for that; closing the fake ends
// it.
func Send(srv *fakecontrol.Server, origin string, r fake.Request, done func(*http.Request, int, http.Header)) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	again, err := http.NewRequestWithContext(ctx, r.Method, origin+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		cancel()
		return errors.New("this request cannot be sent again: its method or its path is none of HTTP")
	}
	again.Header = r.Header.Clone()
	for _, k := range srv.Keys() {
		if k.Number == r.Key {
			again.Header.Set("Authorization", "Bearer "+k.APIKey)
		}
	}
	go func() {
		defer cancel()
		resp, err := srv.HTTPClient().Transport.RoundTrip(again)
		if err != nil {
			done(again, 0, nil)
			return
		}
		_ = resp.Body.Close()
		done(again, resp.StatusCode, resp.Header)
	}()
	return nil
}

// Go returns a program that sends a request again by this module's client, with a key as for
// [Curl], or a comment if the client sends no such request.
func Go(origin string, r fake.Request, key string) string {
	call := moduleCall(r)
	if call == "" {
		return "// The client of petstore-go does not send such a request.\n"
	}
	option := ""
	if u, err := url.Parse(origin); err == nil && u.Scheme == "http" && !spec.IsLoopback(u.Hostname()) {
		option = ", petstore.WithInsecureHTTP()"
	}
	imported := ""
	if key == "" {
		key, imported = `os.Getenv("PETSTORE_API_KEY")`, "\n\t\"os\""
	} else {
		key = strconv.Quote(key)
	}
	return fmt.Sprintf(`package main

import (
	"context"
	"fmt"
	"log"%s

	petstore "github.com/petstore/petstore-go"
)

func main() {
	client, err := petstore.NewClient(%q, %s%s)
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.%s
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%%+v\n", result)
}
`, imported, origin+"/v1", key, option, call)
}

// moduleCall returns the call of the module's client that sends a request, "" if there is none.
func moduleCall(r fake.Request) string {
	target, err := url.ParseRequestURI(r.Path)
	if err != nil || r.Operation != petstore.OpCreatePet && len(r.Body) > 0 {
		return ""
	}
	query := target.Query()
	switch r.Operation {
	case petstore.OpListPets:
		return listCall(query)
	case petstore.OpCreatePet:
		pet, err := fakecontrol.ParseNewPet(r.Body)
		if err != nil || len(query) > 0 {
			return ""
		}
		return fmt.Sprintf("CreatePet(context.Background(), petstore.NewPet{Name: %q, CategoryID: %d, Status: %q})",
			pet.Name, pet.CategoryID, pet.Status)
	case petstore.OpGetPet:
		id, err := strconv.ParseInt(strings.TrimPrefix(target.Path, "/v1/pets/"), 10, 64)
		if err != nil || len(query) > 0 {
			return ""
		}
		return fmt.Sprintf("GetPet(context.Background(), %d)", id)
	}
	return ""
}

// listCall returns a call of listPets.
func listCall(query url.Values) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(name)
		limit, err := strconv.Atoi(value)
		switch {
		case len(query[name]) > 1:
			return ""
		case name == "limit" && err == nil && limit >= 1 && limit <= petstore.MaxListLimit:
			fields = append(fields, "Limit: "+value)
		case name == "status" && petstore.PetStatus(value).Valid():
			fields = append(fields, fmt.Sprintf("Status: %q", value))
		default:
			return ""
		}
	}
	return "ListPets(context.Background(), petstore.ListPetsParams{" + strings.Join(fields, ", ") + "})"
}

// Fetch returns JavaScript that sends a request again by fetch, with a key as for [Curl].
func Fetch(origin string, r fake.Request, key string) string {
	expression := "process.env.PETSTORE_API_KEY"
	if key != "" {
		expression = script(key)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "const key = %s;\nconst response = await fetch(%s, {\n  method: %s,\n  headers: [",
		expression, script(origin+r.Path), script(r.Method))
	for name, value := range replayed(r) {
		before, secret := strings.CutSuffix(value, redacted)
		if fmt.Fprintf(&b, "\n    [%s, %s", script(name), script(before)); secret {
			b.WriteString(" + key")
		}
		b.WriteString("],")
	}
	b.WriteString("\n  ],\n")
	switch {
	case len(r.Body) == 0:
	case utf8.Valid(r.Body):
		fmt.Fprintf(&b, "  body: %s,\n", script(string(r.Body)))
	default:
		fmt.Fprintf(&b, "  body: Uint8Array.from(atob(%s), (c) => c.charCodeAt(0)),\n",
			script(base64.StdEncoding.EncodeToString(r.Body)))
	}
	return b.String() + "});\nconsole.log(response.status, await response.text());\n"
}

// script writes a text as JavaScript does.
func script(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return `""` // a text can be encoded
	}
	return string(quoted)
}
