package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// query reads the parameters of a request. The first one at fault is kept.
type query struct {
	values  url.Values
	problem *Problem
}

// query returns the parameters of a request, of which those of other names than known are refused.
func (a *API) query(r *http.Request, known ...string) *query {
	q := &query{}
	var err error
	if q.values, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		q.bad("", "the query cannot be read")
		return q
	}
	for name, values := range q.values {
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			q.bad("", "this takes no parameter")
		case !slices.Contains(known, name):
			q.bad("", "a parameter is unknown; known are "+strings.Join(known, ", "))
		case len(values) > 1:
			q.bad(name, "it is given more than once")
		case !readable(values[0]):
			q.bad(name, "it is not text")
		}
	}
	return q
}

// readable reports whether a value is UTF-8 without control characters.
func readable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (q *query) bad(field, detail string) {
	if q.problem == nil {
		p := badParameter(field, detail)
		q.problem = &p
	}
}

// refused answers if a parameter is at fault.
func (q *query) refused(w http.ResponseWriter) bool {
	if q.problem != nil {
		q.problem.Write(w)
	}
	return q.problem != nil
}

// text returns a parameter of at most limit bytes, "" without it.
func (q *query) text(name string, limit int) string {
	s := q.values.Get(name)
	if len(s) > limit {
		q.bad(name, "it is longer than "+strconv.Itoa(limit)+" bytes")
	}
	return s
}

// number returns a whole number from least to most, byDefault without the parameter.
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

// oneOf returns a parameter that has one of these values, "" without it.
func (q *query) oneOf(name string, values ...string) string {
	s := q.values.Get(name)
	if s != "" && !slices.Contains(values, s) {
		q.bad(name, "it is none of "+strings.Join(values, ", "))
	}
	return s
}
