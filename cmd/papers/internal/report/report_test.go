package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"
)

func sample() *Report {
	half := 0.5
	t := NewTable("Two rows", "ε_F,name,xi")
	t.Add(1e-7, "a, b", &half)
	t.Add(3, "c", (*float64)(nil))
	lines := Curve{Name: "one", Points: plotter.XYs{{X: 0, Y: 3}, {X: 1, Y: 1e-15}}}
	bars := Curve{Name: "two", Points: plotter.XYs{{X: -0.5, Y: 1}}}
	return &Report{
		Data: map[string]any{"rows": 2}, Tables: []Table{*t}, CSV: map[string]*Table{"rows.csv": t},
		SVG: map[string]Figure{
			"log.svg": {{
				{Title: "left", LogX: 0.1, LogY: 1e-12, Curves: []Curve{lines}},
				{Title: "right", Curves: []Curve{lines}},
			}, {{Title: "below", Bars: []string{"g1", "g2"}, Curves: []Curve{bars}}}},
		},
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"table": "Two rows\nε_F    NAME  XI\n1e-07  a, b  0.5\n3      c     \n\n",
		"markdown": "**Two rows**\n\n| ε_F | name | xi |\n| --- | --- | --- |\n| 1e-07 | a, b | 0.5 |\n| 3 | c |  " +
			"|\n\n",
		"json": `{"rows":2}` + "\n",
	} {
		var b bytes.Buffer
		if err := sample().Print(&b, format); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("%s: %s", format, d)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := sample().Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if !json.Valid([]byte(read("results.json"))) || read("rows.csv") != "ε_F,name,xi\n1e-07,\"a, b\",0.5\n3,c,\n" {
		t.Errorf("%q, %q", read("results.json"), read("rows.csv"))
	}
	svg := read("log.svg")
	for _, text := range []string{"left", "right", "below", "one", "two", "g1", "g2", "1e-12"} {
		if !strings.Contains(svg, ">"+text+"<") {
			t.Errorf("the figure does not say %q", text)
		}
	}
	if err := sample().Write(filepath.Join(dir, "rows.csv")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestMeans(t *testing.T) {
	t.Parallel()
	if mean, standardError := MeanError([]float64{1, 2, 3, 6}); mean != 3 ||
		math.Abs(standardError-math.Sqrt(14./3/4)) > 1e-12 {
		t.Errorf("mean %v ± %v", mean, standardError)
	}
	if mean, standardError := MeanError([]float64{7}); mean != 7 || standardError != 0 {
		t.Errorf("mean of one value %v ± %v", mean, standardError)
	}
}
