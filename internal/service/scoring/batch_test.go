package scoring

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

// answers runs Lines and returns what it wrote, with the times of scoring blotted out.
func answers(t *testing.T, s *Set, in io.Reader) ([]string, Counts) {
	t.Helper()
	var out bytes.Buffer
	counts, err := s.Predict(t.Context(), classifier.Options{}, Batch{Lines: in, Out: &out})
	if (counts.Line > 0) != (counts.Refused > 0) || (counts.Why != "") != (counts.Refused > 0) {
		t.Errorf("%+v", counts)
	}
	counts.Line, counts.Why = 0, ""
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`"scored_at":"[^"]+"`).ReplaceAllString(out.String(), `"scored_at":""`)
	if whole == "" {
		return nil, counts
	}
	if !strings.HasSuffix(whole, "\n") {
		t.Errorf("the last answer has no end: %q", whole)
	}
	return strings.Split(strings.TrimSuffix(whole, "\n"), "\n"), counts
}

// note is a note's line, without its end.
func note(id, complaint, text string) string {
	return string((&msg.Note{VisitID: id, Complaint: complaint, Text: text}).AppendJSON(nil))
}

// summary is a visit and its model, or the line and code of an error.
func summary(t *testing.T, line string) string {
	t.Helper()
	var a struct {
		Visit string    `json:"visit_id"`
		Model msg.Model `json:"model"`
		Line  int       `json:"line"`
		Error *struct {
			Code, Detail string
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if a.Error != nil {
		return fmt.Sprintf("line %d: %s: %s", a.Line, a.Error.Code, a.Error.Detail)
	}
	return a.Visit + " by " + a.Model.Name
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in     string
		want   []string
		counts Counts
	}{
		"nothing":     {"", nil, Counts{}},
		"blank lines": {"\n \n\t\r\n", nil, Counts{Blank: 3}},
		"in order": {note("a", "cough", "hip") + "\n" + note("b", "", "hip") +
			"\n", []string{"a by cough", "b by cough"}, Counts{Scored: 2}},
		"no newline": {note("a", "cough", "hip"), []string{"a by cough"}, Counts{Scored: 1}},
		"windows": {note("a", "cough", "hip") + "\r\n\r\n" + note("b", "cough", "hip") +
			"\r\n", []string{"a by cough", "b by cough"}, Counts{Scored: 2, Blank: 1}},
		"byte order mark": {
			"\ufeff" + note("a", "cough", "hip") + "\n", []string{"a by cough"}, Counts{Scored: 1},
		},
		"and nothing": {"\ufeff\n", nil, Counts{Blank: 1}},
		"mark of a later line": {
			"\n\ufeff{}\n", []string{"line 2: not_json: not one JSON value"}, Counts{Refused: 1, Blank: 1},
		},
		"not JSON": {"\n\nx\n", []string{"line 3: not_json: not one JSON value"}, Counts{Refused: 1, Blank: 2}},
		"no object": {
			"[1]", []string{"line 1: wrong_type: not an object, or a field of the wrong type"}, Counts{Refused: 1},
		},
		"wrong type": {
			`{"schema_version":"1","visit_id":"a","text":"hip","age":"old"}`,
			[]string{"line 1: wrong_type: not an object, or a field of the wrong type: age"},
			Counts{Refused: 1},
		},
		"no text": {
			`{"schema_version":"1","visit_id":"a"}`,
			[]string{"line 1: missing_field: a required field is missing: text"},
			Counts{Refused: 1},
		},
		"empty text": {
			note("a", "", " "), []string{"line 1: empty_text: the text is empty: text"}, Counts{Refused: 1},
		},
		"not UTF-8": {"{\"text\":\"\xff\"}", []string{"line 1: invalid_utf8: not UTF-8"}, Counts{Refused: 1}},
		"long text": {
			note("a", "", strings.Repeat("x", msg.MaxText+1)),
			[]string{"line 1: too_large: the text is longer than 64 KiB, or another field too long: text"},
			Counts{Refused: 1},
		},
		"no version": {`{"visit_id":"a","text":"hip"}`, []string{"a by cough"}, Counts{Scored: 1}},
		"other version": {
			`{"schema_version":"2","visit_id":"a","text":"hip"}`,
			[]string{"line 1: unknown_schema_version: the schema version is not one that is known: schema_version"},
			Counts{Refused: 1},
		},
		"errors do not stop it": {
			"x\n\n" + note("a", "", "hip") + "\ny\n" + note("b", "", "hip"),
			[]string{
				"line 1: not_json: not one JSON value", "a by cough",
				"line 4: not_json: not one JSON value", "b by cough",
			},
			Counts{Scored: 2, Refused: 2, Blank: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			save := c.in
			// One model scores all, so that routes are no part of the table.
			s := setOf(t, "cough")
			s.Models[bundle.Other] = s.Models["cough"]
			for how, in := range map[string]io.Reader{
				"at once": strings.NewReader(save), "byte by byte": iotest.OneByteReader(strings.NewReader(save)),
				"with the end": iotest.DataErrReader(strings.NewReader(save)),
			} {
				lines, counts := answers(t, s, in)
				var got []string
				for _, line := range lines {
					got = append(got, summary(t, line))
				}
				if strings.Join(got, "\n") != strings.Join(c.want, "\n") || counts != c.counts {
					t.Errorf("%s: %+v\ngot  %q\nwant %q", how, counts, got, c.want)
				}
			}
		})
	}
}

func TestLinesWithoutModel(t *testing.T) {
	t.Parallel()
	lines, counts := answers(t, setOf(t, "cough"),
		strings.NewReader(note("a", "fever", "hip")+"\n"+note("b", "COUGH", "hip")))
	if len(lines) != 2 || summary(t, lines[0]) != "line 1: no_model: no model scores this complaint" ||
		summary(t, lines[1]) != "b by cough" || counts != (Counts{Scored: 1, Refused: 1}) {
		t.Errorf("%+v, %q", counts, lines)
	}
}

func TestDetailsOfEveryReason(t *testing.T) {
	t.Parallel()
	for _, r := range []msg.Reason{
		msg.NotJSON, msg.WrongType, msg.MissingField, msg.EmptyText, msg.InvalidUTF8,
		msg.TooLarge, msg.UnknownSchemaVersion, msg.NoModel, msg.ScoringFailed,
	} {
		line := refusalLine(&msg.Error{Reason: r, Field: "text"}, 7)
		if got := summary(t, line); !strings.HasPrefix(got, "line 7: "+string(r)+": ") || details[r] == "" ||
			!strings.HasSuffix(got, ": text") {
			t.Errorf("%s: %s", r, line)
		}
	}
	// What is no reason of ours could quote a note.
	if got := summary(t, refusalLine(errors.New("78F glf"), 1)); !strings.HasPrefix(got,
		"line 1: scoring_failed: ") || strings.Contains(got, "glf") {
		t.Errorf("got %s", got)
	}
}

func TestLinesRefusesOverlongLine(t *testing.T) {
	t.Parallel()
	s := setOf(t, bundle.Other)
	long := strings.Repeat("x", maxLine)
	blank := strings.Repeat(" ", maxLine+10)
	in := note("a", "", "hip") + "\n" + long + "x\n" + note("b", "", "hip") + "\n" + blank + "\n" +
		note("c", "", "hip") + "\n" + long + long
	lines, counts := answers(t, s, strings.NewReader(in))
	var got []string
	for _, line := range lines {
		got = append(got, strings.SplitAfterN(summary(t, line), ": ", 3)[0]+
			fmt.Sprint(strings.Contains(line, string(msg.TooLarge))))
	}
	want := []string{
		"a by _otherfalse", "line 2: true", "b by _otherfalse", "line 4: true", "c by _otherfalse", "line 6: true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || counts != (Counts{Scored: 3, Refused: 3}) {
		t.Errorf("%+v, got %q, want %q", counts, got, want)
	}
}

// TestLinesSameBytes is not parallel: it changes GOMAXPROCS.
func TestLinesSameBytes(t *testing.T) {
	s := setOf(t, bundle.Other, "cough")
	var in strings.Builder
	for i := range 3*maxBatch + 17 {
		switch {
		case i%97 == 0:
			in.WriteString("\n")
		case i%89 == 0:
			in.WriteString("no JSON\n")
		default:
			in.WriteString(note(fmt.Sprint(i), []string{"", "Cough", "x"}[i%3],
				[]string{"hip", "pain pain", "zebra hip"}[i%3]) + "\n")
		}
	}
	var want []string
	var wantCounts Counts
	for i, c := range []struct {
		processors int
		in         io.Reader
	}{
		{1, strings.NewReader(in.String())},
		{4, strings.NewReader(in.String())},
		{3, iotest.OneByteReader(strings.NewReader(in.String()))},
		{4, iotest.HalfReader(strings.NewReader(in.String()))},
		{2, iotest.DataErrReader(strings.NewReader(in.String()))},
	} {
		before := runtime.GOMAXPROCS(c.processors)
		got, counts := answers(t, s, c.in)
		runtime.GOMAXPROCS(before)
		if i == 0 {
			want, wantCounts = got, counts
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || counts != wantCounts {
			t.Errorf("run %d: %d answers, %+v, unlike the first: %d, %+v", i, len(got), counts, len(want), wantCounts)
		}
	}
	if wantCounts.Scored+wantCounts.Refused != len(want) || wantCounts.Blank == 0 || wantCounts.Refused == 0 {
		t.Errorf("%+v of %d answers", wantCounts, len(want))
	}
}

// TestLinesAnswersBeforeTheEnd has a conversation: each note is answered while the input stays open, even with half
// of the next line there.
func TestLinesAnswersBeforeTheEnd(t *testing.T) {
	t.Parallel()
	s := setOf(t, bundle.Other)
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Predict(t.Context(), classifier.Options{}, Batch{Lines: in, Out: out})
		_ = out.CloseWithError(err)
		done <- err
	}()
	replies := bufio.NewScanner(answer)
	half := ""
	for i := range 3 {
		next := note(fmt.Sprint(i+1), "", "hip")
		if _, err := io.WriteString(ask, strings.TrimPrefix(note(fmt.Sprint(i), "", "hip"), half)+"\n"+
			next[:20]); err != nil {
			t.Fatal(err)
		}
		half = next[:20]
		if !replies.Scan() || summary(t, replies.Text()) != fmt.Sprint(i, " by _other") {
			t.Fatalf("note %d: %q, %v", i, replies.Text(), replies.Err())
		}
	}
	if err := ask.Close(); err != nil {
		t.Fatal(err)
	}
	if !replies.Scan() || summary(t, replies.Text()) != "line 4: not_json: not one JSON value" {
		t.Errorf("half a note at the end: %q", replies.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// failing is a writer that takes so many answers.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left == 0 {
		return 0, errFull
	}
	f.left--
	return len(b), nil
}

func TestLinesErrors(t *testing.T) {
	t.Parallel()
	s := setOf(t, bundle.Other)
	in := strings.Repeat(note("a", "", "hip")+"\n", maxBatch+1)
	if _, err := s.Predict(t.Context(), classifier.Options{},
		Batch{Lines: strings.NewReader(in), Out: &failing{}}); !errors.Is(err, errFull) {
		t.Errorf("writing: %v", err)
	}
	broken := errors.New("broken")
	var out bytes.Buffer
	counts, err := s.Predict(t.Context(), classifier.Options{},
		Batch{Lines: io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), Out: &out})
	if !errors.Is(err, broken) || counts.Scored != maxBatch+1 || strings.Count(out.String(), "\n") != maxBatch+1 {
		t.Errorf("reading: %v, after %+v", err, counts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if counts, err := s.Predict(ctx, classifier.Options{},
		Batch{Lines: strings.NewReader(in), Out: io.Discard}); !errors.Is(err, context.Canceled) ||
		counts != (Counts{}) {
		t.Errorf("cancelled: %v, %+v", err, counts)
	}
	// Cancelled amid the input: what was read is answered, no more is read.
	ctx, cancel = context.WithCancel(t.Context())
	counts, err = s.Predict(ctx, classifier.Options{}, Batch{
		Lines: strings.NewReader(in), Out: writerFunc(func(b []byte) (int, error) { cancel(); return len(b), nil }),
	})
	if !errors.Is(err, context.Canceled) || counts.Scored == 0 || counts.Scored > maxBatch {
		t.Errorf("cancelled on the way: %v, %+v", err, counts)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// fromTable is notes of a table; those without text stand for bad rows.
type fromTable []msg.Note

func (f *fromTable) Next(n *msg.Note) (int, error) {
	if len(*f) == 0 {
		return 0, io.EOF
	}
	*n, *f = (*f)[0], (*f)[1:]
	line := 100 - len(*f)
	if n.Text == "" {
		return 0, &table.Error{File: "x.csv", Line: line, Column: `the "age"`, Err: errors.New("not a number")}
	}
	return line, nil
}

// Notes of a table are answered like lines, as lines or as rows.
func TestPredictTables(t *testing.T) {
	t.Parallel()
	s := setOf(t, "cough")
	all := fromTable{
		{VisitID: "a", Complaint: "cough", Text: "hip"},
		{VisitID: "b"},
		{VisitID: "c", Text: "pain", Complaint: "fever"},
		{VisitID: "d", Text: "pain", Complaint: "cough", SchemaVersion: "2"},
	}
	want := []string{
		"a by cough", `line 98: wrong_type: not a number: the "age"`,
		"line 99: no_model: no model scores this complaint",
		"line 100: unknown_schema_version: the schema version is not one that is known: schema_version",
	}
	wantCounts := Counts{Scored: 1, Refused: 3, Line: 98, Why: `wrong_type: not a number: the "age"`}

	var out bytes.Buffer
	in := slices.Clone(all)
	progress := 0
	counts, err := s.Predict(t.Context(), classifier.Options{}, Batch{
		Notes: in.Next, Out: &out, Progress: func(done int) { progress = done },
	})
	if err != nil || counts != wantCounts || progress != 4 {
		t.Errorf("%+v, %v, %d answered", counts, err, progress)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if got := summary(t, line); len(lines) != len(want) || got != want[i] {
			t.Errorf("line %d: %s, want %s", i, got, want[i])
		}
	}

	in = slices.Clone(all)
	var rows []Row
	counts, err = s.Predict(t.Context(), classifier.Options{},
		Batch{Notes: in.Next, Rows: func(some []Row) error { rows = append(rows, some...); return nil }})
	if err != nil || counts != wantCounts || len(rows) != len(want) {
		t.Fatalf("%+v, %v, %d rows", counts, err, len(rows))
	}
	var p msg.Prediction
	if err := json.Unmarshal([]byte(lines[0]), &p); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Row{
		VisitID: "a", Probability: &p.Probability, Decision: string(p.Decision),
		Logit: &p.Logit, Model: "cough", Version: p.Model.Version, Abstained: &p.Abstained,
		Warnings: `[{"field":"complaint","code":"unknown_complaint"}]`,
		Evidence: string(p.AppendEvidence(nil)), Error: "",
	}, rows[0]); d != "" {
		t.Error(d)
	}
	for i, visit := range []string{"b", "c", "d"} {
		if d := cmp.Diff(Row{VisitID: visit, Error: want[i+1]}, rows[i+1]); d != "" {
			t.Error(d)
		}
	}
	in = slices.Clone(all)
	if _, err := s.Predict(t.Context(), classifier.Options{},
		Batch{Notes: in.Next, Rows: func([]Row) error { return errFull }}); !errors.Is(err, errFull) {
		t.Errorf("writing rows: %v", err)
	}
}

// refusalLine returns the line of a note that was refused.
func refusalLine(err error, number int) string {
	code, detail := Refusal(err)
	return string(appendRefusal(nil, number, code, detail))
}
