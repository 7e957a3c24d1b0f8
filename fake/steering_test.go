package fake_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	petstore "github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
	"github.com/petstore/petstore-go/internal/fakecontrol"
)

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		srv := fakecontrol.New("own-default-key", nil,
			fake.WithPlan(fake.PlanFree), fake.WithKey("second-key", fake.PlanPro),
			fake.WithPets(petstore.NewPet{Name: "Rex", CategoryID: 1}), fake.WithTime(start),
			fake.WithLatency(time.Second), fake.WithFaults(fake.Fault{Status: 503}))
		defer srv.Close()
		state := func() string {
			return fmt.Sprint(srv.Now(), srv.Latency(), srv.Keys(), srv.Pets(), len(srv.Requests()),
				len(srv.Injections()), srv.Injections()[0].Fired(), srv.Usage("own-default-key"))
		}
		first := state()
		for range 2 {
			client := srv.Client(petstore.WithRetryPolicy(petstore.RetryPolicy{MaxAttempts: 1}))
			_, err := client.ListPets(t.Context(), petstore.ListPetsParams{})
			require.Error(t, err, "the fault strikes again")
			_, err = client.CreatePet(t.Context(), petstore.NewPet{Name: "Mia", CategoryID: 1})
			require.NoError(t, err)
			srv.AddKey("third-key", fake.PlanFree)
			srv.RevokeKey("second-key")
			srv.SetPlan("own-default-key", fake.PlanPro)
			srv.BanKey("own-default-key", time.Hour)
			srv.Advance(time.Hour)
			srv.SetLatency(time.Minute)
			srv.Restart()
			assert.Zero(t, srv.KeyNumber("third-key"))
			srv.SetTime(start)
			assert.Equal(t, first, state())
		}
		srv.Inject(fake.Fault{Status: 500}).Remove()
		srv.Reset()
		assert.Len(t, srv.Injections(), 1, "Reset injects the faults of WithFaults")
		srv.Injections()[0].Remove()
	})
}

func TestSetLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fake.NewTestServer(t)
		srv.SetLatency(time.Second)
		go func() {
			_, err := srv.Client().ListPets(t.Context(), petstore.ListPetsParams{})
			assert.NoError(t, err)
		}()
		synctest.Wait()
		assert.Len(t, srv.Requests(), 1, "a request is in the journal while it is held back")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, http.StatusOK, srv.Requests()[0].StatusCode)
		assert.Equal(t, time.Second, srv.Requests()[0].Duration)
	})
}

func TestKeys(t *testing.T) {
	srv := fake.NewTestServer(t, fake.WithKey("second-key", fake.PlanFree))
	viaTransport(t, srv).list(t)
	srv.RevokeKey("second-key")
	keys := fakecontrol.Of(srv).Keys()
	require.Len(t, keys, 2)
	assert.Equal(t, 1, keys[0].Number)
	assert.Equal(t, fake.DefaultAPIKey, keys[0].APIKey)
	assert.Equal(t, 1, keys[0].Minute)
	assert.Equal(t, "second-key", keys[1].APIKey)
	assert.True(t, keys[1].Revoked)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		assert.Equal(t, "key 2 on plan free", fmt.Sprintf(verb, keys[1]))
	}
}

func TestParseBehavior(t *testing.T) {
	for name := range fake.Variants() {
		b, err := fakecontrol.ParseBehavior(name)
		require.NoError(t, err)
		assert.Equal(t, name, b.String())
		require.NoError(t, b.Validate())
	}
	b, err := fakecontrol.ParseBehavior(" window=sliding, default-status=sold")
	require.NoError(t, err)
	assert.Equal(t, fake.Behavior{Window: fake.WindowSliding, DefaultStatus: petstore.PetStatusSold}, b)
	for text, message := range map[string]string{
		"": `there is no behaviour ""; there are default, or a list of default-status, retry-after, ` +
			`limit-body, order, invalid-limit, invalid-status, window, ban-reset, removal, deprecation-headers`,
		"window=open":                 `window is "open"; it must be one of fixed, aligned, sliding`,
		"removal":                     `removal is ""; it must be one of off, on`,
		"window=fixed,window=sliding": `"window" is given twice`,
	} {
		_, err := fakecontrol.ParseBehavior(text)
		assert.EqualError(t, err, message)
	}
	broken := fake.Behavior{Order: -1}
	require.EqualError(t, broken.Validate(),
		"fake: Behavior: order is out of range; it must be one of ascending, descending, shuffled")
	assert.Equal(t, "order=invalid", broken.String())
}

func TestParsePlan(t *testing.T) {
	for _, p := range []fake.Plan{fake.PlanFree, fake.PlanPro, fake.PlanBusiness, fake.Enterprise(0, 7)} {
		parsed, err := fakecontrol.ParsePlan(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, parsed)
	}
	for _, text := range []string{"", "no-such-plan", "enterprise", "enterprise:", "enterprise:5", "enterprise:-1,5", "enterprise:1,x"} {
		_, err := fakecontrol.ParsePlan(text)
		assert.Error(t, err, text)
	}
}

func TestParseNewPet(t *testing.T) {
	p, err := fakecontrol.ParseNewPet([]byte(` {"name":"Rex","categoryId":7,"status":"sold"} `))
	require.NoError(t, err)
	assert.Equal(t, petstore.NewPet{Name: "Rex", CategoryID: 7, Status: "sold"}, p)
	for text, message := range map[string]string{
		`{"name":"Rex","categoryId":7,"breed":1}`: `NewPet has no field "breed"`,
		`{"name":"Rex"}`: `the required field categoryId is missing`,
		`[]`:             `the text is an array; it must be an object`,
	} {
		_, err := fakecontrol.ParseNewPet([]byte(text))
		assert.EqualError(t, err, message)
	}
	_, err = fakecontrol.ParseNewPet(nil)
	assert.ErrorContains(t, err, "the text is not acceptable: it is not JSON")
}
