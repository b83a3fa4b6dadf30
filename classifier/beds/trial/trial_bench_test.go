package trial

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
)

// BenchmarkTrial prints the tables of docs/results.md on the forecasts of beds. WARDCAST_BEDS_SEEDS is the number of
// simulated hospitals, 1 without it. With WARDCAST_BEDS_OUT, a folder, it writes visits and forecasts there for
// docs/scripts/beds.py.
func BenchmarkTrial(b *testing.B) {
	seeds := 1
	if s := os.Getenv("WARDCAST_BEDS_SEEDS"); s != "" {
		var err error
		if seeds, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		var results []*Result
		for seed := range seeds {
			results = append(results, run(b, uint64(seed+1)))
		}
		table(b, results)
	}
}

// run runs the trial of one seed.
func run(b *testing.B, seed uint64) *Result {
	b.Helper()
	trial := Trial{Hospital: Settings{Seed: seed}}
	if folder := os.Getenv("WARDCAST_BEDS_OUT"); folder != "" {
		visits, closeVisits := create(b, folder, fmt.Sprintf("visits-%d.csv", seed), "arrived", "decided", "admitted",
			"ward", "complaint", "age", "score", "p")
		defer closeVisits()
		forecasts, closeForecasts := create(b, folder, fmt.Sprintf("forecasts-%d.csv", seed), "method", "component",
			"ward", "horizon_hours", "day", "at", "mean", "y", "crps", "log", "pit_below", "pit",
			"covered80", "width80")
		defer closeForecasts()
		trial.Visits = func(v *Visit, p float64) error {
			return visits.Write([]string{
				v.Arrived.Format(time.RFC3339), v.Decided.Format(time.RFC3339), strconv.FormatBool(v.Admitted()),
				v.Ward, v.Note.Complaint, number(v.Note.Age.Value), number(v.Score), number(p),
			})
		}
		trial.Forecasts = func(f *Forecast) error {
			s := &f.Scores
			return forecasts.Write([]string{
				f.Method, f.Component, f.Ward, number(f.Horizon.Hours()), strconv.Itoa(f.Day),
				f.At.Format(time.RFC3339), number(f.Mean), strconv.Itoa(f.Y),
				number(s.CRPS), number(s.Log), number(s.PIT[0]), number(s.PIT[1]), strconv.FormatBool(s.Covered80),
				strconv.Itoa(s.Width80),
			})
		}
	}
	result, err := trial.Run(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return result
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }

// create returns a writer of a CSV file, and what closes it.
func create(b *testing.B, folder, name string, header ...string) (w *csv.Writer, finish func()) {
	b.Helper()
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		b.Fatal(err)
	}
	w = csv.NewWriter(f)
	if err := w.Write(header); err != nil {
		b.Fatal(err)
	}
	return w, func() {
		w.Flush()
		if err := errors.Join(w.Error(), f.Close()); err != nil {
			b.Error(err)
		}
	}
}

// tableRow is a row of the table: a component of a horizon, of all wards together or of each ward.
type tableRow struct {
	component string
	horizon   time.Duration
	wards     []string
}

func (g tableRow) where() string {
	if len(g.wards) > 1 {
		return "each ward"
	}
	return g.wards[0]
}

// table prints the measures over all seeds, whether our CRPS differs from that of the other methods, and the PIT mass
// of each ward.
func table(b *testing.B, results []*Result) {
	b.Helper()
	methods := []string{Ours, Average, Naive, Known}
	var rows []string
	var at []int // rows with a difference
	var p []float64
	for _, component := range []string{Waiting, Coming, Total} {
		for _, h := range horizons {
			for _, group := range [][]string{{beds.All}, wards} {
				for _, method := range methods {
					line, d := row(b, results, method, tableRow{component, h, group})
					if line == "" {
						continue
					}
					if d != nil {
						at, p = append(at, len(rows)), append(p, d.P)
						line += fmt.Sprintf(" %+.3f [%+.3f, %+.3f]", d.Mean, d.Low, d.High)
					}
					rows = append(rows, line)
				}
			}
		}
	}
	for i, corrected := range holm(p) {
		rows[at[i]] += fmt.Sprintf(" | %.3f", corrected)
	}
	fmt.Println("\n| component | hours | of | method | n | mean | MAE | bias | CRPS | log | PIT-80 | closed 80 | " +
		"width | CRPS: wardcast − this | p, Holm |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, line := range rows {
		fmt.Println(line + " |")
	}
	fmt.Println("\n| PIT-80 (closed 80) of the total | 4 h | 8 h | 24 h |\n|---|---|---|---|")
	for _, ward := range append([]string{beds.All}, wards...) {
		fmt.Printf("| %s |", ward)
		for _, h := range horizons {
			scores, counts := collect(results, Cell{Method: Ours, Component: Total, Ward: ward, Horizon: h})
			m := beds.Measure(scores, counts)
			fmt.Printf(" %.3f (%.3f) |", m.PITMass, m.Covered80)
		}
		fmt.Println()
	}
}

// collect returns the scores and counts of a cell over all seeds.
func collect(results []*Result, cell Cell) (scores []beds.Scores, counts []int) {
	for _, r := range results {
		scores, counts = append(scores, r.Scores[cell]...), append(counts, r.Counts[cell]...)
	}
	return scores, counts
}

// row returns a line of the table, empty if the method does not forecast that, and how our CRPS differs.
func row(b *testing.B, results []*Result, method string, g tableRow) (line string, d *difference) {
	b.Helper()
	var scores []beds.Scores
	var counts []int
	for _, ward := range g.wards {
		s, y := collect(results, Cell{Method: method, Component: g.component, Ward: ward, Horizon: g.horizon})
		scores, counts = append(scores, s...), append(counts, y...)
	}
	if len(scores) == 0 {
		return "", nil
	}
	m := beds.Measure(scores, counts)
	line = fmt.Sprintf("| %s | %v | %s | %s | %d | %.2f | %.3f | %+.3f | %.3f | %.3f | %.3f | %.3f | %.1f |",
		g.component, g.horizon.Hours(), g.where(), method,
		m.N, m.Observed, m.MAE, m.Bias, m.CRPS, m.Log, m.PITMass, m.Covered80, m.Width80)
	if method == Ours {
		return line + " |", nil
	}
	var byDay [][]float64
	for _, r := range results {
		for day := range r.Days {
			var differences []float64
			for _, ward := range g.wards {
				cell := Cell{Method: method, Component: g.component, Ward: ward, Horizon: g.horizon}
				ours := cell
				ours.Method = Ours
				for i, crps := range r.CRPS[cell][day] {
					differences = append(differences, r.CRPS[ours][day][i]-crps)
				}
			}
			byDay = append(byDay, differences)
		}
	}
	difference, err := blockBootstrap(byDay, blocks{})
	if err != nil {
		b.Fatal(err)
	}
	return line, &difference
}
