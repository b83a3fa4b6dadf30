// Package icqf repeats table 1 of K. C. Lam, B. E. Mahony, A. Raznahan and F. Pereira, "Interpretable factorization of
// clinical questionnaires to identify latent factors of psychopathology": several criteria count the factors of
// questionnaires with 10 factors.
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early
// returns its results so far.
package icqf

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

// Table1 counts the factors of questionnaires.
type Table1 struct {
	Runs    int            `json:"trials" help:"Questionnaires of each noise; the paper has 30." default:"30"`
	Noise   []float64      `json:"noise" help:"Shares of answers with noise, δ." default:"0.1,0.2,0.3"`
	Factors []int          `json:"factors" kong:"-"` // candidates of the methods that are fitted for each
	Seed    uint64         `json:"seed" help:"Seed of all random draws." default:"1"`
	Threads report.Threads `json:"threads" help:"Threads; 0 means one for each processor. With 1 the seconds can be compared." default:"1"`
	// Version is the program's version, which the numbers depend on.
	Version string `json:"version" kong:"-"`

	Methods []string        `json:"-" help:"Methods to compare: icqf and l1-nmf by bcv and bic, fa-promax by parallel and map." enum:"${icqfMethods}" default:"${icqfMethods}"`
	Sets    string          `json:"-" help:"Folder of questionnaires to use instead of drawn ones: dN_S_M.csv, gzipped or not, with the noise N in tenths and a number S from 0 to below --runs." placeholder:"DIR" type:"existingdir"`
	given   []Questionnaire // of Sets
}

// CellKey names a cell.
type CellKey struct {
	Noise     float64 `json:"noise"`
	Set       int     `json:"set"` // from 0
	Method    string  `json:"method"`
	Criterion string  `json:"criterion"`
}

// Cell is the number of factors that one method finds in one questionnaire by one criterion.
type Cell struct {
	CellKey
	Factors int     `json:"factors"`
	Seconds float64 `json:"seconds"`
}

// Key implements report.Cell.
func (c Cell) Key() any { return c.CellKey }

func (t *Table1) check() error {
	if t.Runs < 1 || len(t.Noise) == 0 || len(t.Factors) == 0 || len(t.Methods) == 0 {
		return report.Invalid("%d questionnaires of each of %d noises, %d numbers of factors, %d methods", t.Runs,
			len(t.Noise), len(t.Factors), len(t.Methods))
	}
	for i, v := range t.Noise {
		if !(v > 0 && v <= 1) || slices.Contains(t.Noise[:i], v) {
			return report.Invalid("noise %v is not above 0 and at most 1, or is repeated", v)
		}
	}
	for i, k := range t.Factors {
		if k < 1 || k > items || slices.Contains(t.Factors[:i], k) {
			return report.Invalid("%d factors are not from 1 to %d, or are repeated", k, items)
		}
	}
	return nil
}

// Run finds the numbers of factors.
func (t *Table1) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	lift, err := t.Threads.Limit()
	if err != nil {
		return nil, err
	}
	defer lift()
	if t.Sets != "" {
		if t.given, err = readQuestionnaires(t.Sets); err != nil {
			return nil, err
		}
	}
	questionnaires, err := t.questionnaires()
	if err != nil {
		return nil, err
	}
	var jobs []report.Job[Cell]
	for _, q := range questionnaires {
		for _, d := range detectors() {
			if slices.Contains(t.Methods, d.method) {
				jobs = append(jobs, report.Job[Cell]{
					Cell: Cell{CellKey: CellKey{Noise: q.Noise, Set: q.Set, Method: d.method, Criterion: d.criterion}},
					Fill: func(ctx context.Context, cell *Cell) (err error) {
						began := time.Now()
						cell.Factors, err = d.find(ctx, q.Answers, t)
						cell.Seconds = time.Since(began).Seconds()
						return err
					},
				})
			}
		}
	}
	header := struct {
		*Table1
		Given string `json:"given"` // fingerprint, "" for none
	}{t, fingerprint(t.given)}
	cells, err := report.Resume(ctx, session, header, jobs)
	if cells == nil {
		return nil, err
	}
	return (&Result{Settings: t, Drawn: t.given == nil, TrueFactors: factors, Cells: cells}).report(), err
}

// questionnaires returns the questionnaires of the settings. All noises of one run come before the next run, so that a
// run that ends early has results for each noise.
func (t *Table1) questionnaires() (all []Questionnaire, err error) {
	for set := range t.Runs {
		for _, noise := range t.Noise {
			if t.given == nil {
				all = append(all, drawQuestionnaire(noise, set, t.Seed))
			} else if i := slices.IndexFunc(t.given,
				func(q Questionnaire) bool { return q.Noise == noise && q.Set == set }); i >= 0 {
				all = append(all, t.given[i])
			}
		}
	}
	if len(all) == 0 {
		return nil, report.Invalid("no questionnaire of noise %v that is numbered below %d", t.Noise, t.Runs)
	}
	return all, nil
}

// Result is the result of Table1.
type Result struct {
	Settings    *Table1 `json:"settings"`
	Drawn       bool    `json:"drawn"` // rather than read
	TrueFactors int     `json:"true_factors"`
	// Summaries are the means of Cells over the questionnaires of one noise.
	Summaries []Summary `json:"summaries"`
	Cells     []Cell    `json:"cells"`
}

// Summary is the mean of |k − 10| over questionnaires, with its standard error, 0 for one questionnaire.
type Summary struct {
	Method         string  `json:"method"`
	Criterion      string  `json:"criterion"`
	Noise          float64 `json:"noise"`
	Questionnaires int     `json:"questionnaires"`
	Printed
	// Seconds is the mean time of one questionnaire.
	Seconds float64 `json:"seconds"`
	// Paper is the printed error, and Reference the error of other programs on 30 questionnaires drawn the same way:
	// the authors' at its tolerance of 1e-3, without its bounds for l1-nmf by bic; masked coordinate descent for l1-nmf
	// by bcv; psych in R for fa-promax. Both are nil for other noises than the paper's.
	Paper     *Printed `json:"paper,omitempty"`
	Reference *Printed `json:"reference,omitempty"`
}

// Printed is a mean error and its standard error.
type Printed struct {
	Error         float64 `json:"error"`
	StandardError float64 `json:"standard_error"`
}

// String returns the error and, in brackets, its standard error, "-" for none.
func (p *Printed) String() string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f (%.2f)", p.Error, p.StandardError)
}

// printed holds method, criterion and noise, then the error and its standard error in the paper and in other programs.
//
//go:embed printed.txt
var printed string

// report fills in the summaries, and returns the table, table1.csv and factors.csv.
func (r *Result) report() *report.Report {
	shown := report.NewTable(fmt.Sprintf("Table 1: mean |k − %d| and its standard error", r.TrueFactors),
		"method,by,noise,questionnaires,error,paper,reference,seconds")
	table := report.NewTable("", "method,criterion,noise,questionnaires,error,standard_error,seconds")
	for _, d := range detectors() {
		for _, noise := range r.Settings.Noise {
			var off, seconds []float64
			for _, c := range r.Cells {
				if c.Method == d.method && c.Criterion == d.criterion && c.Noise == noise {
					off, seconds = append(off, math.Abs(float64(c.Factors-r.TrueFactors))), append(seconds, c.Seconds)
				}
			}
			if len(off) == 0 {
				continue
			}
			s := Summary{Method: d.method, Criterion: d.criterion, Noise: noise, Questionnaires: len(off)}
			s.Error, s.StandardError = report.MeanError(off)
			s.Seconds, _ = report.MeanError(seconds)
			if values := report.Printed(printed, d.method, d.criterion, noise); values != nil {
				s.Paper, s.Reference = new(Printed), new(Printed)
				// a test reads all
				_, _ = fmt.Sscan(strings.Join(values, " "), &s.Paper.Error, &s.Paper.StandardError, &s.Reference.Error,
					&s.Reference.StandardError)
			}
			r.Summaries = append(r.Summaries, s)
			shown.Add(s.Method, s.Criterion, s.Noise, s.Questionnaires, s.String(), s.Paper.String(),
				s.Reference.String(), fmt.Sprintf("%.3f", s.Seconds))
			table.Add(s.Method, s.Criterion, s.Noise, s.Questionnaires, s.Error, s.StandardError, s.Seconds)
		}
	}
	counted := report.NewTable("", "noise,set,method,criterion,factors,seconds")
	for _, c := range r.Cells {
		counted.Add(c.Noise, c.Set, c.Method, c.Criterion, c.Factors, c.Seconds)
	}
	return &report.Report{Data: r, Tables: []report.Table{*shown}, CSV: map[string]*report.Table{
		"table1.csv": table, "factors.csv": counted,
	}}
}
