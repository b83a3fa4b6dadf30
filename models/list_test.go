package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestList(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	var versions []string
	for i := range 4 {
		versions = append(versions, save(t, s, sample(i)))
	}
	for _, v := range versions[:2] {
		if err := s.Promote(ctx, "chest-pain", Event{Version: v, Reason: "better"}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, v := range list {
		if v.Model != "chest-pain" || v.Version != versions[i] || !v.CreatedAt.Equal(time.Date(2026, 11, 20, 2, 0, i, 0, time.UTC)) {
			t.Errorf("got %+v", v)
		}
		got = append(got, fmt.Sprintf("%s %v %s", v.Status, v.Champion, v.Reason))
	}
	if d := cmp.Diff([]string{"superseded false better", "champion true better", "challenger false ", "challenger false "}, got); d != "" {
		t.Error(d)
	}
}

// TestListOfADamagedStore: damage to one model is told at its versions and in
// the error, and the others are listed as ever.
func TestListOfADamagedStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir, champion string)
		want   []string // of the damaged model, oldest first
		file   string
	}{
		"champion is gone": {
			func(t *testing.T, dir, champion string) {
				if err := os.RemoveAll(filepath.Join(dir, champion)); err != nil {
					t.Fatal(err)
				}
			},
			[]string{"superseded false file \"champion\": version \"CHAMPION\": not found"},
			championFile,
		},
		"champion is no version": {
			func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, championFile), []byte("x\n")) },
			[]string{"superseded false file \"champion\": holds no version", "superseded false file \"champion\": holds no version"},
			championFile,
		},
		"history": {
			func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, historyFile), []byte("{\n")) },
			[]string{"challenger false file \"history.jsonl\": line 1: unexpected end of JSON input", "champion true file \"history.jsonl\": line 1: unexpected end of JSON input"},
			historyFile,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := OpenDir(t.TempDir())
			other := sample(0)
			other.Manifest.Name = "stroke"
			sound := save(t, s, other)
			if err := s.Promote(t.Context(), "stroke", Event{Version: sound, Reason: "first"}); err != nil {
				t.Fatal(err)
			}
			var champion string
			for i := range 2 {
				champion = save(t, s, sample(i))
				if err := s.Promote(t.Context(), "chest-pain", Event{Version: champion}); err != nil {
					t.Fatal(err)
				}
			}
			c.damage(t, filepath.Join(s.path, "chest-pain"), champion)
			list, err := List(t.Context(), s)
			if e, ok := errors.AsType[*FileError](err); !ok || e.Model != "chest-pain" || e.File != c.file {
				t.Errorf("the error is %v", err)
			}
			var got []string
			for _, v := range list {
				got = append(got, strings.ReplaceAll(fmt.Sprintf("%s %v %s", v.Status, v.Champion, v.Reason), champion, "CHAMPION"))
			}
			if d := cmp.Diff(append(c.want, "champion true first"), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestLostChampion: the model of all complaints keeps a champion once it had one.
func TestLostChampion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	all := sample(0)
	all.Manifest.Name = Other
	version := save(t, s, all)
	sound := func(when string) {
		t.Helper()
		found, err := s.Verify(ctx, nil)
		_, listErr := List(ctx, s)
		if _, championsErr := s.Champions(ctx); err != nil || len(found) > 0 || listErr != nil || championsErr != nil {
			t.Errorf("%s: %v, %v, %v, %v", when, found, err, listErr, championsErr)
		}
	}
	sound("before any promotion")
	promote := func() {
		t.Helper()
		if err := s.Promote(ctx, Other, Event{Version: version, Reason: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	promote()
	if err := os.Remove(filepath.Join(s.path, Other, championFile)); err != nil {
		t.Fatal(err)
	}
	const want = `model "_other": file "champion": not found, though the history tells of a champion`
	if found, err := s.Verify(ctx, nil); err != nil || len(found) != 1 || found[0].Error() != want {
		t.Errorf("verified: %v, %v", found, err)
	}
	if list, err := List(ctx, s); err == nil || err.Error() != want || len(list) != 1 || list[0].Champion || !strings.Contains(want, list[0].Reason) {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if _, err := s.Champions(ctx); err == nil || err.Error() != want {
		t.Errorf("champions: %v", err)
	}
	promote()
	sound("promoted again")
	if err := s.Retire(ctx, Other, Event{}); err != nil {
		t.Fatal(err)
	}
	sound("retired")
}

// TestVerifyTellsProgress counts the versions of all models.
func TestVerifyTellsProgress(t *testing.T) {
	t.Parallel()
	s := OpenDir(t.TempDir())
	all := sample(0)
	all.Manifest.Name = Other
	save(t, s, all)
	for i := range 2 {
		save(t, s, sample(i))
	}
	write(t, filepath.Join(s.path, "stray"), nil)
	var got []int
	found, err := s.Verify(t.Context(), func(done, total int) { got = append(got, done, total) })
	if d := cmp.Diff([]int{1, 3, 2, 3, 3, 3}, got); d != "" || err != nil || len(found) != 1 {
		t.Errorf("%d files, %v: %s", len(found), err, d)
	}
}
