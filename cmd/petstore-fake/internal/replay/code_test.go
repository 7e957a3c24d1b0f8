package replay

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGo(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]fake.Request{
		`client.ListPets(context.Background(), petstore.ListPetsParams{})`:                          {Operation: petstore.OpListPets, Path: "/v1/pets"},
		`client.ListPets(context.Background(), petstore.ListPetsParams{Limit: 50, Status: "sold"})`: {Operation: petstore.OpListPets, Path: "/v1/pets?status=sold&limit=50"},
		`client.GetPet(context.Background(), 7)`:                                                    {Operation: petstore.OpGetPet, Path: "/v1/pets/7"},
		`client.CreatePet(context.Background(), petstore.NewPet{Name: "\"Rex\\", CategoryID: -9, Status: ""})`: {
			Operation: petstore.OpCreatePet, Path: "/v1/pets", Body: []byte(`{"name":"\"Rex\\","categoryId":-9}`),
		},
	} {
		assert.Contains(t, Go("http://127.0.0.1:4010", r, ""), want)
	}
	for _, r := range []fake.Request{
		{Path: "/v1/orders"},
		{Operation: petstore.OpListPets, Path: "/v1/pets?limit=500"},
		{Operation: petstore.OpListPets, Path: "/v1/pets?limit=5&limit=6"},
		{Operation: petstore.OpListPets, Path: "/v1/pets?colour=red"},
		{Operation: petstore.OpListPets, Path: "/v1/pets", Body: []byte("{}")},
		{Operation: petstore.OpGetPet, Path: "/v1/pets/x"},
		{Operation: petstore.OpGetPet, Path: "/v1/pets/7?a=b"},
		{Operation: petstore.OpCreatePet, Path: "/v1/pets", Body: []byte(`{"name":"Rex"}`)},
		{Operation: petstore.OpCreatePet, Path: "/v1/pets?dry=1", Body: []byte(`{"name":"Rex","categoryId":1}`)},
	} {
		assert.Equal(t, "// The client of petstore-go does not send such a request.\n", Go("http://127.0.0.1:4010", r, ""), "%+v", r)
	}
}

func TestGo_compiles(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "public"} {
		path := filepath.Join(t.TempDir(), "main.go")
		text := Go("http://192.0.2.1:4010", fake.Request{
			Operation: petstore.OpCreatePet, Path: "/v1/pets", Body: []byte(`{"name":"a\nb","categoryId":1,"status":"sold"}`),
		}, key)
		assert.Contains(t, text, "petstore.WithInsecureHTTP()")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		out, err := exec.CommandContext(t.Context(), "go", "vet", path).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

// With the real Node.js, where there is one.
func TestFetch(t *testing.T) {
	t.Parallel()
	binary := Fetch("http://h", fake.Request{Method: "POST", Path: "/v1/pets", Body: []byte("\xff\x00")}, "")
	assert.Contains(t, binary, `Uint8Array.from(atob("/wA=")`)
	text := Fetch("http://h", fake.Request{
		Method: "POST", Path: "/v1/pets?a=\"b", Body: []byte("it's </script> \u2028"),
		Header: http.Header{"Authorization": {"Bearer [redacted]"}, "Content-Length": {"9"}, "X-Trace": {"a"}},
	}, "")
	assert.NotContains(t, text, "Content-Length")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js")
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module")
	cmd.Env = []string{"PETSTORE_API_KEY=secret"}
	cmd.Stdin = strings.NewReader(`globalThis.fetch = async (url, init) => ({ status: url, text: () => JSON.stringify(init) });` + text)
	out, err := cmd.Output()
	require.NoError(t, err)
	url, init, _ := strings.Cut(string(out), " ")
	assert.Equal(t, `http://h/v1/pets?a="b`, url)
	assert.JSONEq(t, `{"method":"POST","headers":[["Authorization","Bearer secret"],["X-Trace","a"]],"body":"it's </script> `+"\u2028"+`"}`, init)
}

func TestSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := fakecontrol.New("", nil)
		defer srv.Close()
		type outcome struct {
			key    string
			status int
		}
		done := make(chan outcome, 1)
		send := func(r fake.Request) outcome {
			require.NoError(t, Send(srv, "http://h", r, func(again *http.Request, status int, _ http.Header) {
				done <- outcome{again.Header.Get("Authorization"), status}
			}))
			return <-done
		}
		r := fake.Request{Key: 1, Method: "GET", Path: "/v1/pets", Header: http.Header{"Authorization": {"Bearer [redacted]"}}}
		assert.Equal(t, outcome{"Bearer fake-api-key", 200}, send(r))
		srv.Inject(fake.Fault{Wire: fake.WireReset})
		assert.Equal(t, 0, send(r).status)
		r.Key = 0
		assert.Equal(t, outcome{"Bearer [redacted]", 401}, send(r))
		srv.Inject(fake.Fault{Wire: fake.WireStall})
		assert.Equal(t, 0, send(r).status, "it ends by itself")
		assert.Error(t, Send(srv, "http://h", fake.Request{Method: "a b"}, nil))
	})
}
