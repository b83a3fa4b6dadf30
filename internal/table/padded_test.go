package table

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPadded reads what fastparquet 2026.9 wrote with Snappy: every type with missing values, and a
// column with a dictionary.
func TestPadded(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "fastparquet.parquet")
	header, rows := readAll(t, path, Options{})
	want := []Row{
		{1, []string{"a", "0", "true", "1.5", "0", "1", "true", "2026-11-20T01:00:00", "p"}},
		{2, []string{"", "1", "false", "", "1", "", "", "2026-11-20T01:00:00", "q"}},
		{3, []string{"", "2", "true", "3", "2", "3", "false", "", ""}},
		{4, []string{"chest", "3", "true", "4", "3", "4", "true", "2026-11-20T01:00:00", "q"}},
	}
	if d := cmp.Diff([]string{"text", "int", "bool", "float", "small", "maybe", "ill", "at", "kind"}, header); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	r, err := Open(filepath.Join("testdata", "fastparquet-int96.parquet"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); !errors.Is(err, ErrInt96) {
		t.Errorf("%v, want %v", err, ErrInt96)
	}
}

func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, python := range map[string]string{"x.sav": "read_sav", "x.DTA": "read_dta", "x.xlsx": "read_excel"} {
		if _, err := Open(name, Options{}); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), python) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
