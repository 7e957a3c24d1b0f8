package conformance

func getProbes() []probe {
	return []probe{
		{
			"petid-word", "4.3", "What is the answer to a petId that is no number?",
			func(s *session) (string, error) { return s.outcome(get("/pets/abc")) },
		},
		{
			"petid-large", "4.3", "What is the answer to a petId beyond int64?",
			func(s *session) (string, error) { return s.outcome(get("/pets/9223372036854775808")) },
		},
		{"deprecation-headers", "4.3", "Which headers tell that getPet is deprecated?", probeDeprecation},
		{"removal", "9", "Does getPet answer after 5 December 2030?", probeRemoval},
	}
}

func probeDeprecation(s *session) (string, error) {
	x, err := s.fetchAnyway()
	if err != nil {
		return "", err
	}
	var list []string
	for _, name := range []string{"Deprecation", "Link", "Sunset"} {
		if x.header.Get(name) != "" {
			list = append(list, name)
		}
	}
	return tokens(list), nil
}

func probeRemoval(s *session) (string, error) {
	x, err := s.fetchAnyway()
	if err != nil {
		return "", err
	}
	if !removed(x) {
		return "", skip("it is not yet that day")
	}
	return x.outcome(), nil
}

// fetchAnyway asks getPet for the pet that was added first, removed or not.
func (s *session) fetchAnyway() (*exchange, error) {
	a, err := s.mine(statuses[0])
	if err != nil {
		return nil, err
	}
	return s.ask(get("/pets/" + a.id()))
}
