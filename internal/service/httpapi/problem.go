package httpapi

import (
	"encoding/json"
	"net/http"
)

// Problem is the answer to a request that failed, as RFC 9457 problem details. It never quotes the request.
type Problem struct {
	Status int
	Code   string // fixed word for programs; "" if the status says all
	Field  string // the field or parameter at fault, by our name for it
	Detail string // a sentence for people
}

// Write answers with the problem.
func (p Problem) Write(w http.ResponseWriter) {
	body := struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code,omitempty"`
		Field  string `json:"field,omitempty"`
		Detail string `json:"detail,omitempty"`
	}{"about:blank", http.StatusText(p.Status), p.Status, p.Code, p.Field, p.Detail}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// Codes of problems, beside the reasons of dead letters.
const (
	codeParameter   = "bad_parameter"
	codeBody        = "bad_body"
	codeMediaType   = "wrong_media_type"
	codeUnavailable = "unavailable"
	codeNotServed   = "not_served_here"
)

func badParameter(field, detail string) Problem {
	return Problem{http.StatusBadRequest, codeParameter, field, detail}
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil { // a value that is not finite
		Problem{Status: http.StatusInternalServerError}.Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n'))
}
