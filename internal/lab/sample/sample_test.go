package sample

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models"
)

func generator(t *testing.T) *synth.Generator {
	t.Helper()
	g, err := synth.New(synth.Settings{Seed: 3, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRowsAreWhatFilesHold: notes that come through a file are the same to training, value for value.
func TestRowsAreWhatFilesHold(t *testing.T) {
	t.Parallel()
	const n = 200
	want, err := Rows(generator(t), n)
	if err != nil || len(want) != n {
		t.Fatalf("%d rows, %v", len(want), err)
	}
	for name, export := range map[string]func(context.Context, io.Writer, *synth.Generator,
		int) error{"notes.csv": synth.WriteCSV, "notes.jsonl": synth.WriteJSONL} {
		path := filepath.Join(t.TempDir(), name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(export(t.Context(), f, generator(t), n), f.Close()); err != nil {
			t.Fatal(err)
		}
		var columns notes.Columns
		for _, a := range Aux() {
			columns.Aux = append(columns.Aux, notes.Aux{Column: a.Name, Kind: a.Kind, Name: a.Name})
		}
		table, err := notes.Read([]string{path}, columns)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, table.Rows, cmp.Comparer(func(a, b msg.Value) bool { return a == b })); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestTrainCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store := models.OpenDir(filepath.Join(t.TempDir(), "store"))
	if _, err := Train(ctx, generator(t), store, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if names, err := store.Models(t.Context()); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("models %v, %v", names, err)
	}
}
