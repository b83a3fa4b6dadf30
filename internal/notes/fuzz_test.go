package notes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
)

func fuzzColumns() *Columns {
	return &Columns{Aux: []Aux{{"age", bundle.Numeric, "age"}, {"vitals.sbp", bundle.Numeric, "vitals.sbp"}, {
		"sex", bundle.Categorical, "sex",
	}}}
}

func FuzzRead(f *testing.F) {
	const header = "text,label,age,vitals.sbp,sex\n"
	for _, s := range []string{
		"", header, header + "x,1,7,151,F\n", header + "\"x\n\"\"y\",0,NA,.,\n",
		header + "x,1,old,,\n", header + "x\n", header + "\"x", "text,text\n", "\xff,\xfe\n",
	} {
		f.Add(s, false)
	}
	for _, s := range []string{
		"", "\n\n", `{"text":"x","label":1,"age":7,"vitals":{"sbp":151},"sex":"F"}`,
		"{\"text\":\"\xff\",\"label\":true}\n", `{"text":1e999,"label":"1"}`, `{"text":"x","label":1}}`,
		`{"text":{"text":[]},"label":[]}`, `null`, `{"text":"x","label":1,"age":"old"}`, `{"a.b":{"c":1}}`,
	} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, data string, objects bool) {
		name := "FILE.csv"
		if objects {
			name = "FILE.jsonl"
		}
		var all Table
		in, err := table.New(strings.NewReader(data), name, table.Options{})
		if err == nil {
			err = all.read(in, fuzzColumns())
		}
		checkRead(t, &all, err)
	})
}

// checkRead holds what was read against what a table promises, and an error against the few words that it may hold.
func checkRead(t *testing.T, all *Table, err error) {
	t.Helper()
	for _, r := range all.Rows {
		if strings.TrimSpace(r.Text) == "" || !utf8.ValidString(r.Text+r.Complaint+r.Visit) || len(r.Aux) != 3 {
			t.Fatalf("read %+v", r)
		}
	}
	if err == nil {
		return
	}
	e, ok := errors.AsType[*table.Error](err)
	if !ok || !strings.HasPrefix(e.File, "FILE") || e.Line < 0 {
		t.Fatalf("error %v", err)
	}
	named := []error{table.ErrColumnTwice, table.ErrEncoding} // of any column
	if !slices.Contains(named, e.Err) && !slices.Contains(
		[]string{"", "text", "label", "age", "vitals.sbp", "sex", "complaint", "arrived_at", "visit_id"}, e.Column) {
		t.Fatalf("column %q was not asked for", e.Column)
	}
	reasons := []error{
		table.ErrColumnTwice, table.ErrEncoding, table.ErrNoColumn, ErrNoLabel, ErrNotNumber, ErrNotTime,
		wording.ErrNotFinite, table.ErrNoRows, table.ErrQuote, table.ErrOpenQuote, table.ErrCells, table.ErrTooLong, table.ErrNotObject,
		table.ErrUTF16, table.ErrBinary, table.ErrLineEnds,
	}
	if !slices.ContainsFunc(reasons, func(reason error) bool { return errors.Is(e, reason) }) {
		t.Fatalf("a reason that could quote a cell: %v", e.Err)
	}
}
