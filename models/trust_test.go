package models

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tookEffect returns what the history says was served in turn, by the index in names.
func tookEffect(t *testing.T, s *Store, names []string) string {
	t.Helper()
	events, err := s.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		if e.changes() && !e.Abandoned {
			for i, name := range names {
				if e.To == name {
					got = append(got, fmt.Sprint(i))
				}
			}
		}
	}
	return strings.Join(got, " ")
}

// TestPastAnswersStay: whatever happens to the champion file, and however it is repaired, the history shows what was
// served.
func TestPastAnswersStay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm     func(t *testing.T, champion string, g []string)
		now      int // index of the generation that the champion file names, -1 for none
		rollback int
	}{
		"lost":    {func(t *testing.T, champion string, _ []string) { remove(t, champion) }, -1, 1},
		"emptied": {func(t *testing.T, champion string, _ []string) { write(t, champion, nil) }, -1, 1},
		"nonsense": {
			func(t *testing.T, champion string, _ []string) { write(t, champion, []byte("x")) }, -1, 1,
		},
		"edited by hand": {
			func(t *testing.T, champion string, g []string) { write(t, champion, []byte(g[3]+"\n")) }, 3, 2,
		},
		"edited to a first": {
			func(t *testing.T, champion string, g []string) { write(t, champion, []byte(g[0]+"\n")) }, 0, -1,
		},
	} {
		for _, repair := range []string{"promote", "rollback"} {
			t.Run(name+" "+repair, func(t *testing.T) {
				t.Parallel()
				ctx, dir := t.Context(), t.TempDir()
				s := OpenDir(dir)
				g := generations(t, s, 4)
				var between time.Time
				for i, from := range []string{"", g[0], g[1]} {
					if err := s.Promote(ctx, Change{To: g[i], From: from}); err != nil {
						t.Fatal(err)
					}
					if i == 1 {
						between = time.Now()
					}
				}
				from := ""
				c.harm(t, filepath.Join(dir, championFile), g)
				if c.now >= 0 {
					from = g[c.now]
				}
				if got := tookEffect(t, s, g); got != "0 1 2" {
					t.Errorf("harmed: %s took effect", got)
				}
				want := "0 1 2 2"
				to := g[2]
				if repair == "promote" {
					if err := s.Promote(ctx, Change{To: to, From: from, Mend: true}); err != nil {
						t.Fatal(err)
					}
				} else {
					err := s.Rollback(ctx, Change{From: from, Mend: true})
					if c.rollback < 0 {
						if err == nil {
							t.Error("rolled back from the first")
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					to, want = g[c.rollback], fmt.Sprint("0 1 2 ", c.rollback)
				}
				if got := tookEffect(t, s, g); got != want {
					t.Errorf("mended: %s took effect, want %s", got, want)
				}
				if then, err := s.ServedAt(ctx, between); err != nil || then.Name != g[1] {
					t.Errorf("served between: %v, %v", then, err)
				}
				if champion, err := s.Champion(ctx); err != nil || champion.Name != to {
					t.Errorf("champion %v, %v", champion, err)
				}
				if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
					t.Errorf("verify: %v, %v", found, err)
				}
				// And again, with the mended store.
				if err := s.Promote(ctx, Change{To: g[0], From: to}); err != nil {
					t.Fatal(err)
				}
				if got := tookEffect(t, s, g); got != want+" 0" {
					t.Errorf("later: %s took effect, want %s 0", got, want)
				}
			})
		}
	}
}

// TestAbandon decides which changes took effect, of records alone: the letters are what was served and what was to be.
func TestAbandon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ changes, served, want string }{
		{"-A AB BC", "C", "ABC"},
		{"-A AB", "A", "A"},     // stopped
		{"-A AB AB", "B", "AB"}, // stopped, and run again
		{"-A -B", "B", "B"},     // the first was stopped
		{"-A AB AC", "B", "AB"}, // two writers, the first was faster
		{"-A AB AC", "C", "AC"}, // the second was
		{"-A AB AC AD BE", "E", "ABE"},
		{"-A AB AC AD CE", "E", "ACE"},
		{"-A AB AC AD DE", "E", "ADE"},
		{"-A AB -B", "B", "ABB"}, // a repair that does not say from what
		{"-A AB XC", "C", "ABC"}, // X was not recorded
		{"-A AB BC AD", "D", "ABCD"},
		{"-A", "", ""},
		{"-A AB", "", "AB"},
	} {
		var events []Event
		for change := range strings.FieldsSeq(c.changes) {
			events = append(events, Event{Action: Promoted, From: strings.Trim(change[:1], "-"), To: change[1:]})
		}
		abandon(events, c.served, false)
		got := ""
		for _, e := range events {
			if !e.Abandoned {
				got += e.To
			}
		}
		if got != c.want {
			t.Errorf("%s, served %q: %s took effect, want %s", c.changes, c.served, got, c.want)
		}
	}
}

// TestChampionAndHistoryDisagree: verify names a champion that nobody promoted.
func TestChampionAndHistoryDisagree(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	if err := s.Promote(ctx, Change{To: g[0]}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, championFile), []byte(g[1]+"\n"))
	found, err := s.Verify(ctx, nil)
	if err != nil || len(found) != 1 || found[0].File != championFile || !strings.Contains(found[0].Error(), g[1]) ||
		!strings.Contains(found[0].Error(), g[0]) {
		t.Errorf("verify: %v, %v", found, err)
	}
	list, err := List(ctx, s)
	if err != nil || list[0].Status != SupersededStatus || list[1].Status != ChampionStatus {
		t.Errorf("listed %+v, %v", list, err)
	}
	if to, err := s.RollbackTarget(ctx, ""); err != nil || to != g[0] {
		t.Errorf("back to %q, %v", to, err)
	}
}

// TestObjections: a generation that was refused or rolled back is not served without a reason.
func TestObjections(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	g := generations(t, s, 3)
	promoteInTurn(t, s, g[0], g[1])
	if err := s.Rollback(ctx, Change{From: g[1], Why: "too many admissions"}); err != nil {
		t.Fatal(err)
	}
	third, err := s.Generation(ctx, g[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refuse(ctx, third, Change{From: g[0], Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Objections(ctx)
	if err != nil || len(got) != 2 || got[g[1]] != "was rolled back: too many admissions" ||
		got[g[2]] != "was refused: worse" {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestHistoryIsVerified: a history that was cut or lost is named.
func TestHistoryIsVerified(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, harm := range map[string]func(t *testing.T, path string){
		"line 2: cut off": func(t *testing.T, path string) {
			data := read(t, path)
			write(t, path, data[:len(data)-20])
		},
		"not found": remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := OpenDir(dir)
			g := generations(t, s, 2)
			promoteInTurn(t, s, g[0], g[1])
			harm(t, filepath.Join(dir, historyFile))
			found, err := s.Verify(ctx, nil)
			if err != nil || len(found) == 0 || !strings.Contains(fmt.Sprint(found), historyFile) ||
				!strings.Contains(fmt.Sprint(found), name) {
				t.Errorf("verify: %v, %v", found, err)
			}
			if _, err := s.History(ctx); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("history: %v", err)
			}
		})
	}
}

// TestPermissionIsNoDamage: what may not be read may be sound, and the error says who may read it.
func TestPermissionIsNoDamage(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := New(deniedFile{Dir(dir), championFile})
	generations(t, s, 1)
	_, e1 := s.Champion(ctx)
	_, e2 := s.History(ctx)
	_, e3 := s.RollbackTarget(ctx, "")
	_, e4 := List(ctx, s)
	_, e5 := s.Verify(ctx, nil)
	want := "permission denied on " + filepath.Join(dir, championFile) + ": run as the owner of the store"
	for i, err := range []error{e1, e2, e3, e4, e5} {
		if err == nil || err.Error() != want {
			t.Errorf("call %d: got %v, want %s", i, err, want)
		}
	}
}

// deniedFile is a folder with a file that only its owner may read, also for tests that run as root.
type deniedFile struct {
	Dir
	file string
}

func (d deniedFile) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	if name == d.file {
		at := d.path(name)
		return nil, denied(at, &fs.PathError{Op: "open", Path: at, Err: syscall.EACCES})
	}
	return d.Dir.Read(ctx, name, limit)
}
