package jsonscan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbers compares the fast path with strconv by way of encoding/json.
func TestNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		var want float64
		wantErr := json.Unmarshal([]byte(s), &want)
		p := New(s)
		got, finite, ok := p.Number()
		if !ok || p.i != len(s) || finite != (wantErr == nil) ||
			finite && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("got %v, %v, %v at %d, want %v, %v", got, finite, ok, p.i, want, wantErr)
		}
	})
}

// FuzzSkip compares the grammar with that of encoding/json.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"a":[1,-0.5e+3,null,true],"b":{"c":"\\u00e9\\ud83e\\uddb4"}}`, "[1,]",
		`{"a":01}`, `"\\x"`, "tru", " 1 2", "\"\n\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := New(s)
		got := p.Skip(0) && p.End()
		if deep := strings.Count(s, "[")+strings.Count(s, "{") >= MaxDepth; got != json.Valid([]byte(s)) && !deep {
			t.Errorf("%q: %v", s, got)
		}
	})
}
