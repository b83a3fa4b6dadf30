package notes

import (
	"bufio"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardcast/wardcast/models"
)

func fuzzColumns() *Columns {
	return &Columns{Aux: []Aux{{"age", models.Numeric, "age"}, {"vitals.sbp", models.Numeric, "vitals.sbp"}, {"sex", models.Categorical, "sex"}}}
}

func FuzzCSV(f *testing.F) {
	const header = "text,label,age,vitals.sbp,sex\n"
	for _, s := range []string{"", header, header + "x,1,7,151,F\n", header + "\"x\n\"\"y\",0,NA,.,\n", header + "x,1,old,,\n", header + "x\n", header + "\"x", "text,text\n", "\xff,\xfe\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var table Table
		checkRead(t, &table, table.readCSV("FILE", strings.NewReader(data), fuzzColumns()))
	})
}

func FuzzJSONL(f *testing.F) {
	for _, s := range []string{"", "\n\n", `{"text":"x","label":1,"age":7,"vitals":{"sbp":151},"sex":"F"}`, "{\"text\":\"\xff\",\"label\":true}\n", `{"text":1e999,"label":"1"}`, `{"text":"x","label":1}}`, `{"text":{"text":[]},"label":[]}`, `null`, `{"text":"x","label":1,"age":"old"}`, `{"a.b":{"c":1}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var table Table
		checkRead(t, &table, table.readJSON("FILE", strings.NewReader(data), fuzzColumns()))
	})
}

// checkRead holds what was read against what a table promises, and an error against the few words that it may hold.
func checkRead(t *testing.T, table *Table, err error) {
	t.Helper()
	for _, r := range table.Rows {
		if strings.TrimSpace(r.Text) == "" || !utf8.ValidString(r.Text+r.Complaint+r.Visit) || len(r.Aux) != 3 {
			t.Fatalf("read %+v", r)
		}
	}
	if err == nil {
		return
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.File != "FILE" || e.Line < 0 {
		t.Fatalf("error %v", err)
	}
	if !slices.Contains([]string{"", "text", "label", "age", "vitals.sbp", "sex", "complaint", "arrived_at", "visit_id"}, e.Column) {
		t.Fatalf("column %q was not asked for", e.Column)
	}
	reasons := []error{ErrNoColumn, ErrNoLabel, ErrNotNumber, ErrNotTime, ErrNoRows, csv.ErrBareQuote, csv.ErrQuote, csv.ErrFieldCount, bufio.ErrTooLong}
	if !slices.Contains(reasons, e.Err) && e.Err.Error() != "not a JSON object" {
		t.Fatalf("a reason that could quote a cell: %v", e.Err)
	}
}
