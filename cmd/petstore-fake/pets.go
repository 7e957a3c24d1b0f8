package main

import (
	"math"
	"net/http"
	"slices"

	petstore "github.com/petstore/petstore-go"
)

// shownPet is an animal as the admin routes show it, always with all its fields.
type shownPet struct {
	ID         int64              `json:"id"`
	Name       string             `json:"name"`
	CategoryID int64              `json:"categoryId"`
	Status     petstore.PetStatus `json:"status"`
}

func statuses() []string {
	return []string{
		string(petstore.PetStatusAvailable), string(petstore.PetStatusPending), string(petstore.PetStatusSold),
	}
}

// listPets answers GET /_fake/pets.
func (a *admin) listPets(r *http.Request) (any, error) {
	q := readQuery(r, "status", "after", "limit")
	status := petstore.PetStatus(q.text("status", statuses()...))
	after := q.number("after", 0, math.MaxInt64, 0)
	limit := int(q.number("limit", 1, maxList, defaultList))
	if q.err != nil {
		return nil, q.err
	}
	total, shown := 0, []shownPet{}
	for _, p := range a.srv.Pets() {
		if status != "" && p.Status != status {
			continue
		}
		total++
		if p.ID > after && len(shown) < limit {
			shown = append(shown, shownPet(p))
		}
	}
	return struct {
		Total int        `json:"total"`
		Pets  []shownPet `json:"pets"`
	}{total, shown}, nil
}

// addPet answers POST /_fake/pets. What it takes is what createPet takes.
func (a *admin) addPet(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	p, err := a.judge.read(body)
	if err != nil {
		return nil, err
	}
	return created{shownPet(a.srv.AddPet(p))}, nil
}

// getPet answers GET /_fake/pets/{id}.
func (a *admin) getPet(r *http.Request) (any, error) {
	n, _ := id(r)
	p, ok := a.srv.Pet(n)
	if !ok {
		return nil, noSuchPet(r)
	}
	return shownPet(p), nil
}

// setStatus answers PUT /_fake/pets/{id}/status.
func (a *admin) setStatus(r *http.Request) (any, error) {
	var body struct {
		Status *string `json:"status"`
	}
	if err := readInto(r, &body); err != nil {
		return nil, err
	}
	switch {
	case body.Status == nil:
		return nil, badRequest("status is missing")
	case *body.Status != "" && !slices.Contains(statuses(), *body.Status):
		return nil, badRequest("status is %q; it must be available, pending, sold, or empty for none",
			clip(*body.Status))
	}
	n, _ := id(r)
	if !a.srv.SetStatus(n, petstore.PetStatus(*body.Status)) {
		return nil, noSuchPet(r)
	}
	return a.getPet(r)
}

// deletePet answers DELETE /_fake/pets/{id}.
func (a *admin) deletePet(r *http.Request) (any, error) {
	n, _ := id(r)
	if !a.srv.DeletePet(n) {
		return nil, noSuchPet(r)
	}
	return nil, nil
}

func noSuchPet(r *http.Request) error {
	return notFound("there is no animal with the id %q", clip(r.PathValue("id")))
}
