package conformance

func getProbes() []probe {
	return []probe{
		{
			"petid-word", "4.3", "What is the response to a petId that is no number?",
			outcome(get("/pets/abc")),
		},
		{
			"petid-large", "4.3", "What is the response to a petId beyond int64?",
			outcome(get("/pets/9223372036854775808")),
		},
		{"deprecation-headers", "4.3", "Which headers say that getPet is deprecated?", probeDeprecation},
		{"removal", "9", "Does getPet answer after 5 December 2030?", probeRemoval},
	}
}

func probeDeprecation(s *session) string {
	_, x := s.fetchAnyway()
	var list []string
	for _, name := range []string{"Deprecation", "Link", "Sunset"} {
		if x.header.Get(name) != "" {
			list = append(list, name)
		}
	}
	return tokens(list)
}

func probeRemoval(s *session) string {
	_, x := s.fetchAnyway()
	if !removed(x) {
		skipf("it is not yet that day")
	}
	return x.outcome()
}
