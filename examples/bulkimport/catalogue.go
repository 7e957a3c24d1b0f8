package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/petstore/petstore-go"
)

// catalogue is what listPets can tell of undecided rows: at most 100 pets of each status, in no known order,
// and nothing beyond them.
type catalogue struct {
	lists map[petstore.PetStatus][]petstore.Pet
	mine  map[int64]bool // ids that answers to creates of this import have named
	err   error          // why lists is not complete
}

// readCatalogue asks for one list for each status that pets have, so at most four.
func readCatalogue(
	ctx context.Context, client *petstore.Client, pets []petstore.NewPet, mine map[int64]bool,
) catalogue {
	c := catalogue{lists: map[petstore.PetStatus][]petstore.Pet{}, mine: mine}
	for _, pet := range pets {
		if c.lists[pet.Status] != nil {
			continue
		}
		params := petstore.ListPetsParams{Limit: petstore.MaxLimit, Status: pet.Status}
		result, err := client.ListPets(ctx, params)
		if err != nil {
			c.err = err
			return c
		}
		c.lists[pet.Status] = result.Pets
	}
	return c
}

// tell says whether the pet of an undecided row is there, as far as can be seen.
func (c catalogue) tell(pet petstore.NewPet) string {
	list, ok := c.lists[pet.Status]
	if !ok {
		return "listPets could not be asked: " + reason(c.err)
	}
	var ids []string
	for _, p := range list {
		if p.Name == pet.Name && p.CategoryID == pet.CategoryID && !c.mine[p.ID] {
			ids = append(ids, strconv.FormatInt(p.ID, 10))
		}
	}
	switch {
	case len(ids) > 0:
		return "seen: id " + strings.Join(ids, ", ")
	case len(list) < petstore.MaxLimit:
		return fmt.Sprintf("not seen: it is not among the %d pets that listPets shows", len(list))
	}
	return fmt.Sprintf("cannot tell: listPets shows %d pets and there may be more", len(list))
}
