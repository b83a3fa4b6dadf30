package retrain_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/models/retrain"
)

func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFiles reads plain and compressed lines, with a byte order mark, blank lines, an overlong line and no last line
// break.
func TestFiles(t *testing.T) {
	t.Parallel()
	line := func(m retrain.Message) string { return string(m.Value) + "\n" }
	outcomes := writeFile(t, "outcomes.jsonl.gz", gzipped(t, line(outcomeOf(1, 5, msg.Admitted))+"\r\n"+
		`{"visit_id":"v0002","disposition":"left","decided_at":"`+stamp(at(6))+`"}`))
	long := strings.Repeat("x", 3<<20)
	first := writeFile(t, "notes.jsonl", []byte("\ufeff"+line(noteOf(1, 1))+"\n \t\r\n"+long+"\nnot json\n"))
	second := writeFile(t, "more.jsonl", []byte(line(noteOf(2, 2))))
	var done, total int64
	f := &retrain.Files{
		NoteFiles: []string{first, second}, OutcomeFiles: []string{outcomes},
		Progress: func(d, all int64) { done, total = d, all },
	}
	past, err := retrain.Collect(t.Context(), f, retrain.Settings{MinDocuments: 1, MinEvents: 1})
	if _, few := errors.AsType[*retrain.TooFewError](err); !few { // one row on each side of the cut
		t.Fatal(err)
	}
	if past.Counts.Documents != 2 || past.Counts.Events != 1 {
		t.Errorf("%+v", past.Counts)
	}
	if d := cmp.Diff(map[string]int{"not_json": 2}, past.Counts.Notes.Refused); d != "" {
		t.Error(d)
	}
	if got := past.Counts.Notes.First["not_json"]; got != first+":4" {
		t.Errorf("the first refused line is %s", got)
	}
	if done != total || total == 0 {
		t.Errorf("progress %d of %d", done, total)
	}
}

// TestDamagedFiles: what is behind the damage is lost, so that the run must not go on.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	good := writeFile(t, "good.jsonl", outcomeOf(1, 5, msg.Admitted).Value)
	var text strings.Builder
	for i := range 2000 {
		text.Write(noteOf(i, float64(i)).Value)
		text.WriteByte('\n')
	}
	whole := gzipped(t, text.String())
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x40
	for name, path := range map[string]string{
		"cut":      writeFile(t, "notes.jsonl.gz", whole[:len(whole)/2]),
		"flipped":  writeFile(t, "notes.jsonl.gz", flipped),
		"no gzip":  writeFile(t, "notes.jsonl.gz", []byte("plain")),
		"a folder": t.TempDir(),
	} {
		_, err := retrain.Collect(t.Context(), &retrain.Files{NoteFiles: []string{path}, OutcomeFiles: []string{good}},
			retrain.Settings{})
		if bad, ok := errors.AsType[*table.Error](err); !ok || bad.File != path || bad.Line == 0 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := retrain.Collect(t.Context(),
		&retrain.Files{NoteFiles: []string{"nowhere.jsonl"}, OutcomeFiles: []string{good}},
		retrain.Settings{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := retrain.Collect(t.Context(), &retrain.Files{NoteFiles: []string{good}},
		retrain.Settings{}); err == nil {
		t.Error("no files of outcomes are accepted")
	}
}

// FuzzCollect holds the join against a naive one: any bytes, line by line.
func FuzzCollect(f *testing.F) {
	outcome := func(s string) string { return `{"visit_id":"a","disposition":"` + s }
	for _, s := range [][2]string{
		{"", ""},
		{outcome(`admitted","decided_at":"2026-03-01T10:00:00Z"}`), `{"visit_id":"a","text":"fell",` +
			`"arrived_at":"2026-03-01T08:00:00Z"}`},
		{
			outcome(`admitted","decided_at":"2026-03-01T10:00:00Z"}`) + "\n" +
				outcome(`left","status":"cancelled","recorded_at":"2026-03-01T11:00:00Z"}`) + "\n" + outcome(`died"}`),
			`{"visit_id":"a","text":"fell","arrived_at":"2026-03-01T08:00:00Z"}` + "\n" +
				`{"visit_id":"a","text":"again","arrived_at":"0000-01-01T00:00:00Z","patient_id":7}`,
		},
		{outcome(`admitted","decided_at":"9999-12-31T23:59:59Z"}`), "\x00\n\n{}\n[]"},
	} {
		f.Add(s[0], s[1])
	}
	asOf := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, outcomes, notes string) {
		m := &memory{messages(outcomes), messages(notes)}
		labels, past := collect(t, m, retrain.Settings{AsOf: asOf})
		if d := cmp.Diff(naive(m, asOf, retrain.DefaultWindow), labels); d != "" {
			t.Error(d)
		}
		for place := range past.Counts.Notes.Refused {
			if strings.Contains(place, "\n") || len(place) > 60 {
				t.Errorf("a reason quotes the message: %q", place)
			}
		}
	})
}

func messages(lines string) (all []retrain.Message) {
	for line := range strings.SplitSeq(lines, "\n") {
		all = append(all, retrain.Message{Value: []byte(line), Own: true})
	}
	return all
}

// naive returns the labels by a search through all events for each note.
func naive(m *memory, asOf time.Time, window time.Duration) map[string]bool {
	labels := map[string]bool{}
	for _, message := range m.notes {
		var n msg.Note
		arrived, err := time.Time{}, msg.DecodeOwnNote(message.Value, &n)
		if err == nil {
			arrived, err = time.Parse(time.RFC3339, strings.TrimSpace(n.ArrivedAt))
		}
		if err != nil || arrived.UTC().Year() < 1990 || arrived.UTC().Year() >= 2100 || arrived.After(asOf) ||
			arrived.Before(asOf.Add(-window)) {
			continue
		}
		var latest time.Time
		var last msg.Outcome
		for _, message := range m.outcomes {
			var o msg.Outcome
			if msg.DecodeOwnOutcome(message.Value, &o) != nil || o.VisitID != n.VisitID {
				continue
			}
			var when time.Time
			written := strings.TrimSpace(o.RecordedAt)
			if written == "" {
				written = strings.TrimSpace(o.DecidedAt)
			}
			if written != "" {
				if when, err = time.Parse(time.RFC3339, written); err != nil {
					continue
				}
			}
			if !when.After(asOf) &&
				(last.VisitID == "" || !when.Truncate(time.Microsecond).Before(latest.Truncate(time.Microsecond))) {
				latest, last = when, o
			}
		}
		if last.VisitID != "" && last.Status != msg.Cancelled {
			labels[n.VisitID] = last.Disposition == msg.Admitted
		}
	}
	return labels
}
