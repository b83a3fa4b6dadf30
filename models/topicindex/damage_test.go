package topicindex

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// segments returns the files of an index that bleve maps into memory.
func segments(t *testing.T, x *Index) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(x.config.Folder, "*", "store", "*.zap"))
	if err != nil || len(found) == 0 {
		t.Fatalf("segments %v, %v", found, err)
	}
	return found
}

// overwrite changes files in place, as a failing disk or another program may.
func overwrite(t *testing.T, files []string, change func([]byte) []byte) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data = change(data)
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
		if err == nil {
			_, err = f.Write(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// damages are ways in which a file is damaged.
var damages = map[string]func([]byte) []byte{
	"emptied": func([]byte) []byte { return nil },
	"cut":     func(b []byte) []byte { return b[:len(b)/2] },
	"flipped": func(b []byte) []byte {
		for i := range b {
			b[i] ^= 0xff
		}
		return b
	},
	"zeroed": func(b []byte) []byte { return bytes.Repeat([]byte{0}, len(b)) },
}

// calls are all that reads an index.
func calls(t *testing.T, x *Index) map[string]func() error {
	t.Helper()
	search := func(q Query) func() error {
		return func() error { _, err := x.Search(t.Context(), q); return err }
	}
	return map[string]func() error{
		"words": search(Query{Text: "dyspnea"}), "prefix": search(Query{Text: "lacer"}),
		"typing error": search(Query{Text: "laceretion"}),
		"like":         search(Query{Like: &Ref{Model: "fall", Topic: 1}}), "all": search(Query{}),
		"first seen": func() error { _, err := x.FirstSeen(t.Context(), "sob"); return err },
		"history":    func() error { _, err := x.History(t.Context(), Ref{Model: bundle.Other, Topic: 1}); return err },
	}
}

// An index that is damaged while it is searched kills nobody: the search fails, and works again after the Refresh that
// the index asks for. All calls meet the files that are emptied, which end a process that maps them; WARDCAST_LONG has
// them meet the other damages too.
func TestDamageWhileSearched(t *testing.T) {
	t.Parallel()
	for name, change := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call := range calls(t, nil) {
				if name != "emptied" && call != "words" && os.Getenv("WARDCAST_LONG") == "" {
					continue
				}
				x, _ := usual(t)
				overwrite(t, segments(t, x), change)
				err := calls(t, x)[call]()
				if err == nil {
					if call != "all" && name == "emptied" { // others may read only what is left, or is in memory
						t.Errorf("%s: no error", call)
					}
					continue
				}
				if !errors.Is(err, errDamaged) || x.Ready() {
					t.Errorf("%s: ready %t, %v", call, x.Ready(), err)
				}
				select {
				case <-x.Damaged():
				default:
					t.Errorf("%s: no Refresh is asked for", call)
				}
				if err := x.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := names(t, x, Query{Text: "dyspnea"}); !cmp.Equal(got,
					[]string{"_other/1", "_other/3", "fall/1"}) {
					t.Errorf("%s: found %v", call, got)
				}
			}
		})
	}
}

// What is damaged between two processes is found before it is opened, and made again with a warning.
func TestDamageBetweenProcesses(t *testing.T) {
	t.Parallel()
	x, s := usual(t)
	folder := x.config.Folder
	for _, file := range []string{
		filepath.Join("store", "*.zap"), filepath.Join("store", "root.bolt"), "index_meta.json", sumsFile,
	} {
		for name, change := range damages {
			files, err := filepath.Glob(filepath.Join(folder, "*", file))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", file, files, err)
			}
			overwrite(t, files, change)
			var log strings.Builder
			again := open(t, Config{Store: s, Folder: folder, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if got := names(t, again, Query{Text: "dyspnea"}); !cmp.Equal(got,
				[]string{"_other/1", "_other/3", "fall/1"}) {
				t.Errorf("%s %s: found %v", file, name, got)
			}
			if strings.Count(log.String(), "level=WARN") != 1 {
				t.Errorf("%s %s: logged %q", file, name, log.String())
			}
		}
	}
	missing := filepath.Join(folder, x.current.key, sumsFile)
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	open(t, x.config)
	if _, err := os.Stat(missing); err != nil {
		t.Errorf("without its sums the index is not made again: %v", err)
	}
}
