package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
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
	data, err := json.Marshal(map[string]any{
		"schema_version": "1", "response_id": row[0], "instrument": "planted",
		"answers": answers, "confounds": confounds,
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// instrument stores a fit and returns what scores responses by it.
func instrument(t *testing.T, f *model.Fitted) (*Instrument, *model.Model) {
	t.Helper()
	m := questionnairetest.Reload(t, &f.Model)
	in, err := New("planted", "v1", m, 2)
	if err != nil {
		t.Fatal(err)
	}
	return in, m
}

// A response scores as its row in a table does, to the last bit, whatever was scored before it.
func TestResponsesScoreAsRows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(rows [][]string, o *fit.Options){
		"confounds":    func([][]string, *fit.Options) {},
		"no confounds": func(_ [][]string, o *fit.Options) { o.Columns.Confounds = nil },
		"graded response model": func(_ [][]string, o *fit.Options) {
			o.Columns.Confounds, o.Betas, o.Method = nil, nil, model.MethodGRM
		},
		"turned, from 1, with codes": func(rows [][]string, o *fit.Options) {
			for _, row := range rows[1:] {
				for j := range questionnairetest.Items {
					if v, err := strconv.Atoi(row[1+j]); err == nil {
						row[1+j] = strconv.Itoa(v + 1)
					} else {
						row[1+j] = "-9999"
					}
				}
				// Levels are numbers, and one is not written as the message writes it.
				row[2+questionnairetest.Items] = map[string]string{"F": "1", "M": "2.0"}[row[2+questionnairetest.Items]]
			}
			o.Columns.Range, o.Columns.Reversed, o.Columns.FromLow,
				o.Columns.Missing = &questionnaire.Range{Low: 1, High: 5}, []string{"q2", "q5"}, true, []string{"-9999"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := questionnairetest.Rows(5)
			var columns answers.Columns
			f := questionnairetest.Fit(t, rows, func(o *fit.Options) {
				change(rows, o)
				o.Input = questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
				columns = o.Columns
			})
			in, m := instrument(t, f)
			later := questionnairetest.Rows(6)
			change(later, &fit.Options{Columns: columns})
			age := 1 + questionnairetest.Items
			later[3][age], later[4][age] = "2", "99"
			want, err := fit.Score(m, questionnairetest.File(t, "later.csv", questionnairetest.CSV(later)),
				fit.Scoring{})
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
					var w float64 // messages have errors by graded response models alone
					if f.Summary.Method == model.MethodGRM {
						w = want.Errors.At(i, k)
					}
					if s.StandardError != w {
						t.Fatalf("response %d, %s: error %v, want %v", i, s.Factor, s.StandardError, w)
					}
				}
				answered := 0
				for _, cell := range row[1 : 1+questionnairetest.Items] {
					if cell != "" && cell != "-9999" {
						answered++
					}
				}
				if got.ResponseID != row[0] || got.Answered != answered || got.Items != questionnairetest.Items ||
					got.UnknownItems != 1 {
					t.Fatalf("response %d: %d of %d items answered, %d to others; want %d, %d, 1", i, got.Answered,
						got.Items, got.UnknownItems, answered, questionnairetest.Items)
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
	f := questionnairetest.Fit(t, questionnairetest.Rows(5), func(o *fit.Options) {
		o.Columns.Codebook, o.Columns.Reversed = []questionnaire.Item{{Name: "q1", Text: "Sleeps badly"}},
			[]string{"q2"}
	})
	f.CreatedAt = time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	in, m := instrument(t, f)
	var got msg.Scores
	r := msg.Response{
		ResponseID: "r1", ParticipantID: "p", Instrument: "planted", AnsweredAt: "yesterday",
		Answers: []msg.Answer{{
			Item: "q1", Value: msg.Some(9),
		}, {Item: "q2", Value: msg.Some(1)}, {Item: "q1", Value: msg.Some(4)}, {Item: "q2"}, {Item: "x"}},
		Confounds: []msg.Confound{{Name: "age", Value: msg.Number(99)}, {Name: "sex", Value: msg.Text(" F ")}},
	}
	if err := in.Scorer().Score(&r, scoredAt, &got); err != nil {
		t.Fatal(err)
	}
	scores := got.Scores
	got.Scores = nil
	want := msg.Scores{
		ResponseID: "r1", ParticipantID: "p", Instrument: "planted", AnsweredAt: "yesterday", ScoredAt: scoredAt,
		Model:    msg.Model{Name: "planted", Version: "v1", Method: "icqf", SHA256: m.SHA256},
		Answered: 1, Items: questionnairetest.Items, Beyond: []string{"age"},
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
			q := m.ICQF.Loadings.At(j, k)
			at := slices.IndexFunc(s.Items, func(l msg.Loading) bool { return l.Item == item.Name })
			switch {
			case at < 0 && q > s.Items[1].Loading+1e-9:
				larger++
			case at >= 0 && (math.Abs(s.Items[at].Loading-q) > 1e-9 || s.Items[at].Text != item.Text ||
				s.Items[at].Reversed != item.Reversed):
				t.Errorf("%s: %+v, its loading is %v and its text %q", s.Factor, s.Items[at], q, item.Text)
			}
		}
		if larger > 0 || s.Items[0].Loading < s.Items[1].Loading {
			t.Errorf("%s: %d items load more than %+v", s.Factor, larger, s.Items)
		}
	}
	all, err := New("planted", "v1", m, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(all.scores[0].Items); n <= 2 || n > questionnairetest.Items || all.scores[0].Items[n-1].Loading <= 0 {
		t.Errorf("%d items of all", n)
	}
}

func TestResponseRefused(t *testing.T) {
	t.Parallel()
	f := questionnairetest.Fit(t, questionnairetest.Rows(5),
		func(o *fit.Options) { o.Columns.Missing = []string{"-9", "unknown"} })
	in, _ := instrument(t, f)
	sc := in.Scorer()
	age, sex := `"age":9`, `"sex":"F"`
	for name, c := range map[string]struct {
		answers, confounds string
		want               msg.Error
	}{
		"above": {
			`"q1":1,"q2":4.5`, age + "," + sex, msg.Error{Reason: msg.OutOfRange, Field: "answers.q2"},
		},
		"below": {
			`"q1":1,"q3":-1`, age + "," + sex, msg.Error{Reason: msg.OutOfRange, Field: "answers.q3"},
		},
		"text": {
			`"q1":1,"q2":"4"`, age + "," + sex, msg.Error{Reason: msg.WrongType, Field: "answers.q2"},
		},
		"a list at last": {
			`"q1":1,"q1":[]`, age + "," + sex, msg.Error{Reason: msg.WrongType, Field: "answers.q1"},
		},
		"text only": {
			`"secret":"1","q1":null`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"},
		},
		"none of ours": {`"secret":1`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"}},
		"codes only": {
			`"q1":-9,"q2":null`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"},
		},
		"taken back": {
			`"q1":1,"q1":null,"secret":1`, age + "," + sex, msg.Error{Reason: msg.NoAnswers, Field: "answers"},
		},
		"no confounds": {`"q1":1`, ``, msg.Error{Reason: msg.MissingField, Field: "confounds.age"}},
		"null": {
			`"q1":1`, age + `,"sex":null`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"},
		},
		"blank": {
			`"q1":1`, age + `,"sex":" "`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"},
		},
		"NA": {
			`"q1":1`, age + `,"sex":"na"`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"},
		},
		"a code": {
			`"q1":1`, age + `,"sex":"unknown"`, msg.Error{Reason: msg.MissingField, Field: "confounds.sex"},
		},
		"a code as a number": {
			`"q1":1`, sex + `,"age":-9`, msg.Error{Reason: msg.MissingField, Field: "confounds.age"},
		},
		"age is text": {`"q1":1`, sex + `,"age":"9"`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"}},
		"age is a bool": {
			`"q1":1`, sex + `,"age":9,"age":true`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"},
		},
		"sex is an object": {
			`"q1":1`, age + `,"sex":{"secret":"F"}`, msg.Error{Reason: msg.WrongType, Field: "confounds.sex"},
		},
		"age beyond float64": {
			`"q1":1`, sex + `,"age":1e999`, msg.Error{Reason: msg.WrongType, Field: "confounds.age"},
		},
		"a new level": {
			`"q1":1`, age + `,"sex":"secret"`, msg.Error{Reason: msg.UnknownLevel, Field: "confounds.sex"},
		},
		"a new number": {`"q1":1`, age + `,"sex":3`, msg.Error{Reason: msg.UnknownLevel, Field: "confounds.sex"}},
	} {
		var r msg.Response
		var s msg.Scores
		if err := msg.DecodeResponse(fmt.Appendf(nil, `{"schema_version":"1","response_id":"secret",`+
			`"instrument":"planted","answers":{%s},"confounds":{%s}}`, c.answers, c.confounds), &r); err != nil {
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
	in, _ := instrument(t, questionnairetest.Fit(t, questionnairetest.Rows(5), nil))
	sc := in.Scorer()
	score := func(answers, confounds string) (s msg.Scores) {
		t.Helper()
		var r msg.Response
		if err := msg.DecodeResponse(fmt.Appendf(nil, `{"schema_version":"1","response_id":"r",`+
			`"instrument":"planted","answers":{%s},"confounds":{%s}}`, answers, confounds), &r); err != nil {
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
	got := score(`"q1":"never","q1":1,"comment":"felt ok","done":true,"q2":{},"q2":3,"at":[1],"x":1e999`,
		`"age":{},"age":9,"sex":true,"sex":"F","pregnant":true,"visit":{"a":1}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores differ from those of the answers alone:\n%s", diff)
	}
}

// TestInstrumentRefused: a response is one visit, and its scores are from 0 to 1.
func TestInstrumentRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[error]func(*model.Model){
		ErrVisits: func(m *model.Model) {
			m.Visits, m.VisitItems = &questionnaire.Visits{Time: "age", Edges: []float64{6, 12}}, m.Items
		},
		questionnaire.ErrNegative: func(m *model.Model) { m.Items[0].Range = &questionnaire.Range{Low: -1, High: 4} },
	} {
		m := questionnairetest.Fit(t, questionnairetest.Rows(5), nil).Model
		change(&m)
		if _, err := New("x", "v1", questionnairetest.Reload(t, &m), 0); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	f := questionnairetest.Fit(t, questionnairetest.Rows(5),
		func(o *fit.Options) { o.Method, o.Betas = model.MethodFA, nil })
	if _, err := New("x", "v1", questionnairetest.Reload(t, &f.Model), 0); !errors.Is(err, ErrUnbounded) {
		t.Errorf("error %v of factor analysis, want %v", err, ErrUnbounded)
	}
}

func TestScorerAllocates(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	rows := questionnairetest.Rows(5)
	in, _ := instrument(t, questionnairetest.Fit(t, rows, nil))
	sc := in.Scorer()
	var all []msg.Response
	for _, row := range rows[1:50] {
		row[1+questionnairetest.Items] = "99" // beyond training
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
