package internal_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	architecture = "../docs/architecture.md"
	contributing = "../CONTRIBUTING.md"
)

// tableRows returns the cells of the rows of the table in a document that has this header.
func tableRows(t *testing.T, document, header string) [][]string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+header+"\n")
	if !found {
		t.Fatalf("%s has no table with the header %q", document, header)
	}
	var rows [][]string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if !strings.HasPrefix(line, "| ---") {
			rows = append(rows, strings.Split(strings.Trim(line, "| \n"), " | "))
		}
	}
	return rows
}

// quoted returns what stands between backquotes.
func quoted(cell string) (names []string) {
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		names = append(names, match[1])
	}
	return names
}

// TestFloors holds the imports of each package against the tables of docs/architecture.md: floors and libraries.
func TestFloors(t *testing.T) {
	t.Parallel()
	place, count := map[string]int{}, 0 // the order of the first table
	before := 0
	for _, row := range tableRows(t, architecture, "| floor | package | what it is |") {
		floor, err := strconv.Atoi(row[0])
		if err != nil || floor != before && floor != before+1 {
			t.Errorf("%s stands on floor %s, below one of floor %d: %v", row[1], row[0], before, err)
		}
		before = floor
		for _, name := range quoted(row[1]) {
			count++
			place[module+name] = count
		}
	}
	libraries := map[string][]string{}
	for _, row := range tableRows(t, architecture, "| library | places |") {
		libraries[quoted(row[0])[0]] = quoted(row[1])
	}
	all := packages(t)
	used := map[[2]string]bool{} // library and place
	// Packages within a name that ends in /... stand on the same place, and do not import one another.
	placeOf := func(p string) (at int, known bool) {
		if at, known = place[p]; !known {
			at, known = place[path.Dir(p)+"/..."]
		}
		return at, known
	}
	for own, imports := range all {
		if !strings.HasPrefix(own, module) || len(imports) == 0 {
			continue
		}
		place, known := placeOf(own)
		if !known {
			t.Errorf("%s stands on no floor: add it to the table in docs/architecture.md", own)
			continue
		}
		for _, other := range imports {
			switch first, _, _ := strings.Cut(other, "/"); {
			case strings.HasPrefix(other, module):
				if at, known := placeOf(other); known && at >= place {
					t.Errorf("%s imports %s, which stands above it or in the same row of rooms", own, other)
				}
			case strings.Contains(first, ".") && !strings.HasPrefix(other, "gonum.org/v1/gonum/"):
				library := longestPrefix(libraries, other)
				for _, place := range libraries[library] {
					used[[2]string{library, place}] = used[[2]string{library, place}] || within(own, place)
				}
				if !within(own, libraries[library]...) {
					t.Errorf("%s imports %s: add it to the table of libraries in docs/architecture.md", own, other)
				}
			}
		}
	}
	paths := slices.Collect(maps.Keys(all))
	for name := range place {
		folder, rooms := strings.CutSuffix(name, "/...")
		if !slices.ContainsFunc(paths, func(p string) bool { return p == name || rooms && path.Dir(p) == folder }) {
			t.Errorf("docs/architecture.md names %s, which is not there", name)
		}
	}
	for library, places := range libraries {
		for _, place := range places {
			if !used[[2]string{library, place}] {
				t.Errorf("docs/architecture.md lets %s import %s, which it does not", place, library)
			}
		}
	}
}

// longestPrefix returns the longest key that a path begins with, "" if there is none.
func longestPrefix(libraries map[string][]string, path string) (longest string) {
	for library := range libraries {
		if (path == library || strings.HasPrefix(path, library+"/")) && len(library) > len(longest) {
			longest = library
		}
	}
	return longest
}

// TestVariables holds the table of variables in CONTRIBUTING.md against the code: all that tests and their help read,
// except what the program itself reads and what a test sets for itself (WARDCAST_TEST_…).
func TestVariables(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`"(WARDCAST_[A-Z0-9_]+)"`)
	read := map[string]string{} // the file of each variable
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" {
			return err
		}
		text, err := os.ReadFile(p)
		for _, match := range name.FindAllSubmatch(text, -1) {
			if v := string(match[1]); v != "WARDCAST_LOG_LEVEL" && !strings.HasPrefix(v, "WARDCAST_TEST_") {
				read[v] = p
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range tableRows(t, contributing, "| variable | value |") {
		for _, v := range quoted(row[0]) {
			if read[v] == "" {
				t.Errorf("CONTRIBUTING.md names %s, which no test reads", v)
			}
			delete(read, v)
		}
	}
	for v, file := range read {
		t.Errorf("CONTRIBUTING.md lacks %s, which %s reads", v, file)
	}
}
