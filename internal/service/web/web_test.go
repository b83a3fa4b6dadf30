package web

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

var update = flag.Bool("update", false, "write the golden files")

// secret is a word that no model knows, in notes.
const secret = "zzsecretname"

func noHealth() *health.Snapshot { return &health.Snapshot{At: time.Now()} }

func noReplay(context.Context, string, msg.Reason, bool) (deadletter.Sent, error) {
	return deadletter.Sent{}, errors.New("nothing to replay")
}

func noQuestionnaires() []Questionnaire { return nil }

// pages returns pages over an empty store.
func pages(t *testing.T, showNotes bool) *Pages {
	t.Helper()
	p, err := New(Options{
		Feed: NewFeed(showNotes), Store: models.OpenDir(t.TempDir()), Set: func() *scoring.Set { return &scoring.Set{Generation: "g1"} },
		Ready: func() (string, error) { return "", nil }, Health: noHealth, Replay: noReplay, Questionnaires: noQuestionnaires, Changed: func() {}, Topics: topicindex.New(topicindex.Config{}), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func prediction() *msg.Prediction {
	return &msg.Prediction{
		SchemaVersion: "1", VisitID: secret, ScoredAt: "2026-11-20T08:01:02.000Z", Complaint: "Lower Extremity Injury",
		Model: msg.Model{Name: "_other", Version: "2026-11-20T02-00-00Z-3f9c1a"}, Probability: 0.797, Threshold: 0.5, Decision: msg.Admit, Logit: 1.368, Intercept: -1.91,
		Topics: []msg.Topic{{Topic: 1, Label: "hip, rotated, glf", Contribution: 2.1, Terms: []msg.Term{}}},
		Words:  []msg.Word{{Term: "loc", Contribution: -0.12}},
		Aux:    []msg.Aux{{Name: "age", Value: msg.Number(78), Contribution: 0.548}, {Name: "vitals.hr", Contribution: 0.1}},
		Evidence: []msg.Evidence{
			{Start: 14, End: 20, Text: "unable", Status: "affirmed", Contribution: 2.7123456789012345},
			{Start: 29, End: 32, Text: "LOC", Status: "negated", Contribution: -0.12},
			{Start: 33, End: 45, Status: "affirmed", Contribution: 0.06},
			{Contribution: -0.0823456789012345},
		},
		KnownTermShare: 0.9,
	}
}

func theNote() *msg.Note {
	return &msg.Note{
		VisitID: secret, Complaint: "Lower Extremity Injury", Text: "78F glf <b> …, unable, denies LOC " + secret, Age: msg.Some(78), Sex: "F", Acuity: msg.Some(3),
		Vitals: msg.Vitals{SBP: msg.Some(88), DBP: msg.Some(51), SpO2: msg.Some(97), TempC: msg.Some(36.8)},
	}
}

// golden compares with testdata/name.golden.html.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden.html")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	abstains := prediction()
	abstains.Abstained, abstains.AbstainReason, abstains.Evidence, abstains.Complaint = true, "no_known_terms", nil, ""
	warned := prediction()
	warned.Warnings = []msg.Warning{{Field: "vitals.temp_c", Code: msg.ValueOutOfRange}}
	for name, c := range map[string]struct {
		p    *msg.Prediction
		note *msg.Note
	}{
		"row-note": {warned, theNote()}, "row-words": {prediction(), nil}, "row-abstained": {abstains, theNote()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pages(t, c.note != nil)
			r := newRow(c.p, c.note)
			r.Number, r.At = 7, time.Date(2026, 11, 20, 8, 1, 2, 0, time.UTC)
			var out bytes.Buffer
			for _, part := range []struct {
				name string
				data any
			}{{"row", r}, {"vitals", r}, {"why", r.Why}} {
				if err := p.templates["live"].ExecuteTemplate(&out, part.name, part.data); err != nil {
					t.Fatal(err)
				}
				out.WriteString("\n")
			}
			golden(t, name, out.Bytes())
			if c.note == nil && strings.Contains(out.String(), secret) {
				t.Error("the page shows what the note holds")
			}
			if bad := regexp.MustCompile(` style=| on[a-z]+=|<b> …|https?:|ZgotmplZ`).FindString(out.String()); bad != "" {
				t.Errorf("the page holds %q", bad)
			}
		})
	}
}

// TestNumbers holds the numbers on a page against those of the message: exact to the last digit, and rounded rightly where they are shown.
func TestNumbers(t *testing.T) {
	t.Parallel()
	p := prediction()
	value := p.AppendJSON(nil)
	w := newWhy(p, nil)
	for _, r := range append(append(w.Places, w.Patient...), w.Topics[0]) {
		if !bytes.Contains(value, []byte(`"contribution":`+r.Exact)) {
			t.Errorf("%q has %s, which is not in the message %s", r.Name, r.Exact, value)
		}
		v, err := strconv.ParseFloat(r.Exact, 64)
		if want := strings.ReplaceAll(fmt.Sprintf("%+.2f", v), "-", minus); err != nil || r.Value != want {
			t.Errorf("%q shows %s for %s, want %s", r.Name, r.Value, r.Exact, want)
		}
	}
	for v, want := range map[float64]string{0: "0.00", math.Copysign(0, -1): "0.00", -0.004: "0.00", 1.005: "+1.00", -12.346: "−12.35"} {
		if got := signed(v); got != want {
			t.Errorf("signed(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "<1", 0.0099: "<1", 0.01: "1", 0.495: "50", 0.99: "99", 0.9901: ">99", 1: ">99"} {
		if got := percent(v); got != want {
			t.Errorf("percent(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	text := "né pain, ünable"
	for name, evidence := range map[string][]msg.Evidence{
		"none":         nil,
		"code points":  {{Start: 9, End: 15, Contribution: 1}, {Start: 3, End: 7, Contribution: -1}},
		"out of range": {{Start: 9, End: 99, Contribution: 1}, {Start: -1, End: 3, Contribution: 1}, {Start: 5, End: 5, Contribution: 1}},
		"overlap":      {{Start: 0, End: 7, Contribution: 1}, {Start: 3, End: 9, Contribution: 1}},
		"small":        {{Start: 0, End: 2, Contribution: 0.01}},
	} {
		var whole strings.Builder
		for _, s := range segments(text, evidence) {
			whole.WriteString(s.Text)
			if s.Class != "" && name == "code points" && s.Text != "pain" && s.Text != "ünable" {
				t.Errorf("%s: %q is marked", name, s.Text)
			}
		}
		if whole.String() != text {
			t.Errorf("%s: the segments are %q", name, whole.String())
		}
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	p := pages(t, false)
	f := p.options.Feed
	value := prediction().AppendJSON(nil)
	publish := func(n int) {
		for range n {
			f.Publish([]byte(secret), value)
		}
	}
	now := time.Now()
	publish(3)
	v := &viewer{pages: p}
	first := v.catchUp(now)
	if n := bytes.Count(first, []byte("<li data-kind")); n != 3 || v.seen != 3 || bytes.Contains(first, []byte(secret)) {
		t.Errorf("%d rows, up to %d:\n%s", n, v.seen, first)
	}
	publish(30)
	if out := v.catchUp(now.Add(batchGap / 2)); out != nil {
		t.Errorf("a batch comes too early: %s", out)
	}
	late := &viewer{pages: p, seen: 30}
	burst := v.catchUp(now.Add(batchGap))
	if n := bytes.Count(burst, []byte("<li data-kind")); n != batchRows || !bytes.Contains(burst, []byte("and 20 more")) || v.seen != 33 {
		t.Errorf("%d rows, up to %d:\n%s", n, v.seen, burst)
	}
	if out := late.catchUp(now.Add(batchGap)); bytes.Count(out, []byte("<li data-kind")) != 3 || late.seen != 33 {
		t.Errorf("who came in the middle of a batch gets up to %d: %s", late.seen, out)
	}
	for i := range keptBatches + 2 {
		publish(1)
		(&viewer{pages: p, seen: 33}).catchUp(now.Add(time.Duration(i+2) * batchGap))
	}
	if out := v.catchUp(now.Add(time.Hour)); !bytes.Contains(out, []byte("and 2 more")) || v.seen != 33+keptBatches+2 {
		t.Errorf("who was too slow gets up to %d: %s", v.seen, out)
	}
	publish(kept)
	if f.at(1) != nil || f.at(f.last) == nil {
		t.Error("the feed keeps the wrong rows")
	}
	if _, ok := f.number("other-3"); ok {
		t.Error("an id of another process is taken")
	}
}

// TestFeedMemory: however large the notes are, the feed keeps what it says, the newest of them.
func TestFeedMemory(t *testing.T) {
	t.Parallel()
	f := NewFeed(true)
	note := make([]byte, 1<<20)
	for range 3 * kept {
		f.Publish(note[:keptBytes/kept], nil)
	}
	if list, _ := f.latest(kept+1, 0); len(list) != kept {
		t.Errorf("%d of the usual size are kept, want %d", len(list), kept)
	}
	for range 100 {
		f.Publish(note, []byte("prediction"))
	}
	held := 0
	for _, p := range f.ring {
		if p != nil {
			held += len(p.note) + len(p.value)
		}
	}
	list, last := f.latest(kept, 0)
	if held > keptBytes || held != f.held || len(list) != keptBytes/len(note)-1 || list[0].number != last || f.at(list[len(list)-1].number-1) != nil {
		t.Errorf("%d bytes of %d are held, counted as %d; %d are kept", held, keptBytes, f.held, len(list))
	}
	if n, all := f.perMinute(time.Now()); n != len(list) || all {
		t.Errorf("%d in the last minute, all of them %t", n, all)
	}
}

// TestLayout: no circles overlap, all are on the map, and the same topics have the same map.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, k := range []int{1, 2, 3, 10, 50} {
		weights, topics := mat.NewDense(200, k, nil), make([]classifier.Topic, k)
		for i := range k {
			prevalence := 1 / float64(i+2)
			topics[i] = classifier.Topic{Topic: i + 1, Label: strings.Repeat("w", 1+i%12), Prevalence: &prevalence}
			for j := range 30 {
				weights.Set((7*i+j*(i%3+1))%200, i, 1/float64(j+1))
			}
		}
		first := layout(similarities(weights), topics)
		if d := cmp.Diff(first, layout(similarities(weights), topics), cmp.AllowUnexported(place{})); d != "" {
			t.Errorf("%d topics: another map the second time: %s", k, d)
		}
		over := 0
		for i, a := range first {
			if a.x-a.r < 0 || a.x+a.r > mapWidth || a.y-a.r < 0 || a.y+a.height()-a.r > mapHeight || math.IsNaN(a.x+a.y+a.r) {
				t.Errorf("%d topics: %+v is not on the map", k, a)
			}
			for _, b := range first[:i] {
				if math.Hypot(a.x-b.x, a.y-b.y) < a.r+b.r-1 {
					over++
				}
			}
		}
		if over > 0 {
			t.Errorf("%d topics: %d pairs of circles overlap", k, over)
		}
	}
}

// TestMovement: dots stand at equal distances, above and below zero, the latest twelve, and the table has all.
func TestMovement(t *testing.T) {
	t.Parallel()
	ref := &topicindex.Ref{Model: "fall", Version: "v", Topic: 3}
	if m := newMovement(nil, ref); m != nil {
		t.Errorf("without steps: %+v", m)
	}
	var steps []topicindex.Step
	for i := range 15 {
		s := topicindex.Step{Similarity: 0.875}
		s.CreatedAt, s.Coefficient = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), float64(i-9)/4
		steps = append(steps, s)
	}
	if m := newMovement(steps[:1], ref); m.Chart != nil || m.Ago != "in this version" || len(m.Rows) != 1 {
		t.Errorf("a single step: %+v", m)
	}
	m := newMovement(steps, ref)
	var dots []chart.Part
	for _, p := range m.Chart.Parts {
		if p.Radius > 0 {
			dots = append(dots, p)
		}
	}
	first, second, last := dots[0], dots[1], dots[len(dots)-1]
	if len(dots) != movedSteps || first.Class != "fd" || last.Class != "fa" || first.Points[0].Y != 100 || last.Points[0].Y != 14 {
		t.Errorf("%d dots, %+v to %+v", len(dots), first, last)
	}
	if got := last.Points[0].X - first.Points[0].X; math.Abs(got-11*(second.Points[0].X-first.Points[0].X)) > 1e-9 {
		t.Errorf("the dots stand from %v to %v, the second at %v", first.Points, last.Points, second.Points)
	}
	if svg := string(m.Chart.SVG()); !strings.Contains(svg, ">15 Jan<") || !strings.Contains(svg, ">+1.25<") {
		t.Errorf("the chart lacks the last date or value: %s", svg)
	}
	if m.First != "1 Jan 2026" || m.Ago != "14 versions ago" || len(m.Rows) != 15 || m.Rows[0].Coefficient != "+1.25" {
		t.Errorf("%+v", m)
	}
	if want := "From −1.50 on 4 Jan 2026 to +1.25 on 15 Jan 2026."; !strings.HasPrefix(m.Chart.Desc, want) {
		t.Errorf("%q, want %q", m.Chart.Desc, want)
	}
}

// TestFactorFound: a factor that is found leads to its questionnaire.
func TestFactorFound(t *testing.T) {
	t.Parallel()
	r := &topicindex.Result{Origin: topicindex.Origin{Model: "mood", Status: models.ChampionStatus}, Topic: classifier.Topic{Topic: 2}}
	if got := newAsked(nil).row(r).Href; got != "/questionnaires?factor=2&name=mood#loadings" {
		t.Errorf("it leads to %s", got)
	}
}
