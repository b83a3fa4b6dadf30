package questionnaire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
)

const scoredAt = "2026-11-20T08:01:02.000Z"

// response returns a row of answers as a message: missing ones by turns as null and not at all, numbers as numbers.
func response(t *testing.T, header, row []string) []byte {
	t.Helper()
	answers, confounds := map[string]any{"not_" + header[1]: 77}, map[string]any{"height": 180}
	for j, cell := range row {
		var v any
		if x, err := strconv.ParseFloat(cell, 64); err == nil {
			v = x
		} else if cell != "" {
			v = cell
		} else if j%2 == 0 {
			continue
		}
		switch {
		case j == 0 || header[j] == "ill":
		case strings.HasPrefix(header[j], "q"):
			answers[header[j]] = v
		default:
			confounds[header[j]] = v
		}
	}
	data, err := json.Marshal(map[string]any{"schema_version": "1", "response_id": row[0], "instrument": "planted", "answers": answers, "confounds": confounds})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// instrument stores a fit and returns what scores responses by it.
func instrument(t *testing.T, f *Fitted) (*Instrument, *Model) {
	t.Helper()
	dir := t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	in, err := LoadInstrument("planted", dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	return in, in.model
}

// A response scores as its row in a table does, to the last bit, whatever was scored before it.
func TestResponsesScoreAsRows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(rows [][]string, o *Options){
		"confounds":    func([][]string, *Options) {},
		"no confounds": func(_ [][]string, o *Options) { o.Columns.Confounds = nil },
		"turned, from 1, with codes": func(rows [][]string, o *Options) {
			for _, row := range rows[1:] {
				for j := range plantedItems {
					if v, err := strconv.Atoi(row[1+j]); err == nil {
						row[1+j] = strconv.Itoa(v + 1)
					} else {
						row[1+j] = "-9999"
					}
				}
				// Levels are numbers, and one is not written as the message writes it.
				row[2+plantedItems] = map[string]string{"F": "1", "M": "2.0"}[row[2+plantedItems]]
			}
			o.Columns.Range, o.Columns.Reversed, o.Columns.FromLow, o.Columns.Missing = &Range{1, 5}, []string{"q2", "q5"}, true, []string{"-9999"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := planted(5)
			var columns Columns
			f := fit(t, rows, func(o *Options) {
				change(rows, o)
				o.Input = write(t, "x.csv", csvText(t, rows))
				columns = o.Columns
			})
			in, m := instrument(t, f)
			later := planted(6)
			change(later, &Options{Columns: columns})
			age := 1 + plantedItems
			later[3][age], later[4][age] = "2", "99"
			want, err := m.Score(write(t, "later.csv", csvText(t, later)), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			sc, r, got := in.Scorer(), msg.Response{}, msg.Scores{}
			beyond := 0
			for i, row := range later[1:] {
				if err := msg.DecodeResponse(response(t, later[0], row), &r); err != nil {
					t.Fatal(err)
				}
				if err := sc.Score(&r, scoredAt, &got); err != nil {
					t.Fatal(err)
				}
				for k, s := range got.Scores {
					if w := want.Values.At(i, k); s.Score != w || s.Factor != "factor"+strconv.Itoa(k+1) {
						t.Fatalf("response %d, %s: %v; its row scores %v", i, s.Factor, s.Score, w)
					}
				}
				answered := 0
				for _, cell := range row[1 : 1+plantedItems] {
					if cell != "" && cell != "-9999" {
						answered++
					}
				}
				if got.ResponseID != row[0] || got.Answered != answered || got.Items != plantedItems || got.UnknownItems != 1 {
					t.Fatalf("response %d: %d of %d items answered, %d to others; want %d, %d, 1", i, got.Answered, got.Items, got.UnknownItems, answered, plantedItems)
				}
				beyond += len(got.Beyond)
			}
			n := 0
			for _, b := range want.Beyond {
				n += b.Participants
			}
			if beyond != n || columns.Confounds != nil && n < 2 {
				t.Errorf("%d confounds beyond training, %d in the table", beyond, n)
			}
		})
	}
}

func TestResponseMessage(t *testing.T) {
	t.Parallel()
	f := fit(t, planted(5), func(o *Options) {
		o.Columns.Codebook, o.Columns.Reversed = []Item{{Name: "q1", Text: "Sleeps badly"}}, []string{"q2"}
	})
	f.CreatedAt = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	in, m := instrument(t, f)
	var got msg.Scores
	r := msg.Response{
		ResponseID: "r1", ParticipantID: "p", Instrument: "planted", AnsweredAt: "yesterday",
		Answers:   []msg.Answer{{Item: "q1", Value: msg.Some(9)}, {Item: "q2", Value: msg.Some(1)}, {Item: "q1", Value: msg.Some(4)}, {Item: "q2"}, {Item: "x"}},
		Confounds: []msg.Confound{{Name: "age", Value: msg.Number(99)}, {Name: "sex", Value: msg.Text(" F ")}},
	}
	if err := in.Scorer().Score(&r, scoredAt, &got); err != nil {
		t.Fatal(err)
	}
	scores := got.Scores
	got.Scores = nil
	want := msg.Scores{
		ResponseID: "r1", ParticipantID: "p", Instrument: "planted", AnsweredAt: "yesterday", ScoredAt: scoredAt,
		Model:    msg.Model{Name: "planted", Version: "2026-11-20T02-00-00Z-" + m.sha256[:6], Method: "icqf", SHA256: m.sha256},
		Answered: 1, Items: plantedItems, Beyond: []string{"age"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores differ from those wanted:\n%s", diff)
	}
	// The items of a factor are those of the largest loadings.
	for k, s := range scores {
		if len(s.Items) != 2 {
			t.Fatalf("%s has %d items, want 2", s.Factor, len(s.Items))
		}
		larger := 0
		for j, item := range m.Items {
			q := m.factors.Loadings.At(j, k)
			at := slices.IndexFunc(s.Items, func(l msg.Loading) bool { return l.Item == item.Name })
			switch {
			case at < 0 && q > s.Items[1].Loading+1e-9:
				larger++
			case at >= 0 && (math.Abs(s.Items[at].Loading-q) > 1e-9 || s.Items[at].Text != item.Text || s.Items[at].Reversed != item.Reversed):
				t.Errorf("%s: %+v, its loading is %v and its text %q", s.Factor, s.Items[at], q, item.Text)
			}
		}
		if larger > 0 || s.Items[0].Loading < s.Items[1].Loading {
			t.Errorf("%s: %d items load more than %+v", s.Factor, larger, s.Items)
		}
	}
	all, err := newInstrument("planted", m, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all.scores[0].Items); n <= 2 || n > plantedItems || all.scores[0].Items[n-1].Loading <= 0 {
		t.Errorf("%d items of all", n)
	}
}

func TestResponseRefused(t *testing.T) {
	t.Parallel()
	f := fit(t, planted(5), func(o *Options) { o.Columns.Missing = []string{"-9", "unknown"} })
	in, _ := instrument(t, f)
	sc := in.Scorer()
	age, sex := `"age":9`, `"sex":"F"`
	for name, c := range map[string]struct {
		answers, confounds string
		want               msg.Error
	}{
		"above":              {`"q1":1,"q2":4.5`, age + "," + sex, msg.Error{Reason: msg.OutOfRange, Field: "answers.q2"}},
		"below":              {`"q1":1,"q3":-1`, age + "," + sex, msg.Error{Reason: msg.OutOfRange, Field: "answers.q3"}},
		"text":               {`"q1":1,"q2":"4"`, age + "," + sex, msg.Error{Reason: msg.WrongType, Field: "answers.q2"}},
		"a list at last":     {`"q1":1,"q1":[]`, age + "," + sex, msg.Error{Reason: msg.WrongType, Field: "answers.q1"}},
		"text only":          {`"secret":"1","q1":null`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"}},
		"none of ours":       {`"secret":1`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"}},
		"codes only":         {`"q1":-9,"q2":null`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"}},
		"taken back":         {`"q1":1,"q1":null,"secret":1`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"}},
		"no confounds":       {`"q1":1`, ``, msg.Error{Reason: msg.MissingField, Field: "confounds.age"}},
		"null":               {`"q1":1`, age + `,"sex":null`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"}},
		"blank":              {`"q1":1`, age + `,"sex":" "`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"}},
		"NA":                 {`"q1":1`, age + `,"sex":"na"`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"}},
		"a code":             {`"q1":1`, age + `,"sex":"unknown"`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"}},
		"a code as a number": {`"q1":1`, sex + `,"age":-9`, msg.Error{Reason: msg.MissingField, Field: "confounds.age"}},
		"age is text":        {`"q1":1`, sex + `,"age":"9"`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"}},
		"age is a bool":      {`"q1":1`, sex + `,"age":9,"age":true`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"}},
		"sex is an object":   {`"q1":1`, age + `,"sex":{"secret":"F"}`, msg.Error{Reason: msg.WrongType, Field: "confounds.sex"}},
		"age beyond float64": {`"q1":1`, sex + `,"age":1e999`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"}},
		"a new level":        {`"q1":1`, age + `,"sex":"secret"`, msg.Error{Reason: msg.UnknownLevel, Field: "confounds.sex"}},
		"a new number":       {`"q1":1`, age + `,"sex":3`, msg.Error{Reason: msg.UnknownLevel, Field: "confounds.sex"}},
	} {
		var r msg.Response
		var s msg.Scores
		if err := msg.DecodeResponse(fmt.Appendf(nil, `{"schema_version":"1","response_id":"secret","instrument":"planted","answers":{%s},"confounds":{%s}}`, c.answers, c.confounds), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err := sc.Score(&r, scoredAt, &s)
		if refused, ok := errors.AsType[*msg.Error](err); !ok || *refused != c.want {
			t.Errorf("%s: %v, want %v", name, err, &c.want)
		}
	}
}

// TestResponseIgnored: what the model does not use may be of any type, and so may all but the last value of a name.
func TestResponseIgnored(t *testing.T) {
	t.Parallel()
	in, _ := instrument(t, fit(t, planted(5), nil))
	sc := in.Scorer()
	score := func(answers, confounds string) (s msg.Scores) {
		t.Helper()
		var r msg.Response
		if err := msg.DecodeResponse(fmt.Appendf(nil, `{"schema_version":"1","response_id":"r","instrument":"planted","answers":{%s},"confounds":{%s}}`, answers, confounds), &r); err != nil {
			t.Fatal(err)
		}
		if err := sc.Score(&r, scoredAt, &s); err != nil {
			t.Fatal(err)
		}
		s.Scores = slices.Clone(s.Scores) // they are the scorer's
		return s
	}
	want := score(`"q1":1,"q2":3`, `"age":9,"sex":"F"`)
	want.UnknownItems = 4
	got := score(`"q1":"never","q1":1,"comment":"felt ok","done":true,"q2":{},"q2":3,"at":[1],"x":1e999`, `"age":{},"age":9,"sex":true,"sex":"F","pregnant":true,"visit":{"a":1}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores differ from those of the answers alone:\n%s", diff)
	}
}

// TestInstrumentRefused: a response is one visit.
func TestInstrumentRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[error]func(*Model){
		ErrVisits:   func(m *Model) { m.Visits, m.VisitItems = &Visits{Time: "age", Edges: []float64{6, 12}}, m.Items },
		ErrNegative: func(m *Model) { m.Items[0].Range = &Range{-1, 4} },
	} {
		dir := t.TempDir()
		m := fit(t, planted(5), nil).Model
		change(&m)
		if err := m.save(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadInstrument("x", dir, 0); !errors.Is(err, want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("loading: %v, want %v", err, want)
		}
	}
	if _, err := LoadInstrument("x", t.TempDir(), 0); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), SumsFile) {
		t.Errorf("loading from an empty folder: %v, want one without %s", err, SumsFile)
	}
}

// A model is told from another by the sums of its files.
func TestModelSHA256(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := sampleModel()
	sums := map[string]bool{}
	for _, beta := range []float64{0.1, 0.2} {
		m.Summary.Beta = beta
		if err := m.save(dir); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, SumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got, err := ReadSHA256(dir); err != nil || got != hex.EncodeToString(sum[:]) || got != loaded.sha256 {
			t.Errorf("sha256 %q, %q where the model was loaded, want %x: %v", got, loaded.sha256, sum, err)
		}
		sums[loaded.sha256] = true
	}
	if len(sums) != 2 {
		t.Error("two models have one sha256")
	}
	if _, err := ReadSHA256(t.TempDir()); err == nil || !strings.Contains(err.Error(), SumsFile) {
		t.Errorf("an empty folder: %v, want an error that names %s", err, SumsFile)
	}
}

func TestScorerAllocates(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	rows := planted(5)
	in, _ := instrument(t, fit(t, rows, nil))
	sc := in.Scorer()
	var all []msg.Response
	for _, row := range rows[1:50] {
		row[1+plantedItems] = "99" // beyond training
		var r msg.Response
		if err := msg.DecodeResponse(response(t, rows[0], row), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	var s msg.Scores
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		if err := sc.Score(&all[i%len(all)], scoredAt, &s); err != nil {
			t.Fatal(err)
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations for a response", n)
	}
}
