package internal_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const architecture = "../docs/architecture.md"

// tableRows returns the cells of the rows of the table in docs/architecture.md that has this header.
func tableRows(t *testing.T, header string) [][]string {
	t.Helper()
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+header+"\n")
	if !found {
		t.Fatalf("%s has no table with the header %q", architecture, header)
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
	for _, row := range tableRows(t, "| floor | package | what it is |") {
		for _, name := range quoted(row[1]) {
			count++
			place[module+name] = count
		}
	}
	libraries := map[string][]string{}
	for _, row := range tableRows(t, "| library | places |") {
		libraries[quoted(row[0])[0]] = quoted(row[1])
	}
	all := packages(t)
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
				if !within(own, libraries[library]...) {
					t.Errorf("%s imports %s: add it to the table of libraries in docs/architecture.md", own, other)
				}
			}
		}
	}
	for name := range place {
		if _, there := all[name]; !there && path.Base(name) != "..." {
			t.Errorf("docs/architecture.md names %s, which is not there", name)
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
