package models

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// reported gives a bundle a report on predictions that are a little too extreme.
func reported(t *testing.T, b *bundle.Bundle, n int) *report.Report {
	t.Helper()
	random := rand.New(rand.NewPCG(8, uint64(n)))
	e := report.Evaluation{Kind: report.Later}
	sex, age := gate.Grouping{Name: "sex"}, gate.Grouping{Name: "age"}
	for i := range n {
		x := 1.4*random.NormFloat64() - 1.3
		e.Admitted = append(e.Admitted, random.Float64() < 1/(1+math.Exp(-x)))
		e.Probabilities = append(e.Probabilities, 1/(1+math.Exp(-1.15*x-0.5*random.NormFloat64())))
		sex.Level = append(sex.Level, []string{"F", "M", "<other>"}[min(2, random.IntN(100)/49)])
		age.Level = append(age.Level, report.AgeBand(float64(i%100)))
	}
	e.Groupings = []gate.Grouping{sex, age}
	before, now, psi, chance := 0.249, 0.262, 0.08, 0.045
	e.Shifts = []report.Shift{
		{Name: "share of admissions", Before: &before, Now: &now},
		{Name: "distribution of the probabilities", PSI: &psi, Chance: &chance},
	}
	v, err := gate.Judge(gate.Notes{Admitted: e.Admitted, Challenger: e.Probabilities, Groupings: e.Groupings},
		gate.Default())
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	r, err := report.Build(report.Report{
		Manifest: &b.Manifest, Topics: 1, Words: 2, Terms: 2, Verdict: v,
		Data: report.Data{Training: report.Window{Notes: 6640, Events: 1992}, Evaluation: report.Window{
			From: day, To: day.AddDate(0, 0, 30),
		}},
	}, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(b); err != nil {
		t.Fatal(err)
	}
	return r
}

// versions adds versions to a store, with other figures each, and returns the name and the report of the last.
func versions(t *testing.T, store *models.Store, n int) (string, *report.Report) {
	t.Helper()
	var name string
	var r *report.Report
	for i := range n {
		b := webtest.Bundle(t, i+1)
		b.Manifest.CreatedAt = b.Manifest.CreatedAt.AddDate(0, 0, i-n)
		b.Manifest.Metrics = json.RawMessage(fmt.Sprintf(`{"auroc":%v,"auroc_95":{"low":0.7,"high":0.9},"brier":0.1}`,
			0.8+0.001*float64(i*i%7)))
		if i == n-1 {
			r = reported(t, b, 3000)
		}
		var err error
		if name, err = store.Save(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return name, r
}

// TestFigures holds the figures on the page against those of the stored report.
func TestFigures(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	version, r := versions(t, s.store, 15)
	path := "/models/_other/" + url.PathEscape(version)
	status, _, body := s.Ask(webtest.Viewer, path, nil)
	text := webtest.Plain(body)
	if status != 200 {
		t.Fatalf("%d:\n%s", status, text)
	}
	m := r.Metrics
	want := []string{
		"Measured on 3\u202f000 later notes, " + frame.Grouped(m.Positives) +
			" of them admitted, 1 Oct 2026 to 31 Oct 2026.",
		"AUROC " + frame.Fixed(m.AUROC.Value) + " " + frame.Fixed(m.AUROC.Low) + " to " + frame.Fixed(m.AUROC.High),
		"Calibration slope " + frame.Fixed(m.CalibrationSlope.Value), "the last 12 versions",
		"have the AUROC by cross-validation on all training notes, 0.80", // not that of these notes
		"Share of admissions 0.249 0.262", "Sex <other>", "What the gate said Promote", "Others who",
	}
	for _, b := range r.Bins {
		want = append(want, fmt.Sprintf("%s to %s %% %s %%", frame.Percent(b.Low), frame.Percent(b.High),
			frame.Percent(b.Observed)))
	}
	groups := 1 // all notes
	for _, g := range r.Subgroups {
		if !g.Suppressed {
			groups++
			want = append(want, g.Level+" "+frame.Grouped(g.Metrics.N)+" "+frame.Fixed(g.Metrics.AUROC.Value))
		}
	}
	for _, w := range want {
		if !strings.Contains(text,
			strings.NewReplacer("\u202f", " ", "+", "&#43;").Replace(template.HTMLEscapeString(w))) {
			t.Errorf("the page lacks %q:\n%s", w, text)
		}
	}
	for _, e := range []float64{
		m.AUROC.Value, m.Brier.Value, r.Bins[3].Observed, r.Thresholds[1].Sensitivity.Value, r.Decision[5].Model.Value,
	} {
		if !strings.Contains(body, `data-value="`+frame.Exact(e)+`"`) {
			t.Errorf("the page lacks the exact %v", e)
		}
	}
	// One more is in the legend; the forest plot has three measures.
	if strings.Count(body, `class="whisk"`) != len(r.Bins)+1+3*groups || strings.Count(body, "<svg") < 3+4 {
		t.Errorf("%d whiskers", strings.Count(body, `class="whisk"`))
	}
	if _, _, page := s.Ask(webtest.Viewer, path+"/report.json", nil); page != string(mustJSON(t, r)) {
		t.Error("the JSON is not that of the store")
	}
	_, header, page := s.Ask(webtest.Viewer, path+"/figures.csv", nil)
	rows, err := csv.NewReader(strings.NewReader(page)).ReadAll()
	if err != nil || !strings.HasPrefix(header.Get("Content-Type"), "text/csv") || rows[1][0] != "calibration" ||
		rows[1][3] != frame.Exact(r.Bins[0].Observed) || rows[1][6] != strconv.Itoa(r.Bins[0].N) {
		t.Errorf("the CSV begins %q, %v", rows[:2], err)
	}
}

func mustJSON(t *testing.T, r *report.Report) []byte {
	t.Helper()
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFiguresStates: versions without a report, with one that means nothing, and none at all.
func TestFiguresStates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := webtest.Bundle(t, 7)
	b.Report = json.RawMessage(`{"metrics":null}`)
	odd, err := s.store.Save(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	_, _, page := s.Ask(webtest.Viewer, "/models", nil)
	plainVersion := regexp.MustCompile(`href="(/models/_other/[^"/]+)"`).FindStringSubmatch(page)
	if plainVersion == nil {
		t.Fatalf("the page has no link to figures:\n%s", page)
	}
	for path, c := range map[string]struct {
		status int
		has    string
	}{
		plainVersion[1]:                              {200, "cannot be read by this wardcast"},
		plainVersion[1] + "/figures.csv":             {404, "no report that can be read"},
		plainVersion[1] + "/report.json":             {200, "{}"},
		"/models/_other/" + odd:                      {200, "cannot be read by this wardcast"},
		"/models/_other/2026-01-01T00-00-00Z-000000": {404, "no such version"},
	} {
		if status, _, body := s.Ask(webtest.Viewer, path, nil); status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s: %d, want %d with %q:\n%s", path, status, c.status, c.has, webtest.Plain(body))
		}
	}
	if status, _, _ := s.Ask("", plainVersion[1], nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
}
