package sonmf

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// reported lays out made-up runs of the paper's size: two trials of table 3 at K = 10, and none at K = 30.
func reported() *report.Report {
	s := &Simulations{
		Parts: []Part{Table3, StepSizes}, Trials: 3, StudyTrials: 3, Ranks: []int{10, 30},
		Size: printedSize, Updates: 499,
	}
	var studies []*study
	for _, p := range s.Parts {
		st := s.study(p)
		studies = append(studies, st)
		for _, c := range st.cells {
			if c.rank == 10 {
				for trial := range 2 {
					for i := range c.contenders {
						v := float64(10*i + trial)
						c.runs[trial] = append(c.runs[trial], &outcome{
							measures: map[string]float64{
								p.objective(): 0.08 + v/1000, "truth": 0.09, orthogonalResidual: 1e-28, "ε_F": v,
								"ε_G": v / 2, "ε_P": 40 + v, "least ε_P": min(60, 40+v),
								"G sparsity %": v, "seconds": v / 8, "iterations": float64(5 + trial),
							},
							unmet: i == 2 && trial == 1, curve: []float64{1, 0.5, 0.08 + v/1000},
							probabilityCurve: []float64{60, 40 + v},
						})
					}
				}
			}
		}
	}
	return s.report(studies)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Error(d)
	}
}

func TestMarkdownGolden(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := reported().Print(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	golden(t, "simulations.golden.md", b.String())
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := reported().Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var again Simulated
	if err := json.Unmarshal(read("results.json"), &again); err != nil || len(again.Tables) != 2 ||
		*again.Tables[0].Rows[0].Values[0].Mean != 0.0805 {
		t.Errorf("results.json: %+v, %v", again, err)
	}
	for name, rows := range map[string]int{
		// Table 3: two methods with 8 measures, one without the orthogonal residual; 8.4: six runs of 7.
		"tables.csv": 1 + 2*8 + 7 + 6*7,
		// Figure 3: three curves of 3 points; figure 7: six of 3 points, and six of 2.
		"curves.csv": 1 + 3*3 + 6*3 + 6*2,
	} {
		records, err := csv.NewReader(bytes.NewReader(read(name))).ReadAll()
		if err != nil || len(records) != rows {
			t.Errorf("%s: %d records, %v; want %d", name, len(records), err, rows)
		}
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("figures %v, %v: want one for each part", entries, err)
	}
	for _, name := range []string{"figure-3.svg", "figure-7.svg"} {
		data := read(name)
		lines := 0
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
				lines++
			}
		}
		if lines < 5 || !strings.Contains(string(data), ", K = 10<") || strings.Contains(string(data), ", K = 30<") {
			t.Errorf("%s holds %d paths, want panels of K = 10 alone", name, lines)
		}
	}
	if err := reported().Write(filepath.Join(dir, "tables.csv")); err == nil {
		t.Error("a file was taken for a folder")
	}
}
