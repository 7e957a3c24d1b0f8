package adminapi

import "net/http"

// clearRequests handles DELETE /_fake/requests.
func (a *API) clearRequests(*http.Request) (any, error) {
	a.page.Clear()
	return nil, nil
}

// shownViolation is a violation as the admin routes show it.
type shownViolation struct {
	Rule    string `json:"rule"`
	Section string `json:"section"`
	Detail  string `json:"detail"`
	Seq     int    `json:"seq"`
}

// violations handles GET /_fake/violations.
func (a *API) violations(*http.Request) (any, error) {
	shown := []shownViolation{}
	for _, v := range a.srv.Violations() {
		shown = append(shown, shownViolation(v))
	}
	return map[string]any{"violations": shown}, nil
}
