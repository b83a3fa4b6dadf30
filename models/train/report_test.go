package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
)

func TestGroupings(t *testing.T) {
	t.Parallel()
	d := Data{
		Pooled: true,
		Aux: []Aux{{"age", bundle.Numeric}, {"sex", bundle.Categorical}, {"acuity", bundle.Numeric}, {
			"vitals.hr", bundle.Numeric,
		}},
	}
	// Of each kind of note ten patients, and of the last one nine.
	for range 10 {
		d.Rows = append(d.Rows,
			Row{Complaint: "Chest Pain", Site: "A", Aux: []msg.Value{
				msg.Number(17), msg.Text("F"), msg.Number(3), msg.Number(90),
			}},
			Row{
				Complaint: "chest pain", Site: "A", Aux: []msg.Value{msg.Number(81), msg.Text("M"), {}, msg.Number(91)},
			},
			Row{Site: "B", Aux: []msg.Value{{}, {}, msg.Number(1), {}}})
	}
	for range 9 {
		d.Rows = append(d.Rows, Row{Complaint: "Erna Beispiel", Site: "Beispiel", Aux: []msg.Value{
			msg.Number(50), msg.Text("Erna"), msg.Number(1988), {},
		}})
	}
	kinds := func(d *Data) map[string][]string {
		out := map[string][]string{}
		for _, g := range Groupings(d) {
			out[g.Name] = append(slices.Clone(g.Level[:3]), g.Level[len(g.Level)-1])
		}
		return out
	}
	want := map[string][]string{
		"complaint": {"chest-pain", "chest-pain", "_other", "others"}, "site": {"A", "A", "B", "others"},
		"age": {"5–17", "80+", "", "45–64"}, "sex": {"F", "M", "", "others"}, "acuity": {"3", "", "1", "others"},
	}
	if d := cmp.Diff(want, kinds(&d)); d != "" {
		t.Error(d)
	}
	missing := map[string]int{}
	for _, g := range shownGroupings(&d) {
		for _, level := range g.Level {
			if level == unanswered {
				missing[g.Name]++
			}
		}
	}
	if d := cmp.Diff(map[string]int{"age": 10, "sex": 10, "acuity": 10, "vitals.hr": 19}, missing); d != "" {
		t.Errorf("notes without a value: %s", d)
	}
	// A patient who comes often is one.
	for i := range d.Rows[:30] {
		d.Rows[i].Patient = "one"
	}
	if got := kinds(&d)["sex"]; !slices.Equal(got, []string{"others", "others", "", "others"}) {
		t.Errorf("levels of one patient: %q", got)
	}
	// All notes of one site are no subgroup, and an auxiliary value is the site before any other.
	for i := range d.Rows {
		d.Rows[i].Site = "A"
	}
	if got := kinds(&d)["site"]; got != nil {
		t.Errorf("one site: %q", got)
	}
	d.Aux[1].Name = "site"
	if got := kinds(&d)["site"]; !slices.Equal(got, []string{"others", "others", "", "others"}) {
		t.Errorf("a site that is an auxiliary value: %q", got)
	}
}

// TestRareNamesAreHidden: what two patients have in a field of their notes, which may be a name, stands nowhere in the
// store, nor in what the command prints.
func TestRareNamesAreHidden(t *testing.T) {
	t.Parallel()
	const name = "Zyqwert Xyloph"
	rows, _ := generated(t, 0, 400)
	for i := range 2 {
		r := &rows[300*i]
		r.Complaint, r.Site, r.Aux = name, name, slices.Clone(r.Aux)
		r.Aux[1] = msg.Text(name)
	}
	dir := t.TempDir()
	out, e, err := entering(t, models.OpenDir(dir), rows)
	if err != nil || e.Candidate.RareComplaints == 0 || e.Candidate.RareComplaints != out.RareComplaints ||
		len(e.Candidate.Pooled) == 0 {
		t.Fatalf("generation %+v, error %v", e, err)
	}
	printed, err := json.Marshal(out.Outcomes)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"what is printed": string(printed)}
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = path + string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if text = strings.ToLower(text); strings.Contains(text, "zyqwert") || strings.Contains(text, "xyloph") {
			t.Errorf("%s names a patient", path)
		}
	}
	if !strings.Contains(out.Bundles[0].Card, "sex others") {
		t.Error("the card does not name the others")
	}
}

// TestReportCountsAllNotes: a report by cross-validation says where the notes are from, what was left out and what was
// counted, and calls nobody a patient who may be another's visit. Its card begins with what the threshold finds, and
// shows the site's fields.
func TestReportCountsAllNotes(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 400)
	s := smaller()
	s.PerComplaint = Never
	j := job()
	j.Site = &report.Site{Owner: "Head of emergency medicine"}
	j.About = report.Data{
		Sources: []string{"notes.csv"}, Exclusions: []report.Exclusion{{Reason: "no text", Notes: 3}},
		Counts: CountAttenders(rows).Counts(Recurring{Notes: 5}),
	}
	for _, patients := range []int{0, 200} {
		for i := range rows {
			if patients > 0 {
				rows[i].Patient = fmt.Sprint(i % patients)
			}
		}
		got, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
		if err != nil {
			t.Fatal(err)
		}
		shown := map[int]string{0: "unknown", 200: "200"}[patients]
		if n := CountAttenders(rows).Counts(Recurring{})[0].Number; (n == nil) != (patients == 0) ||
			n != nil && *n != patients {
			t.Errorf("%v of %d patients have more than one note", n, patients)
		}
		b := got.Bundles[0]
		for _, want := range []string{
			"**Data sources**: notes.csv", "excluded, no text: 3 notes", "notes without a patient id: 400",
			"under other patients: 5",
			") | " + shown + " |", "the model finds ", "of the patients who are admitted, and misses ",
			"Cross-validated on 400 notes",
			"- **Owner**: Head of emergency medicine", "| sex F | ", "- **Contact**: to be filled in by the site",
			"Fewer than 20 admissions, or fewer than 20 other notes: complaint ",
		} {
			if !strings.Contains(b.Card, want) {
				t.Errorf("the card does not say %q", want)
			}
		}
		var r report.Report
		if err := json.Unmarshal(b.Report, &r); err != nil {
			t.Fatal(err)
		}
		if r.Data.Training.Patients != patients || r.Data.Evaluation.Patients != patients {
			t.Errorf("%d and %d patients, want %d", r.Data.Training.Patients, r.Data.Evaluation.Patients, patients)
		}
		if n := strings.Count(string(b.Page), `<td class="n">`+shown+`</td></tr>`); n < 2 {
			t.Errorf("the page says %d times that there are %s patients", n, shown)
		}
	}
}

// TestCardNamesTheVersionBefore: the card and the report say which version the new one is held against.
func TestCardNamesTheVersionBefore(t *testing.T) {
	long(t)
	t.Parallel()
	rows, _ := generated(t, 0, 400)
	s := small()
	s.PerComplaint = Never
	first, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, job())
	if err != nil {
		t.Fatal(err)
	}
	before := *first.Bundles[0]
	before.Version = "2026-01-01T00-00-00Z-abcdef"
	j := job()
	j.Previous = func(context.Context, string) (*bundle.Bundle, error) { return &before, nil }
	second, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
	if err != nil {
		t.Fatal(err)
	}
	for name, card := range map[string]string{
		before.Version: second.Bundles[0].Card, "no earlier version": first.Bundles[0].Card,
	} {
		if want := "- **Compared with**: " + name; !strings.Contains(card, want) {
			t.Errorf("a card does not say %q", want)
		}
	}
	if page := string(second.Bundles[0].Page); !strings.Contains(page, before.Version) {
		t.Error("the page does not name the version before")
	}
}

// TestShareOfStyle: a report's share of words that are no finding is that of the parts of whole explanations.
func TestShareOfStyle(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 240)
	s := smaller()
	s.PerComplaint = Never
	b := train(t, rows, s).Bundles[0]
	var r report.Report
	if err := json.Unmarshal(b.Report, &r); err != nil {
		t.Fatal(err)
	}
	m, err := classifier.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	read := newReader(m, &Data{Aux: auxColumns()})
	scorer := m.Scorer(classifier.Options{})
	var style, all float64
	for i := range rows {
		var p msg.Prediction
		scorer.Score(rows[i].Text, read.read(&rows[i]), &p)
		for _, e := range p.Evidence[:min(3, len(p.Evidence))] {
			if e.Contribution != 0 {
				all++
			}
			if e.Other != "" {
				style++
			}
		}
	}
	if style == 0 || r.Style == nil || *r.Style != style/all {
		t.Errorf("%v of %v parts are style, the report says %v", style, all, r.Style)
	}
}
