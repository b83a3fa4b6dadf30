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
