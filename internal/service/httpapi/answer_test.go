package httpapi

import (
	"encoding/csv"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestCSV: no cell is a formula, and numbers stay numbers.
func TestCSV(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	c := NewCSV("", "ward", "=column")
	c.Add("=HYPERLINK(\"http://x\")", "-1.5e-3", "+2", "-ICU", "+A1", "@SUM(1)", "\tx", "\rx", "", "MED=1", "-")
	c.ServeHTTP(w, nil)
	r := csv.NewReader(w.Body)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"ward", "'=column"},
		{"'=HYPERLINK(\"http://x\")", "-1.5e-3", "+2", "'-ICU", "'+A1", "'@SUM(1)", "'\tx", "'\rx", "", "MED=1", "'-"},
	}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if got := w.Header().Get("Content-Type"); got != "text/csv; charset=utf-8" {
		t.Errorf("the type is %q", got)
	}
}
