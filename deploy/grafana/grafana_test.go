package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// TestWritten holds the files next to the program against what it writes.
func TestWritten(t *testing.T) {
	t.Parallel()
	for _, b := range boards() {
		want, err := b.json()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(b.file())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the program writes: run `go generate` in deploy/grafana", b.file())
		}
		if len(got) > 256<<10 {
			t.Errorf("%s has %d bytes", b.file(), len(got))
		}
	}
}

// panels returns the panels and rows of a dashboard, with what a closed row holds.
func panels(t *testing.T, b *board) (all []*dashboard.Panel, rows int) {
	t.Helper()
	made, err := b.build()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range made.Panels {
		if p.RowPanel == nil {
			all = append(all, p.Panel)
			continue
		}
		rows++
		for i := range p.RowPanel.Panels {
			all = append(all, &p.RowPanel.Panels[i])
		}
	}
	return all, rows
}

// TestPanels looks at what a reader sees: titles, sentences, and where panels stand.
func TestPanels(t *testing.T) {
	t.Parallel()
	titled := regexp.MustCompile(`^[A-Z]\S* ?[^.]*[^. ]$`)
	sentences := regexp.MustCompile(`^[A-Z0-9][^\n]*[a-z0-9)]\.$`)
	for _, b := range boards() {
		all, rows := panels(t, b)
		if rows != len(b.rows) || len(all) < 20 {
			t.Errorf("%s has %d rows and %d panels", b.uid, rows, len(all))
		}
		titles, ids, taken := map[string]bool{}, map[uint32]bool{}, map[[2]uint32]string{}
		for _, p := range all {
			if titles[*p.Title] || ids[*p.Id] {
				t.Errorf("%s: two panels have the title %q or the number %d", b.uid, *p.Title, *p.Id)
			}
			titles[*p.Title], ids[*p.Id] = true, true
			if !sentences.MatchString(*p.Description) || !titled.MatchString(*p.Title) {
				t.Errorf("%s: %q is no title, or %q no sentence", b.uid, *p.Title, *p.Description)
			}
			at := p.GridPos
			if at.X+at.W > 24 {
				t.Errorf("%s: %q ends at column %d of 24", b.uid, *p.Title, at.X+at.W)
			}
			for x := at.X; x < at.X+at.W; x++ {
				for y := at.Y; y < at.Y+at.H; y++ {
					if other := taken[[2]uint32{x, y}]; other != "" {
						t.Fatalf("%s: %q stands on %q", b.uid, *p.Title, other)
					}
					taken[[2]uint32{x, y}] = *p.Title
				}
			}
		}
	}
}
