// Package spec reads what users write, on the command line and in the bodies of admin requests:
// addresses, durations, plans, faults, behaviours, pets and JSON. Its errors name the field and the
// reason, and never repeat an API key.
package spec
