package table

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type written struct {
	Name  string   `parquet:"name,optional"`
	Value *float64 `parquet:"value,optional"`
	Good  *bool    `parquet:"good,optional"`
}

// What is written is read again, in each format.
func TestWriter(t *testing.T) {
	t.Parallel()
	rows := []written{{"a, \"b\"\n", new(1. / 3), new(true)}, {"b", nil, nil}, {"c\td", new(-1e300), new(false)}}
	want := [][]string{{"a, \"b\"\n", "0.3333333333333333", "true"}, {"b", "", ""}, {"c\td", "-1e+300", "false"}}
	for _, name := range []string{"x.csv", "x.tsv", "x.csv.gz", "x.TSV.ZST", "x.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter[written](f)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(rows[:1]), w.Write(rows[1:]), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there before it is complete: %v", name, err)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		header, got := readAll(t, path, Options{})
		if d := cmp.Diff([]string{"name", "value", "good"}, header); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for i, row := range got {
			if d := cmp.Diff(want[i], row.Cells); d != "" {
				t.Errorf("%s, row %d: %s", name, i, d)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		}
	}
}

// No text of a spreadsheet's file is a formula; names that programs read back, and numbers, stay as they are.
func TestFormulas(t *testing.T) {
	t.Parallel()
	rows := []written{{"=1+1", new(-1.), nil}, {"@x", nil, nil}, {"-5", nil, nil}, {"+A1", nil, nil}}
	for name, want := range map[string]string{
		"x.csv": "'=1+1 '@x -5 '+A1", "x.tsv": "'=1+1 '@x -5 '+A1", "x.parquet": "=1+1 @x -5 +A1",
	} {
		dir := t.TempDir()
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter[written](f)
		if err := errors.Join(err, w.Write(rows), w.Close(), f.Commit()); err != nil {
			t.Fatal(err)
		}
		kept, err := Create(filepath.Join(dir, "kept-"+name))
		if err != nil {
			t.Fatal(err)
		}
		err = kept.WriteNumbers([]string{"id", "F1"}, []string{"=1+1"}, func(int) []float64 { return []float64{-1} })
		if err := errors.Join(err, kept.Commit()); err != nil {
			t.Fatal(err)
		}
		var cells []string
		_, read := readAll(t, filepath.Join(dir, name), Options{})
		for _, row := range read {
			cells = append(cells, row.Cells[0])
		}
		if got := strings.Join(cells, " "); got != want || read[0].Cells[1] != "-1" {
			t.Errorf("%s: %s, want %s; %q", name, got, want, read[0].Cells)
		}
		_, read = readAll(t, filepath.Join(dir, "kept-"+name), Options{})
		if d := cmp.Diff([]string{"=1+1", "-1"}, read[0].Cells); d != "" {
			t.Errorf("%s with names: %s", name, d)
		}
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"x", "x.txt", "x.xlsx", "x.gz", "x.parquet.gz", "x.csv.bz2"} {
		if _, err := Create(filepath.Join(dir, name)); !errors.Is(err, ErrName) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrName", name, err)
		}
	}
	path := filepath.Join(dir, "none", "x.csv")
	if _, err := Create(path); !errors.Is(err, os.ErrNotExist) ||
		err.Error() != "creating "+path+": no such file or directory" {
		t.Errorf("a folder that does not exist: %v", err)
	}
	// A file that is not completed leaves what was there.
	path = filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "new"); err != nil || !f.IsLines() {
		t.Error(err)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("after Abort the file holds %q, %v", data, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestFormats holds the one list of documents against the formats.
func TestFormats(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n  "+Formats()+".\n") {
		t.Errorf("docs/commands.md lacks %q", Formats())
	}
}
