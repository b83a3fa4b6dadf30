package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardcast/wardcast/ingest/msg"
)

// query is a request with its parameters. It keeps the first problem.
type query struct {
	*http.Request
	values  url.Values
	problem *Problem
}

// route returns a route of the API, which refuses unknown parameters. Handlers with effects check for a problem first.
func route(pattern string, role Role, answer func(*query) http.Handler, known ...string) Route {
	return Route{Pattern: pattern, Role: role, Handler: Answering(func(r *http.Request) http.Handler {
		q := &query{Request: r}
		q.read(known)
		if q.problem != nil {
			return q.problem
		}
		a := answer(q)
		if q.problem != nil {
			return q.problem
		}
		return a
	})}
}

func (q *query) read(known []string) {
	values, err := url.ParseQuery(q.URL.RawQuery)
	if err != nil {
		q.bad("", "the query cannot be read")
	}
	q.readValues(values, known)
}

func (q *query) readValues(values url.Values, known []string) {
	q.values = values
	for name, values := range q.values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			q.bad("", "this takes no parameter")
		case !slices.Contains(known, name):
			q.bad("", "a parameter is unknown; known are "+strings.Join(known, ", "))
		case len(values) > 1:
			q.bad(name, "it is given more than once")
		case !utf8.ValidString(values[0]) || strings.ContainsFunc(values[0], unicode.IsControl):
			q.bad(name, "it is not text")
		}
	}
}

func (q *query) bad(field, detail string) {
	if q.problem == nil {
		q.problem = &Problem{Status: http.StatusBadRequest, Code: codeParameter, Field: field, Detail: detail}
	}
}

// text returns a parameter of at most limit bytes, or "".
func (q *query) text(name string, limit int) string {
	s := q.values.Get(name)
	if len(s) > limit {
		q.bad(name, "it is longer than "+strconv.Itoa(limit)+" bytes")
	}
	return s
}

// number returns a whole number from least to most, or byDefault without the parameter.
func (q *query) number(name string, byDefault, least, most int) int {
	if !q.values.Has(name) {
		return byDefault
	}
	n, err := strconv.Atoi(q.values.Get(name))
	if err != nil || n < least || n > most {
		q.bad(name, "it is not a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
	}
	return n
}

// oneOf returns a parameter with one of these values, or "".
func (q *query) oneOf(name string, values ...string) string {
	s := q.values.Get(name)
	if s != "" && !slices.Contains(values, s) {
		q.bad(name, "it is not one of "+strings.Join(values, ", "))
	}
	return s
}

// body reads the JSON body of a request, or returns the answer to a request without one.
func (q *query) body(limit int64) ([]byte, http.Handler) {
	kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		wrong := problem(http.StatusUnsupportedMediaType, codeMediaType, "the body must be application/json")
		return nil, headed(wrong, "Accept", "application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, q.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, problem(http.StatusRequestEntityTooLarge, string(msg.TooLarge), "the body is too large")
	}
	if err != nil { // cut short, or too slow
		return nil, problem(http.StatusBadRequest, codeBody, "the body did not come whole")
	}
	return data, nil
}
