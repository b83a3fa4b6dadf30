package httpapi

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
)

// Answering decides on a whole answer before any of it is sent.
type Answering func(*http.Request) http.Handler

// ServeHTTP sends the answer.
func (f Answering) ServeHTTP(w http.ResponseWriter, r *http.Request) { f(r).ServeHTTP(w, r) }

func headed(answer http.Handler, name, value string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add(name, value)
		answer.ServeHTTP(w, r)
	})
}

// Problem is the answer to a failed request, as RFC 9457 problem details. It never quotes the request.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code,omitempty"`   // fixed word for programs; "" if the status says all
	Field  string `json:"field,omitempty"`  // our name of the wrong field or parameter
	Detail string `json:"detail,omitempty"` // a sentence for people
}

// ServeHTTP answers with the problem, a browser with a page that says the same.
func (p Problem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v := visitOf(r.Context()); v.page != nil && !strings.HasPrefix(r.URL.Path, "/v1/") &&
		strings.Contains(r.Header.Get("Accept"), "text/html") {
		page := v.page
		v.page = nil // if it cannot be drawn, that is a problem too
		page(p).ServeHTTP(w, r)
		return
	}
	body := struct {
		Type  string `json:"type"`
		Title string `json:"title"`
		Problem
	}{"about:blank", http.StatusText(p.Status), p}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// Codes of problems, in addition to the reasons of dead letters.
const (
	codeParameter   = "bad_parameter"
	codeBody        = "bad_body"
	codeMediaType   = "wrong_media_type"
	codeUnavailable = "unavailable"
	codeNotServed   = "not_served_here"
)

// problem returns a Problem without a field.
func problem(status int, code, detail string) Problem {
	return Problem{Status: status, Code: code, Detail: detail}
}

// JSON is an answer in JSON. A value without JSON form, for example NaN, is a server error.
func JSON(v any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := json.Marshal(v)
		if err != nil {
			Problem{Status: http.StatusInternalServerError}.ServeHTTP(w, r)
			return
		}
		writeJSON(w, []byte(wording.Visible(string(data))+"\n"))
	})
}

func writeJSON(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone
}

// CSV is an answer in CSV. An apostrophe before text that looks like a formula keeps spreadsheets from computing it.
type CSV struct {
	name, begins string
	rows         [][]string
}

// NewCSV returns an answer with these columns. A browser saves it under the name, or shows it if "".
func NewCSV(name string, columns ...string) *CSV {
	c := &CSV{name: name}
	c.Add(columns...)
	return c
}

// NewSheet returns the same for people: spreadsheets take the mark at its beginning for that of UTF-8.
func NewSheet(name string, columns ...string) *CSV {
	c := NewCSV(name, columns...)
	c.begins = "\ufeff"
	return c
}

// Add adds a row.
func (c *CSV) Add(cells ...string) { c.rows = append(c.rows, lists.Map(cells, wording.Cell)) }

// ServeHTTP answers with the rows.
func (c *CSV) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	if c.name != "" {
		w.Header().Set("Content-Disposition", `attachment; filename="`+c.name+`"`)
	}
	_, _ = io.WriteString(w, c.begins)
	_ = csv.NewWriter(w).WriteAll(c.rows) // the client is gone
}
