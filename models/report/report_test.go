package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func day(d int) time.Time { return time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC).AddDate(0, 0, d) }

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// planted returns predictions of n notes of patients of whom some come again; a model that is a little too extreme.
func planted(n int) report.Evaluation {
	random := rand.New(rand.NewPCG(8, 8))
	e := report.Evaluation{Kind: report.Later}
	complaint, age, sex, site := gate.Grouping{Name: "complaint"}, gate.Grouping{Name: "age"},
		gate.Grouping{Name: "sex"}, gate.Grouping{Name: "site"}
	complaints := []string{"abdominal pain", "chest pain", "fall <from height>", "rash | hives"}
	for i := range n {
		x := 1.4*random.NormFloat64() - 1.3
		kind, years := random.IntN(len(complaints)), 100*random.Float64()
		e.Admitted = append(e.Admitted, random.Float64() < sigmoid(x-float64(kind%2)/3))
		e.Probabilities = append(e.Probabilities, math.Round(1e6*sigmoid(1.15*x+0.5*random.NormFloat64()))/1e6)
		e.Patients = append(e.Patients, strconv.Itoa(i*3/4))
		complaint.Level = append(complaint.Level, complaints[min(kind, random.IntN(30))])
		age.Level = append(age.Level, report.AgeBand(years))
		sex.Level = append(sex.Level, []string{"F", "M"}[random.IntN(2)])
		site.Level = append(site.Level, []string{"north", "south", "island"}[min(2, random.IntN(80)/39)])
	}
	e.Groupings = []gate.Grouping{complaint, age, sex, site}
	return e
}

func manifest() *bundle.Manifest {
	return &bundle.Manifest{
		Name: bundle.Other, Method: "sonmf", Rank: 30, Weighting: "tf-idf", Seed: 1, Threshold: 0.475,
		ThresholdRule: "accuracy",
		Text:          json.RawMessage(`{"stemmer":"porter2","min_df":10,"n_grams":2}`),
		Head:          json.RawMessage(`{"alpha":0.1,"lambda":0.003,"folds":5}`),
		Solver:        json.RawMessage(`{"status":"converged","iterations":41}`),
		Calibration:   bundle.Calibration{Kind: bundle.Platt}, Parent: "2026-02-27T02-00-00Z-1c7d90",
		Aux: []bundle.AuxColumn{
			{Name: "age", Kind: bundle.Numeric, Mean: make([]float64, 4)},
			{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "M"}, Mean: make([]float64, 2)},
		},
		CreatedAt: day(90), Wardcast: "0.1.0", VocabularySHA256: strings.Repeat("ab", 32),
		Files: map[string]bundle.File{"tensors.safetensors": {SHA256: strings.Repeat("cd", 32)}, "vocabulary.json": {
			SHA256: strings.Repeat("ab", 32),
		}},
	}
}

// input is what a report is built from.
type input struct {
	report.Report
	Evaluation report.Evaluation
}

func full(t *testing.T) input {
	t.Helper()
	e := planted(3000)
	champion := make([]float64, len(e.Probabilities))
	for i, p := range e.Probabilities {
		champion[i] = 0.5*p + 0.15
	}
	v, err := gate.Judge(gate.Notes{
		Admitted: e.Admitted, Patients: e.Patients, Challenger: e.Probabilities,
		Champion: champion, Groupings: e.Groupings,
	}, gate.Default())
	if err != nil {
		t.Fatal(err)
	}
	site, err := report.ReadSite(filepath.Join("testdata", "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e.Style = new(0.012)
	before, now, psi, chance := 0.249, 0.262, 0.08, 0.045
	e.Shifts = []report.Shift{
		{Name: "share of admissions", Before: &before, Now: &now},
		{Name: "distribution of the probabilities", PSI: &psi, Chance: &chance},
	}
	return input{report.Report{
		Manifest: manifest(), Topics: 30, Words: 410, Pieces: 1204, Terms: 2150,
		Data: report.Data{
			Sources:    []string{"triage.notes and triage.outcomes, up to offset 20411"},
			Outcome:    "disposition admitted, as known on 2026-04-01",
			Training:   report.Window{From: day(0), To: day(70), Notes: 9000, Events: 2241, Patients: 7100},
			Evaluation: report.Window{From: day(70), To: day(90), Patients: 2250},
			Exclusions: []report.Exclusion{{Reason: "no decision yet at the cut-off", Notes: 212}},
			Counts: []report.Count{
				{Name: "visits with final outcomes that contradict each other", Number: new(3)},
				{Name: "patients with more than one note", Number: new(1210)},
			},
		},
		Verdict: v, Site: site,
	}, e}
}

// bare is what a training on a table without times, groups and patients can say.
func bare() input {
	e := planted(400)
	e.Kind, e.Groupings, e.Patients = report.OutOfFold, nil, nil
	m := manifest()
	m.Name, m.Complaint, m.Method, m.Rank, m.Aux, m.Parent, m.Files, m.Text, m.Solver, m.Threshold = "chest-pain",
		"Chest <Pain>", "bow", 0, nil, "", nil, nil, nil, 0.9
	return input{report.Report{
		Manifest: m, Words: 300, Terms: 800, Data: report.Data{Training: report.Window{Notes: 400, Events: 101}},
	}, e}
}

func several() input {
	in := bare()
	in.Manifest.Classes, in.Manifest.AdmissionClasses = []string{"home", "ward", "moved|left"},
		[]string{"ward", "moved|left"}
	in.Manifest.Method, in.Manifest.Threshold, in.Words, in.Topics, in.Supervised = "smf-w", 0.4, 0, 10, true
	area := 0.75
	in.Classes = &eval.ClassMetrics{
		N: 400, Accuracy: 0.8, BalancedAccuracy: 0.5, LogLoss: 0.6, Brier: 0.3, AUROC: &area,
		Classes: []eval.ClassMetric{
			{Class: "home", N: 299, AUROC: &area}, {Class: "ward", N: 80, AUROC: &area}, {Class: "moved|left", N: 21},
		}, Confusion: [][]int{{280, 19, 0}, {40, 40, 0}, {15, 6, 0}},
	}
	return in
}

func build(t *testing.T, in input) (r *report.Report, page, data []byte) {
	t.Helper()
	r, err := report.Build(in.Report, in.Evaluation)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = r.HTML(); err != nil {
		t.Fatal(err)
	}
	if data, err = r.JSON(); err != nil {
		t.Fatal(err)
	}
	return r, page, data
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]input{"full": full(t), "bare": bare(), "several-outcomes": several()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, page, data := build(t, in)
			files := map[string][]byte{"card-" + name + ".golden.md": []byte(card(t, r))}
			if name == "full" {
				files["report.golden.html"] = bytes.Replace(page, []byte(chart.Style()), []byte("of package chart"), 1)
				files["report.golden.json"] = data
			}
			for file, got := range files {
				golden := filepath.Join("testdata", file)
				if *update {
					if err := os.WriteFile(golden, got, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(file, ".json") {
					sameNumbers(t, want, got)
				} else if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); d != "" {
					t.Errorf("%s: %s", file, d)
				}
			}
		})
	}
}

// sameNumbers compares JSON whose numbers may differ by the rounding of other machines.
func sameNumbers(t *testing.T, want, got []byte) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(want, &a), json.Unmarshal(got, &b)); err != nil {
		t.Fatal(err)
	}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x)) })
	if d := cmp.Diff(a, b, near); d != "" {
		t.Error(d)
	}
}

// TestPageIsSelfContained: no scripts, nothing to fetch, well-formed pictures, and no text of the data that is not
// escaped.
func TestPageIsSelfContained(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]input{"full": full(t), "bare": bare(), "several": several()} {
		_, page, _ := build(t, in)
		if bad := regexp.MustCompile(`<script|https?:|src=|@import|url\(|ZgotmplZ|<no ` +
			`value>|\bNaN|Inf\b|<Pain>|<from height>`).Find(page); bad != nil {
			t.Errorf("%s: page holds %q", name, bad)
		}
		r, err := report.Build(in.Report, in.Evaluation)
		if err != nil || strings.Contains(card(t, r)+string(page), "%!") {
			t.Errorf("%s: a format is wrong, %v", name, err)
		}
		pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAll(page, -1)
		if want := 5 + min(1, len(in.Evaluation.Groupings)); len(pictures) != want {
			t.Errorf("%s: %d pictures, want %d", name, len(pictures), want)
		}
		for _, svg := range pictures {
			d := xml.NewDecoder(bytes.NewReader(svg))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v in %.80s", name, err, svg)
					break
				}
			}
		}
	}
}

// TestSmallGroupsAreSuppressed: no figure of a group with fewer than 20 admissions stands in any of the three files.
func TestSmallGroupsAreSuppressed(t *testing.T) {
	t.Parallel()
	in := full(t)
	r, page, data := build(t, in)
	small := 0
	for _, g := range r.Subgroups {
		events := 0
		for _, grouping := range in.Evaluation.Groupings {
			for i, level := range grouping.Level {
				if grouping.Name == g.Grouping && level == g.Level && in.Evaluation.Admitted[i] {
					events++
				}
			}
		}
		if g.Suppressed != (events < report.Suppression) || g.Suppressed != (g.Metrics == nil) ||
			g.Suppressed != (g.Threshold == nil) {
			t.Errorf("%s %s with %d admissions: %+v", g.Grouping, g.Level, events, g)
		}
		if g.Suppressed {
			small++
		}
	}
	if small == 0 {
		t.Fatal("no small group in the test")
	}
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		if !strings.Contains(text, "Fewer than 20 admissions, or fewer than 20 other notes: age under 1; site island.") {
			t.Errorf("%s does not name the small group", name)
		}
	}
	if n := strings.Count(string(data), `"suppressed": true`); n != small {
		t.Errorf("%d groups are suppressed in the JSON, want %d", n, small)
	}
}

// TestManySmallGroups: small groups take a line, not a row each; from the thirty-first on they are counted.
func TestManySmallGroups(t *testing.T) {
	t.Parallel()
	in := full(t)
	words := in.Evaluation.Groupings[0].Level
	for i := range 33 {
		words[i] = fmt.Sprintf("rarity %02d", i)
	}
	r, page, _ := build(t, in)
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		for _, want := range []string{"complaint rarity 00, rarity 01, ", ", rarity 29 and 3 more"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not hold %q", name, want)
			}
		}
		if n := strings.Count(text, "rarity 00"); n != 1 {
			t.Errorf("%s names a small group %d times", name, n)
		}
	}
}

// TestThresholdIsProminent: the first line of card and page says what the threshold finds.
func TestThresholdIsProminent(t *testing.T) {
	t.Parallel()
	r, page, _ := build(t, bare())
	want := "At its threshold of 0.900 the model finds "
	if lines := strings.Split(card(t, r), "\n"); !strings.HasPrefix(lines[2], "- "+want) {
		t.Errorf("card begins %q", lines[:3])
	}
	if head, _, _ := strings.Cut(string(page), "<h2>"); !strings.Contains(head, want) {
		t.Error("the page does not begin with it")
	}
	if !strings.Contains(strings.Join(r.Warnings, " "), "finds fewer than half of the patients who are admitted") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestMissingFieldsSaySo(t *testing.T) {
	t.Parallel()
	r, page, _ := build(t, bare())
	const missing = "to be filled in by the site"
	for _, name := range []string{"Owner", "Contact", "Intended use and workflow", "Hazards", "Monitoring plan"} {
		if !strings.Contains(card(t, r), "- **"+name+"**: "+missing) {
			t.Errorf("the card does not say that %s is missing", name)
		}
	}
	if n := strings.Count(string(page), missing); n < 10 {
		t.Errorf("the page says %d times that a field is missing", n)
	}
	r, page, _ = build(t, full(t))
	if strings.Contains(card(t, r), "**Owner**: "+missing) ||
		!bytes.Contains(page, []byte("Head of emergency medicine")) {
		t.Error("the owner is missing")
	}
}

func TestReadSite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "site.yaml")
	for text, want := range map[string]string{
		"owner: A\nowener: B\n":  "line 2: field owener not found",
		"hazards:\n- cause: x\n": "entry 1 has no hazard",
		"owner: [a\n":            "reading the site's fields",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := report.ReadSite(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
	if s, err := report.ReadSite(os.DevNull); err != nil || s == nil {
		t.Errorf("an empty file: %v, %v", s, err)
	}
	if _, err := report.ReadSite("/dev/zero"); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("a file without end: %v", err)
	}
}

func TestBuildErrors(t *testing.T) {
	t.Parallel()
	in := bare()
	in.Evaluation.Probabilities = in.Evaluation.Probabilities[1:]
	if _, err := report.Build(in.Report, in.Evaluation); !errors.Is(err, eval.ErrShape) {
		t.Errorf("got %v", err)
	}
	in = bare()
	in.Evaluation.Groupings = []gate.Grouping{{Name: "sex", Level: []string{"F"}}}
	if _, err := report.Build(in.Report, in.Evaluation); !errors.Is(err, eval.ErrShape) {
		t.Errorf("got %v", err)
	}
}

// TestDirectionOfExpectation: the warning says whether too many or too few are expected.
func TestDirectionOfExpectation(t *testing.T) {
	t.Parallel()
	for times, want := range map[float64]string{
		0.5: "It expects too few admissions", 1.5: "It expects too many admissions",
	} {
		in := full(t)
		for i, p := range in.Evaluation.Probabilities {
			in.Evaluation.Probabilities[i] = min(times*p, 1)
		}
		if r, _, _ := build(t, in); !strings.Contains(strings.Join(r.Warnings, " "), want) {
			t.Errorf("%v times the probability: warnings %q", times, r.Warnings)
		}
	}
}

// TestCorrectionByAnInterceptAlone: a correction may have no coefficient.
func TestCorrectionByAnInterceptAlone(t *testing.T) {
	t.Parallel()
	in := bare()
	in.Correction = new(int)
	r, page, _ := build(t, in)
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		if !strings.Contains(text, "none: only the intercept differs") {
			t.Errorf("the %s does not say so", name)
		}
	}
}

// TestOneClass: a report of notes that all went home has no figure that needs both outcomes, and is still a report.
func TestOneClass(t *testing.T) {
	t.Parallel()
	in := full(t)
	clear(in.Evaluation.Admitted)
	r, page, _ := build(t, in)
	if r.Metrics.AUROC != nil || !strings.Contains(card(t, r), "No better than the base rate") ||
		!bytes.Contains(page, []byte("here there is none")) {
		t.Errorf("%+v", r.Metrics)
	}
}

func TestAgeBand(t *testing.T) {
	t.Parallel()
	for age, want := range map[float64]string{
		0: "under 1", 0.99: "under 1", 1: "1–4", 4.9: "1–4", 5: "5–17", 17.9: "5–17", 18: "18–44", 64: "45–64", 79: "65–79", 80: "80+", 101: "80+", -1: "", 200: "",
	} {
		if got := report.AgeBand(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
	if got := report.AgeBand(math.NaN()); got != "" {
		t.Errorf("NaN: %q", got)
	}
}

// TestTooGood: predictions that know more than triage can get a warning that names where to look.
func TestTooGood(t *testing.T) {
	t.Parallel()
	in := bare()
	for i, y := range in.Evaluation.Admitted {
		if in.Evaluation.Probabilities[i] = 0.1; y {
			in.Evaluation.Probabilities[i] = 0.9
		}
	}
	in.Heaviest = []string{"admit", "ward"}
	r, err := report.Build(in.Report, in.Evaluation)
	if err != nil {
		t.Fatal(err)
	}
	const want = `The AUROC is above 0.95, too good to be true: look for text that was written after triage. The ` +
		`words with the largest weights are "admit", "ward".`
	if len(r.Warnings) == 0 || r.Warnings[0] != want {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func card(t *testing.T, r *report.Report) string {
	t.Helper()
	text, err := r.Card()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
