package textproc

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared returns the lines of a file of public cases, split at tabs, without the header.
func shared(t *testing.T, name string) [][]string {
	t.Helper()
	folder := os.Getenv("WARDCAST_SHARED")
	if folder == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	f, err := os.Open(filepath.Join(folder, "cases/notes", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		rows = append(rows, strings.Split(s.Text(), "\t"))
	}
	return rows[1:]
}

func newReader(t *testing.T) *Transformer {
	t.Helper()
	r, err := Reader(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSharedGrammar(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for _, row := range shared(t, "grammar_cases.tsv") {
		if len(row) < 3 {
			continue
		}
		var got []string
		for _, token := range r.Tokens(row[1]) {
			for _, term := range token.Terms {
				got = append(got, prefixes[token.Status]+term)
			}
		}
		want := strings.Split(row[2], ",")
		if slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(got, w) }) {
			t.Errorf("%s %q: got %v, want %v", row[0], row[1], got, want)
		}
	}
}

func TestSharedStatus(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	for _, row := range shared(t, "negation_cases.tsv") {
		var got []string
		found := false
		for _, token := range r.Tokens(row[0]) {
			if slices.Contains(token.Terms, row[1]) {
				got = append(got, token.Status.String())
				found = found || token.Status.String() == row[2]
			}
		}
		if !found || row[2] != "affirmed" && slices.Contains(got, "affirmed") {
			t.Errorf("%s in %q: got %v, want %s", row[1], row[0], got, row[2])
		}
	}
}
