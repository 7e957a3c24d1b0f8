package main

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/petstore/petstore-go"
	"github.com/petstore/petstore-go/fake"
)

func TestAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewTestServer(t)
		if err := adopt(t.Context(), server.Client()); !errors.Is(err, errNoneLeft) {
			t.Errorf("without pets: %v", err)
		}
		server.AddPet(petstore.NewPet{Name: "Rex", CategoryID: 1, Status: petstore.PetStatusAvailable})
		if err := adopt(t.Context(), server.Client()); err != nil {
			t.Errorf("with one pet: %v", err)
		}
		server.Inject(fake.Fault{Status: 500, Times: fake.Forever})
		if err := adopt(t.Context(), server.Client()); err == nil {
			t.Error("an outage caused no error")
		}
	})
}
