package sonmf

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

// small are simulations that take a moment.
func small(parts ...Part) *Simulations {
	return &Simulations{Parts: parts, Trials: 2, StudyTrials: 2, Seed: 1, Size: 40, Ranks: []int{2, 4, 5}, Updates: 60}
}

func simulate(t *testing.T, s *Simulations) *Simulated {
	t.Helper()
	r, err := s.Run(t.Context(), &report.Session{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Data.(*Simulated)
}

// cellOf returns a value of a table.
func cellOf(t *testing.T, table *Table, method, panel, column string) float64 {
	t.Helper()
	for _, r := range table.Rows {
		if i := slices.Index(table.Columns, column); r.Method == method && r.Panel == panel && i >= 0 &&
			r.Values[i].Mean != nil {
			return *r.Values[i].Mean
		}
	}
	t.Fatalf("%s has no %q of %s, %s", table.Title, column, method, panel)
	return 0
}

// TestTables checks on small matrices the paper's statements about large ones, and those that must always hold.
func TestTables(t *testing.T) {
	t.Parallel()
	got := simulate(t, small(Table1, Table2, Table3, Table4))
	for i, methods := range [][]string{
		{paperSONMF, ownSONMF, nameSemi, nameONMF, nameNMF},
		{paperSONMF, ownSONMF, nameSemi, nameONMF, nameNMF},
		{paperSONMF, ownSONMF, nameSemi},
		{paperSONMF, ownSONMF, nameLog},
	} {
		table := &got.Tables[i]
		if len(table.Rows) != 3*len(methods) {
			t.Fatalf("%s has %d rows, want those of %v", table.Title, len(table.Rows), methods)
		}
		objective, most := "average residual", 0.09*1.5
		if table.Part == Table4 {
			objective, most = "average cost", math.Ln2
		}
		for _, method := range methods[:2] {
			for _, panel := range []string{"K = 2", "K = 4", "K = 5"} {
				if v := cellOf(t, table, method, panel, objective); v <= 0 || v > most {
					t.Errorf("%s, %s, %s: %v, want at most %v", table.Title, method, panel, v, most)
				}
				if v := cellOf(t, table, method, panel, "orthogonal residual"); v > 1e-18 {
					t.Errorf("%s, %s, %s: orthogonal residual %v", table.Title, method, panel, v)
				}
			}
		}
		for _, r := range table.Rows {
			for j, v := range r.Values {
				if v.Paper != "" {
					t.Errorf("%s compares matrices of another size with the paper", table.Title)
				}
				if column := table.Columns[j]; strings.HasPrefix(column, "ε") && *v.Mean <= 0 ||
					strings.HasSuffix(column, "%") && (*v.Mean < 0 || *v.Mean > 100) || column == "iterations" &&
					(*v.Mean < 2 || *v.Mean > 61) {
					t.Errorf("%s, %s: %s is %v", table.Title, r.Method, column, *v.Mean)
				}
			}
		}
	}
	// Ranks are met: scenario 1 at K = 4 is worse with the topics of K = 2 only.
	if full := cellOf(t, &got.Tables[0], ownSONMF, "K = 4", "ε_F"); full > 1.5 {
		t.Errorf("ε_F = %v of 2.8 at most: the truth is not found", full)
	}
}

func TestStudies(t *testing.T) {
	t.Parallel()
	got := simulate(t, small(Initialization, RankDeficient, StepSizes))
	starts, deficient, steps := &got.Tables[0], &got.Tables[1], &got.Tables[2]
	for _, start := range []string{"svd", "kmeans", "random"} {
		if early, late := cellOf(t, starts, start, "scenario 2", "after 10"),
			cellOf(t, starts, start, "scenario 2", "after 50"); early < late {
			t.Errorf("start %s: residual %v after 10 updates and %v after 50", start, early, late)
		}
	}
	truth := cellOf(t, deficient, paperSONMF, "K = 8, true rank 2", "truth")
	if fitted := cellOf(t, deficient, paperSONMF, "K = 8, true rank 2", "after 50"); fitted >= truth {
		t.Errorf("eight topics for two: residual %v, that of the truth is %v", fitted, truth)
	}
	for _, method := range []string{"η = 0.05", "η = 0.001", ownSONMF} {
		if least, last := cellOf(t, steps, method, "K = 4", "least ε_P"),
			cellOf(t, steps, method, "K = 4", "ε_P"); least > last+1e-9 || least <= 0 {
			t.Errorf("%s: least ε_P %v, last %v", method, least, last)
		}
	}
	if len(got.Figures) != 3+3+2*3 {
		t.Errorf("%d figures", len(got.Figures))
	}
	for _, f := range got.Figures {
		for _, c := range f.Curves {
			if want := 60/f.Every + 1; len(c.Y) < 2 || len(c.Y) > want {
				t.Errorf("%s, %s: %d points, want at most %d", f.Name, c.Name, len(c.Y), want)
			}
		}
	}
}

// TestSimulateSameNumbers is not parallel: it changes GOMAXPROCS.
func TestSimulateSameNumbers(t *testing.T) {
	run := func(processors int) *Simulated {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		s := simulate(t, small(Table1, Table4, RankDeficient))
		for _, table := range s.Tables {
			if at := slices.Index(table.Columns, "seconds"); at >= 0 {
				for _, r := range table.Rows {
					r.Values[at] = Value{}
				}
			}
		}
		return s
	}
	if d := cmp.Diff(run(1), run(4), cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Error(d)
	}
}

func TestSimulateStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := small(Table3)
	s.Trials = 50
	var steps atomic.Int64
	r, err := s.Run(ctx, &report.Session{Progress: func(_, total int) {
		if total != 150 {
			t.Errorf("%d matrices reported, want 150", total)
		}
		if steps.Add(1) == 6 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	got := r.Data.(*Simulated)
	done := 0
	for _, r := range got.Tables[0].Rows {
		if r.Method != ownSONMF {
			continue
		}
		done += r.Trials
		if (r.Trials > 0) != (r.Values[0].Mean != nil) {
			t.Errorf("%+v", r)
		}
	}
	if done < 6 || done >= 150 {
		t.Errorf("%d matrices reported; the run ended after 6", done)
	}
}

func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Simulations){
		"no trials":        func(s *Simulations) { s.Trials = 0 },
		"negative studies": func(s *Simulations) { s.StudyTrials = -1 },
		"no parts":         func(s *Simulations) { s.Parts = nil },
		"no ranks":         func(s *Simulations) { s.Ranks = nil },
		"rank 0":           func(s *Simulations) { s.Ranks = []int{0} },
		"rank over size":   func(s *Simulations) { s.Ranks = []int{41} },
		"updates":          func(s *Simulations) { s.Updates = 0 },
		"size":             func(s *Simulations) { s.Size = -3 },
		"threads":          func(s *Simulations) { s.Threads = -1 },
		"no half of rank":  func(s *Simulations) { s.Parts, s.Ranks = []Part{RankDeficient}, []int{1} },
		"eight halves":     func(s *Simulations) { s.Parts, s.Ranks = []Part{RankDeficient}, []int{20} },
	} {
		s := small(Table1)
		change(s)
		if got, err := s.Run(t.Context(), &report.Session{}); got != nil || !errors.Is(err, report.ErrSettings) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// TestPrinted compares the printed rows with the parts' columns.
func TestPrinted(t *testing.T) {
	t.Parallel()
	s := &Simulations{Trials: 1, Ranks: []int{10, 30, 50}}
	rows := 0
	for _, p := range []Part{Table1, Table2, Table3, Table4} {
		st := s.study(p)
		for _, c := range st.cells {
			for _, contender := range c.contenders {
				values := report.Printed(printed, p, contender.name, c.rank)
				if (values == nil) != (contender.name == ownSONMF) {
					t.Errorf("%s, %s, K = %d: printed %v", p, contender.name, c.rank, values)
				}
				if values != nil {
					rows++
					if len(values) != len(st.columns) {
						t.Errorf("%s, %s, K = %d: %d values for %d columns", p, contender.name, c.rank, len(values),
							len(st.columns))
					}
				}
			}
		}
	}
	if all := strings.Count(printed, "\n"); rows != all {
		t.Errorf("%d of %d printed rows belong to a table", rows, all)
	}
}
