package synth

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/goldentest"
)

func generator(t testing.TB, s Settings) *Generator {
	t.Helper()
	g, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{{Misspelling: -.1}, {Misspelling: 1.1}, {Misspelling: math.NaN()}, {Interval: -1}} {
		if _, err := New(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestNotesDependOnTheirNumberOnly draws notes in turn, at random and in
// parallel.
func TestNotesDependOnTheirNumberOnly(t *testing.T) {
	t.Parallel()
	const n = 200
	s := Settings{Seed: 3, Misspelling: .1}
	first, second := generator(t, s), generator(t, s)
	notes := make([]Note, n)
	for i := range notes {
		notes[i] = first.At(i)
	}
	var wg sync.WaitGroup
	parallel := make([]Note, n)
	for i := range parallel {
		wg.Go(func() { parallel[n-1-i] = second.At(n - 1 - i) })
	}
	wg.Wait()
	if d := cmp.Diff(notes, parallel); d != "" {
		t.Error(d)
	}
	if cmp.Equal(notes[0].Text, generator(t, Settings{Seed: 4, Misspelling: .1}).At(0).Text) {
		t.Error("another seed gives the same note")
	}
}

// TestGolden pins the stream, which users may have stored.
func TestGolden(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{Seed: 7, Misspelling: DefaultMisspelling})
	var got []byte
	for i := range 20 {
		n := g.At(i)
		got = append(n.AppendJSON(got), '\n')
	}
	goldentest.Equal(t, "testdata/notes.jsonl", got)
}

func TestNotesAreMessages(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{Misspelling: DefaultMisspelling})
	visits := map[string]bool{}
	last := ""
	for i := range 3000 {
		n := g.At(i)
		var got msg.Note
		if err := msg.DecodeNote(n.AppendJSON(nil), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, n.Note) {
			t.Fatal(cmp.Diff(n.Note, got))
		}
		if _, err := time.Parse(time.RFC3339, n.ArrivedAt); err != nil || n.ArrivedAt < last {
			t.Fatalf("arrival %q after %q: %v", n.ArrivedAt, last, err)
		}
		last = n.ArrivedAt
		if visits[n.VisitID] {
			t.Fatalf("visit %q comes twice", n.VisitID)
		}
		visits[n.VisitID] = true
		if strings.ContainsAny(n.Text, "\"()|\n") || len(n.Text) < 8 {
			t.Fatalf("text %q", n.Text)
		}
	}
	if want := "2026-01-21T"; !strings.HasPrefix(last, want) {
		t.Errorf("3000 notes ten minutes apart end %s, want %s", last, want)
	}
}

// words returns the runs of letters in s, which is in lower case.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}

// TestLogit recomputes the probability from the note and what it mentions.
func TestLogit(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{Seed: 9})
	checked := 0
	for i := range 2000 {
		v := g.visit(i)
		n := v.n
		if !n.Acuity.Set || !n.Vitals.HR.Set {
			continue
		}
		checked++
		e := effects
		logit := v.c.Base + e.Age*(n.Age.Value-50)/10 + e.Acuity*(n.Acuity.Value-3) + e.HR*(n.Vitals.HR.Value-85)/10 +
			e.SpO2*(n.Vitals.SpO2.Value-97)
		for t, count := range v.counts {
			logit += g.topics[t].Coefficient * float64(count)
		}
		if p := 1 / (1 + math.Exp(-logit)); math.Abs(p-n.Probability) > 1e-12 {
			t.Fatalf("note %d: probability %v, want %v", i, n.Probability, p)
		}
	}
	if checked < 1800 {
		t.Errorf("only %d notes are complete", checked)
	}
}

// TestMentionsStandInTheText looks for a word of each topic that is mentioned.
func TestMentionsStandInTheText(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{Seed: 5})
	for i := range 2000 {
		v := g.visit(i)
		have := words(strings.ToLower(v.n.Text))
		for topic, count := range v.counts {
			text := strings.ToLower(fmt.Sprint(g.topics[topic].Phrases))
			if count > 0 &&
				!slices.ContainsFunc(words(text), func(word string) bool { return slices.Contains(have, word) }) {
				t.Errorf("%s is not in %q", g.topics[topic].Name, v.n.Text)
			}
		}
	}
}

// TestOracle pins how hard the task is: the AUROC of the true probabilities
// and the share of admissions.
func TestOracle(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{Seed: 1, Misspelling: DefaultMisspelling})
	const n = 20000
	var all []Note
	by := map[string]int{}
	var sum float64
	for i := range n {
		note := g.At(i)
		all = append(all, note)
		by[note.Complaint]++
		sum += note.Probability
	}
	area, rate := auroc(all)
	if area < .88 || area > .91 || rate < .22 || rate > .28 {
		t.Errorf("AUROC %.3f, %.3f admitted", area, rate)
	}
	if math.Abs(rate-sum/n) > .01 {
		t.Errorf("%.3f admitted, %.3f expected", rate, sum/n)
	}
	before := 0.0
	for i, c := range g.complaints {
		want := g.pick[i] - before
		before = g.pick[i]
		if share := float64(by[c.Name]) / n; math.Abs(share-want) > .01 {
			t.Errorf("%s: share %.3f, want %.3f", c.Name, share, want)
		}
	}
}

func auroc(notes []Note) (area, rate float64) {
	notes = slices.Clone(notes)
	slices.SortFunc(notes, func(a, b Note) int { return int(math.Copysign(1, a.Probability-b.Probability)) })
	var positives, ranks float64
	for i, n := range notes {
		if n.Admitted {
			positives++
			ranks += float64(i + 1)
		}
	}
	n := float64(len(notes))
	return (ranks - positives*(positives+1)/2) / (positives * (n - positives)), positives / n
}

func TestMisspelling(t *testing.T) {
	t.Parallel()
	clean, wrong := generator(t, Settings{Seed: 2}), generator(t, Settings{Seed: 2, Misspelling: 1})
	known := map[string]bool{}
	for i := range 3000 {
		for _, w := range words(strings.ToLower(clean.At(i).Text)) {
			known[w] = true
		}
	}
	unknown := 0
	for i := range 3000 {
		for _, w := range words(strings.ToLower(wrong.At(i).Text)) {
			if !known[w] {
				unknown++
			}
		}
	}
	if unknown < 10000 {
		t.Errorf("%d misspelt words in 3000 notes", unknown)
	}
}

// TestEveryoneHasATopic keeps the draw of topics from running forever.
func TestEveryoneHasATopic(t *testing.T) {
	t.Parallel()
	for _, p := range generator(t, Settings{}).words.Complaints {
		for _, age := range []float64{.5, 40} {
			if !slices.ContainsFunc(p.Themes, func(t theme) bool { return t.Who.suits(age) && t.Weight > 0 }) {
				t.Errorf("%s has nothing for age %v", p.Name, age)
			}
		}
	}
}

// TestCatalogueHasNoTypingErrors: names in the data files that nothing would miss.
func TestCatalogueHasNoTypingErrors(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{})
	for _, topic := range g.topics {
		if !slices.Contains([]ages{"", "children", "adults"}, topic.Who) || len(topic.Phrases) == 0 ||
			topic.Coefficient == 0 {
			t.Errorf("theme %s: who %q, %d phrases, coefficient %v", topic.Name, topic.Who, len(topic.Phrases),
				topic.Coefficient)
		}
	}
	constructs, err := readConstructs()
	if err != nil {
		t.Fatal(err)
	}
	eachItem(constructs, func(name string, _ int, item *surveyItem) {
		if (item.Other == "") != (item.Cross == 0) || item.Other != "" && constructs[item.other].Name != item.Other {
			t.Errorf("item %s: cross loading %v on %q", name, item.Cross, item.Other)
		}
	})
}

func TestWriteCSV(t *testing.T) {
	t.Parallel()
	const n = 500
	s := Settings{Seed: 8, Misspelling: DefaultMisspelling}
	var b, lines bytes.Buffer
	if err := WriteCSV(t.Context(), &b, generator(t, s), n); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSONL(t.Context(), &lines, generator(t, s), n); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	dec := json.NewDecoder(&lines)
	g := generator(t, s)
	for i, row := range rows[1:] {
		var object struct {
			msg.Note
			Label       *int     `json:"label"`
			Probability *float64 `json:"true_probability"`
		}
		if err := dec.Decode(&object); err != nil {
			t.Fatal(err)
		}
		want := g.At(i)
		if !reflect.DeepEqual(object.Note, want.Note) || (*object.Label == 1) != want.Admitted ||
			*object.Probability != want.Probability {
			t.Fatalf("row %d: got %+v, want %+v", i, object, want)
		}
		number := func(o msg.Optional) string {
			if !o.Set {
				return ""
			}
			return strconv.FormatFloat(o.Value, 'g', -1, 64)
		}
		for name, cell := range map[string]string{
			"visit_id": want.VisitID, "arrived_at": want.ArrivedAt, "site": want.Site, "complaint": want.Complaint,
			"text": want.Text, "age": number(want.Age),
			"sex": want.Sex, "acuity": number(want.Acuity), "vitals.sbp": number(want.Vitals.SBP),
			"vitals.dbp": number(want.Vitals.DBP), "vitals.hr": number(want.Vitals.HR),
			"vitals.rr": number(want.Vitals.RR), "vitals.temp_c": number(want.Vitals.TempC),
			"vitals.spo2": number(want.Vitals.SpO2),
			"label":       strconv.Itoa(*object.Label), "true_probability": number(msg.Some(want.Probability)),
		} {
			if got := row[column[name]]; got != cell {
				t.Errorf("row %d, %s: got %q, want %q", i, name, got, cell)
			}
		}
	}
	if len(rows) != n+1 || dec.More() {
		t.Errorf("%d rows", len(rows))
	}
}

func TestWritersReportErrors(t *testing.T) {
	t.Parallel()
	g := generator(t, Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteJSONL(ctx, &bytes.Buffer{}, g, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, n := range []int{1, 1000} {
		if err := WriteCSV(t.Context(), full{}, g, n); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
		if err := WriteJSONL(t.Context(), full{}, g, n); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
