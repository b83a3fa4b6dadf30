package smf

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/smf"
)

// stripes are images of 4×4 pixels, twelve of each digit; those of a digit have bars of their own and some noise.
func stripes() *Digits {
	const each, side = 12, 4
	d := &Digits{Rows: side, Columns: side}
	for digit := range 10 {
		for i := range each {
			image := make([]byte, side*side)
			for j := range image {
				if (j+digit)%(2+digit%3) == 0 {
					image[j] = byte(200 + (i*j+digit)%56)
				}
			}
			d.Pixels, d.Labels = append(d.Pixels, image...), append(d.Labels, byte(digit))
		}
	}
	return d
}

func smallConvergence() *Convergence {
	return &Convergence{
		Iterations: 20, Start: StartUniform, Documents: 150, Terms: 140, Seed: 1, Version: "1",
		Xi: []float64{1, 10}, digits: stripes(),
	}
}

func converge(t *testing.T, c *Convergence, session *report.Session) *Converged {
	t.Helper()
	r, err := c.Run(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return r.Data.(*Converged)
}

func TestConvergence(t *testing.T) {
	t.Parallel()
	reports := 0
	got := converge(t, smallConvergence(), &report.Session{Progress: func(done, total int) {
		if reports++; done != reports || total != 2*2*2*5 {
			t.Errorf("reported run %d of %d after %d", done, total, reports)
		}
	}})
	if len(got.Rows) != 2*2*2*5 || reports != len(got.Rows) {
		t.Fatalf("%d rows, %d reports", len(got.Rows), reports)
	}
	starts := map[string]float64{}
	for i := range got.Rows {
		r := &got.Rows[i]
		name := r.Data + " " + string(r.Variant) + " " + strconv.FormatFloat(r.Xi, 'g', -1, 64)
		if r.Gap < 0 || floats.Min(r.Objectives) < r.Floor ||
			math.Abs(floats.Min(r.Objectives)/r.Floor-1-r.Gap) > 1e-15 {
			t.Errorf("%s, %s: gap %v of %v over %v", name, r.Algorithm, r.Gap, floats.Min(r.Objectives), r.Floor)
		}
		if r.Algorithm != paperLPGD { // whose step is not one for every problem
			for u := 1; u < len(r.Objectives); u++ {
				if r.Objectives[u] > r.Objectives[u-1]*(1+1e-12) || r.Seconds[u] < r.Seconds[u-1] {
					t.Errorf("%s, %s: update %d rises, or takes no time", name, r.Algorithm, u)
				}
			}
		}
		if r.Algorithm != nameFloorOnly {
			if begun, ok := starts[name]; ok && math.Abs(r.Objectives[0]/begun-1) > 1e-9 {
				t.Errorf("%s, %s starts at %v, another at %v", name, r.Algorithm, r.Objectives[0], begun)
			}
			starts[name] = r.Objectives[0]
		}
		if r.Algorithm == nameProfiled {
			if r.ReachedIterations == nil || *r.ReachedIterations > 20 || *r.ReachedSeconds <= 0 {
				t.Errorf("%s, %s did not get to the floor: gap %v", name, r.Algorithm, r.Gap)
			}
		}
	}
}

// TestFixedStepRate: far from the floor the objective falls as the offset of the start does, by (1 − 2τξ)² an update.
func TestFixedStepRate(t *testing.T) {
	t.Parallel()
	c := smallConvergence()
	c.digits, c.Xi, c.Iterations = nil, []float64{5}, 30
	for i, r := range converge(t, c, &report.Session{}).Rows {
		if r.Algorithm != paperLPGD {
			continue
		}
		if want := (1 - 2*paperStep*5) * (1 - 2*paperStep*5); r.First == nil || math.Abs(r.First.Factor-want) > 0.02 ||
			r.First.From != 0 || r.First.Decades < 2 {
			t.Errorf("row %d: %+v, want a factor of %v", i, r.First, want)
		}
	}
}

func TestStretches(t *testing.T) {
	t.Parallel()
	geometric := func(n int, factor func(i int) float64) []float64 {
		gaps := []float64{1e3}
		for i := 1; i < n; i++ {
			gaps = append(gaps, gaps[i-1]*factor(i))
		}
		return gaps
	}
	near := func(s *Stretch, factor float64, from, to int) bool {
		return s != nil && math.Abs(s.Factor-factor) < 1e-9 && s.From == from && s.To == to &&
			math.Abs(s.Decades+math.Log10(factor)*float64(to-from)) < 1e-6
	}
	whole := geometric(100, func(int) float64 { return 0.9 })
	if first, last := stretches(whole); !near(first, 0.9, 0, 99) || !near(last, 0.9, 0, 99) {
		t.Errorf("of one rate: %+v, %+v", first, last)
	}
	// Gaps after the first one below the least are rounding.
	rounding := append(geometric(16, func(int) float64 { return 0.1 }), 1e-13, 3e-12, 2e-12, 2e-12, 2e-12)
	if _, last := stretches(rounding); last == nil || last.To != 15 || math.Abs(last.Factor-0.1) > 1e-9 {
		t.Errorf("with rounding behind: %+v", last)
	}
	// Two rates: each end has its own, up to the tolerance.
	two := geometric(201, func(i int) float64 {
		if i <= 100 {
			return 0.8
		}
		return 0.98
	})
	if first, last := stretches(two); first == nil || last == nil || first.From != 0 || last.To != 200 ||
		first.To < 100 || first.To > 140 || last.From > 100 || last.From < 90 || math.Abs(first.Factor-0.8) > 0.02 ||
		math.Abs(last.Factor-0.98) > 0.01 {
		t.Errorf("of two rates: %+v, %+v", first, last)
	}
	// A gap that falls like 1/t has no rate: its lines are short.
	slow := make([]float64, 400)
	for i := range slow {
		slow[i] = 1 / float64(i+1)
	}
	if _, last := stretches(slow); last == nil || last.Decades > 1 || last.To != 399 {
		t.Errorf("sublinear: %+v", last)
	}
	for name, gaps := range map[string][]float64{
		"rising": {1, 2, 3, 4, 5}, "constant": {1, 1, 1, 1, 1}, "short": {1, 0.1, 0.01}, "none": {0},
	} {
		if first, last := stretches(gaps); first != nil || last != nil {
			t.Errorf("%s: %+v, %+v", name, first, last)
		}
	}
	// Long runs are thinned.
	if _, last := stretches(geometric(5000, func(int) float64 { return 0.999 })); last == nil ||
		math.Abs(last.Factor-0.999) > 1e-9 || last.From != 0 || last.To < 4980 {
		t.Errorf("of a long run: %+v", last)
	}
}

func TestReached(t *testing.T) {
	t.Parallel()
	var c Converged
	c.add([]ConvergenceRun{
		{
			ConvergenceKey: ConvergenceKey{Algorithm: nameBCD}, Objectives: []float64{30, 21, 20 + 1e-5},
			Seconds: []float64{0.1, 0.2, 0.3},
		},
		{ConvergenceKey: ConvergenceKey{Algorithm: nameFloorOnly}, Objectives: []float64{25, 20}, Seconds: []float64{
			1, 2,
		}},
		{ConvergenceKey: ConvergenceKey{Algorithm: paperLPGD}, Objectives: []float64{40}, Seconds: []float64{1}},
	})
	if r := c.Rows[0]; r.Floor != 20 || r.ReachedIterations == nil || *r.ReachedIterations != 2 ||
		*r.ReachedSeconds != 0.3 {
		t.Errorf("%+v", r)
	}
	if r := c.Rows[2]; r.Gap != 1 || r.ReachedIterations != nil || r.ReachedSeconds != nil {
		t.Errorf("%+v", r)
	}
}

func TestMixedDigits(t *testing.T) {
	t.Parallel()
	d := stripes()
	c, err := mixedDigits(d, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := c.x.(*mat.Dense)
	n, p := x.Dims()
	if n != digitsImages || p != 16 || math.Abs(linalg.OperatorOf(c.x, 0).NormSquared()-digitsImages) > 1e-9 {
		t.Errorf("%d×%d, squares %v", n, p, linalg.OperatorOf(c.x, 0).NormSquared())
	}
	for j := range p {
		if mean := stat.Mean(mat.Col(nil, j, x), nil); math.Abs(mean) > 1e-12 {
			t.Errorf("pixel %d has the mean %v", j, mean)
		}
	}
	ones := 0
	for _, y := range c.data.Labels {
		ones += y
	}
	if ones < digitsImages/4 || ones > digitsImages*3/4 {
		t.Errorf("%d of %d labels are 1", ones, digitsImages)
	}
	d.Labels[0] = 2 // a thirteenth 2: 0 is not looked at
	if _, err := mixedDigits(d, 3); err != nil {
		t.Error(err)
	}
	for i := range d.Labels {
		if d.Labels[i] == 7 {
			d.Labels[i] = 1
		}
	}
	if _, err := mixedDigits(d, 3); !errors.Is(err, report.ErrSettings) ||
		!strings.Contains(err.Error(), "0 images of a 7") {
		t.Errorf("without a 7: %v", err)
	}
}

// TestJobPostings: shape, density and share of the made-up postings are those of the ones that they stand for.
func TestJobPostings(t *testing.T) {
	t.Parallel()
	c, err := jobPostings(t.Context(), 3000, 2840, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := c.x.(*matrix.CSR)
	rows, columns := x.Dims()
	n, q := c.data.Aux.Dims()
	if density := float64(x.NNZ()) / float64(rows*columns); rows != 3000 || columns != 2840 || n != 3000 || q != 72 ||
		math.Abs(density-0.0183) > 0.001 {
		t.Errorf("%d×%d with a density of %v, %d features", rows, columns, density, q)
	}
	ones := 0
	for _, y := range c.data.Labels {
		ones += y
	}
	if share := float64(ones) / float64(n); math.Abs(share-0.05) > 0.015 {
		t.Errorf("a share of %v is fraudulent", share)
	}
}

func TestConvergenceResumes(t *testing.T) {
	t.Parallel()
	c := smallConvergence()
	c.Iterations = 4
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	stopped, err := c.Run(ctx, &report.Session{Cells: file, Progress: func(done, _ int) {
		if done == 7 { // in the middle of the second problem
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	some := stopped.Data.(*Converged)
	if len(some.Rows) != 5 {
		t.Fatalf("%d rows", len(some.Rows))
	}
	all := converge(t, c, &report.Session{Cells: file})
	if d := cmp.Diff(some.Rows, all.Rows[:5]); d != "" { // seconds too: they are not made again
		t.Errorf("the first runs changed: %s", d)
	}
	more := *c
	more.Xi = []float64{10, 5} // in any order, with others
	if got := converge(t, &more, &report.Session{Cells: file}); got.Rows[0].Xi != 10 ||
		cmp.Diff(got.Rows[:5], all.Rows[5:10]) != "" {
		t.Error("runs of the same ξ were made again")
	}
	for name, change := range map[string]func(*Convergence){
		"another start":   func(c *Convergence) { c.Start = solver.InitSVD },
		"another seed":    func(c *Convergence) { c.Seed = 2 },
		"other digits":    func(c *Convergence) { c.digits.Pixels[5]++ },
		"no digits":       func(c *Convergence) { c.digits = nil },
		"more updates":    func(c *Convergence) { c.Iterations = 5 },
		"another version": func(c *Convergence) { c.Version = "2" },
	} {
		other := *c
		other.digits = stripes()
		change(&other)
		if got, err := other.Run(t.Context(), &report.Session{Cells: file}); got != nil ||
			!errors.Is(err, report.ErrSettings) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConvergenceRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Convergence){
		"no updates":    func(c *Convergence) { c.Iterations = 0 },
		"negative ξ":    func(c *Convergence) { c.Xi = []float64{1, -1} },
		"ξ twice":       func(c *Convergence) { c.Xi = []float64{1, 1} },
		"ξ is NaN":      func(c *Convergence) { c.Xi = []float64{math.NaN()} },
		"ξ is infinite": func(c *Convergence) { c.Xi = []float64{math.Inf(1)} },
		"no ξ":          func(c *Convergence) { c.Xi = []float64{} },
		"threads":       func(c *Convergence) { c.Threads = -1 },
		"few terms":     func(c *Convergence) { c.Terms = jobsRank - 1 },
		"few postings":  func(c *Convergence) { c.Documents = -1 },
	} {
		c := smallConvergence()
		change(c)
		if got, err := c.Run(t.Context(), &report.Session{}); got != nil || !errors.Is(err, report.ErrSettings) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestConvergedWrite(t *testing.T) {
	t.Parallel()
	c := smallConvergence()
	c.Xi, c.Start = []float64{3}, solver.InitRandom
	found, err := c.Run(t.Context(), &report.Session{})
	if err != nil {
		t.Fatal(err)
	}
	got := found.Data.(*Converged)
	dir := filepath.Join(t.TempDir(), "out")
	if err := found.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var again Converged
	if err := json.Unmarshal(read("results.json"), &again); err != nil || cmp.Diff(got.Rows, again.Rows) != "" ||
		again.Settings.Start != c.Start {
		t.Errorf("results.json: %v, %s", err, cmp.Diff(got.Rows, again.Rows))
	}
	iterates := 0
	for i := range got.Rows {
		iterates += len(got.Rows[i].Objectives)
	}
	for name, want := range map[string]int{"summary.csv": len(got.Rows), "iterations.csv": iterates} {
		lines, err := csv.NewReader(bytes.NewReader(read(name))).ReadAll() // which wants lines of one length
		if err != nil || len(lines) != 1+want {
			t.Errorf("%s: %d lines, %v, want %d", name, len(lines), err, 1+want)
		}
	}
	for _, name := range []string{
		"digits-iterations.svg", "digits-seconds.svg", "jobs-iterations.svg", "jobs-seconds.svg",
	} {
		svg, paths := xml.NewDecoder(bytes.NewReader(read(name))), 0
		for {
			token, err := svg.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
				paths++
			}
		}
		if paths < 2*4 {
			t.Errorf("%s: %d paths", name, paths)
		}
	}
	// A run that was ended reports some problems.
	quick := []float64{1e-5, 2e-5}
	some := Converged{Rows: []ConvergenceRow{
		{ConvergenceRun: ConvergenceRun{
			ConvergenceKey: ConvergenceKey{Data: "jobs", Variant: smf.VariantW, Xi: 1, Algorithm: nameBCD},
			Objectives:     []float64{3, 2}, Seconds: quick,
		}, Floor: 2},
		{ConvergenceRun: ConvergenceRun{
			ConvergenceKey: ConvergenceKey{Data: "jobs", Variant: smf.VariantW, Xi: 5, Algorithm: nameBCD},
			Objectives:     []float64{3, 2}, Seconds: quick,
		}, Floor: 2},
		{ConvergenceRun: ConvergenceRun{
			ConvergenceKey: ConvergenceKey{Data: "jobs", Variant: smf.VariantH, Xi: 1, Algorithm: nameBCD},
			Objectives:     []float64{2}, Seconds: quick[:1],
		}, Floor: 2},
	}}
	if err := errors.Join(some.report().Write(t.TempDir()), (&Converged{}).report().Write(t.TempDir())); err != nil {
		t.Error(err)
	}
	tables := found.Tables
	if len(tables) != 4 || tables[1].Title != "digits, smf-h" || len(tables[3].Lines) != 4 {
		t.Fatalf("%d tables", len(tables))
	}
	for _, table := range tables {
		for _, line := range table.Lines {
			if len(line) != len(table.Header) {
				t.Errorf("%s: a line of %d under %d", table.Title, len(line), len(table.Header))
			}
		}
	}
}

// TestRunThatOverflows: an objective that is not finite ends the record of a run, not the comparison.
func TestRunThatOverflows(t *testing.T) {
	t.Parallel()
	c := smallConvergence()
	c.digits, c.Xi, c.Iterations = nil, []float64{1e8}, 40 // 2τξ = 2e6
	for _, r := range converge(t, c, &report.Session{}).Rows {
		if r.Algorithm == paperLPGD && r.Variant == smf.VariantW &&
			(r.Status != "non-finite" || len(r.Objectives) < 2) {
			t.Errorf("%s after %d updates at a gap of %v", r.Status, len(r.Objectives)-1, r.Gap)
		}
		if math.IsInf(floats.Max(r.Objectives), 1) || math.IsNaN(floats.Sum(r.Objectives)) {
			t.Errorf("%s: the objective is not finite", r.Algorithm)
		}
	}
}
