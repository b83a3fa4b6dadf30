package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDisagreementIsRefused: a champion that was put there by hand, or a history that was cut or changed, is named, and
// nothing is promoted until a person names a generation.
func TestDisagreementIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	lines := func(change func(lines []string) []string) func(t *testing.T, dir string, g []string) {
		return func(t *testing.T, dir string, _ []string) {
			path := filepath.Join(dir, historyFile)
			all := strings.SplitAfter(string(read(t, path)), "\n")
			write(t, path, []byte(strings.Join(change(all[:len(all)-1]), "")))
		}
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, dir string, g []string)
		says string
	}{
		"an older champion": {func(t *testing.T, dir string, g []string) {
			write(t, filepath.Join(dir, championFile), []byte(g[0]+"\n"))
		}, "though the history ends with"},
		"an unpromoted champion": {func(t *testing.T, dir string, g []string) {
			write(t, filepath.Join(dir, championFile), []byte(g[3]+"\n"))
		}, "though the history ends with"},
		"end cut":       {lines(func(l []string) []string { return l[:2] }), "1 of 3 lines are missing"},
		"beginning cut": {lines(func(l []string) []string { return l[1:] }), "line 1: does not hold the hash"},
		"middle cut": {
			lines(func(l []string) []string { return append(l[:1:1], l[2]) }),
			"line 2: does not hold the hash",
		},
		"changed": {lines(func(l []string) []string {
			return append([]string{strings.Replace(l[0], `"by":"`, `"by":"x`, 1)}, l[1:]...)
		}), "line 2: does not hold the hash"},
		"last line changed": {lines(func(l []string) []string {
			return append(l[:2:2], strings.Replace(l[2], `"by":"`, `"by":"x`, 1))
		}), "another hash"},
		"line added": {lines(func(l []string) []string {
			return append(l, `{"time":"2026-11-20T02:00:00Z","action":"refused","to":"x"}`+"\n")
		}), "line 4: holds no hash"},
		"head lost": {
			func(t *testing.T, dir string, _ []string) { remove(t, filepath.Join(dir, headFile)) },
			"head.json",
		},
		"head damaged": {func(t *testing.T, dir string, _ []string) {
			write(t, filepath.Join(dir, headFile), []byte("{}"))
		}, "head.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := OpenDir(dir)
			g := generations(t, s, 4)
			served := ""
			for _, to := range g[:3] {
				if err := s.Promote(ctx, Change{To: to, From: served, By: "test"}); err != nil {
					t.Fatal(err)
				}
				served = to
			}
			if err := s.Agree(ctx); err != nil {
				t.Fatal(err)
			}
			c.harm(t, dir, g)
			if err := s.Agree(ctx); !isDamage(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
			found, err := s.Verify(ctx, nil)
			if err != nil || !strings.Contains(fmt.Sprint(found), c.says) {
				t.Errorf("verify: %v, %v", found, err)
			}
			champion, err := s.Champion(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before := read(t, filepath.Join(dir, championFile))
			refused := &Generation{CreatedAt: time.Now(), Models: champion.Models}
			for i, err := range []error{
				s.Promote(ctx, Change{To: g[1], From: champion.Name}),
				s.Rollback(ctx, Change{To: g[1], From: champion.Name}),
				s.Refuse(ctx, refused, Change{From: champion.Name}),
			} {
				if !isDamage(err) {
					t.Errorf("change %d: %v", i, err)
				}
			}
			if !bytes.Equal(before, read(t, filepath.Join(dir, championFile))) {
				t.Error("the champion changed")
			}
			if err := s.Promote(ctx, Change{To: g[1], From: champion.Name, Mend: true}); err != nil {
				t.Fatal(err)
			}
			if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
				t.Errorf("mended: %v, %v", found, err)
			}
			if err := s.Promote(ctx, Change{To: g[2], From: g[1]}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHistoryOfAnOlderProgram: its lines hold no hashes. They are read, and the first new line vouches for them.
func TestHistoryOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 3)
	promoteInTurn(t, s, g[0], g[1])
	path := filepath.Join(dir, historyFile)
	old := func() {
		t.Helper()
		var text []byte
		for line := range bytes.Lines(read(t, path)) {
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			e.Previous, e.Restart = "", false
			line, _ := json.Marshal(e)
			text = append(append(text, line...), '\n')
		}
		write(t, path, text)
		remove(t, filepath.Join(dir, headFile))
	}
	old()
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("old: %v, %v", found, err)
	}
	if err := s.Promote(ctx, Change{To: g[2], From: g[1]}); err != nil {
		t.Fatal(err)
	}
	if got := tookEffect(t, s, g); got != "0 1 2" {
		t.Errorf("%s took effect", got)
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("new: %v, %v", found, err)
	}
	write(t, path, bytes.Replace(read(t, path), []byte(`"promoted"`), []byte(`"refused"`), 1))
	if found, err := s.Verify(ctx, nil); err != nil || !strings.Contains(fmt.Sprint(found), "line 3: does not hold") {
		t.Errorf("an old line changed: %v, %v", found, err)
	}
	// The champion that is put back before any new line was written: as far as the old program recorded it.
	old()
	write(t, filepath.Join(dir, championFile), []byte(g[0]+"\n"))
	if err := s.Agree(ctx); !isDamage(err) {
		t.Errorf("swapped: %v", err)
	}
}

// TestHistoryTooLarge: a change is refused, also if a person vouches for the history, and not tried again and again.
func TestHistoryTooLarge(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	promoteInTurn(t, s, g[0])
	before := read(t, filepath.Join(dir, headFile))
	if err := os.Truncate(filepath.Join(dir, historyFile), historyLimit+1); err != nil {
		t.Fatal(err)
	}
	if err := s.Promote(ctx, Change{To: g[1], From: g[0], Mend: true}); !isDamage(err) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, read(t, filepath.Join(dir, headFile))) {
		t.Error("the change was announced")
	}
}

// TestWritersAtOnce: whoever is faster, the store agrees with itself at the end.
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	promoteInTurn(t, s, g...)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 3 {
				own, to := OpenDir(dir), g[i%2]
				now, err := own.Champion(ctx)
				if err == nil {
					err = own.Promote(ctx, Change{To: to, From: now.Name})
				}
				if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrDisagree) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("verify: %v, %v", found, err)
	}
}

// TestHeadIsSmall: a store of many promotions has a head of one.
func TestHeadIsSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := OpenDir(dir)
	promoteInTurn(t, s, generations(t, s, 3)...)
	settledHead(t, dir)
}

// settledHead reports a head that does not allow one state alone, after three lines.
func settledHead(t *testing.T, dir string) {
	t.Helper()
	var h head
	if err := json.Unmarshal(read(t, filepath.Join(dir, headFile)), &h); err != nil || h.Lines != 3 ||
		len(h.Champion) != 1 || len(h.History) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestAnnouncedByTwo: what two writers announced is both allowed, whichever of them writes it, and at the end one is.
func TestAnnouncedByTwo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	promoteInTurn(t, s, g[0])
	refuse := func(s *Store) {
		refused, err := s.Generation(ctx, g[1])
		if err == nil {
			err = s.Refuse(ctx, refused, Change{})
		}
		if err != nil {
			t.Error(err)
		}
	}
	first := &interrupted{Bucket: Dir(dir)}
	first.at = func() { // the first has announced its line
		second := &interrupted{Bucket: Dir(dir)}
		second.at = func() { // the second too
			first.finish()
			if err := s.Agree(ctx); err != nil {
				t.Errorf("when the first has written: %v", err)
			}
		}
		refuse(New(second))
	}
	refuse(New(first))
	settledHead(t, dir)
	if events, err := s.History(ctx); err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// interrupted is a bucket that lets something happen before it first writes the history.
type interrupted struct {
	Bucket
	at     func()
	finish func()
	failed error
}

func (b *interrupted) Swap(ctx context.Context, name string, before, after []byte) error {
	at := b.at
	if name != historyFile || at == nil {
		return b.Bucket.Swap(ctx, name, before, after)
	}
	b.at = nil
	written := false
	b.finish = func() { b.failed, written = b.Bucket.Swap(ctx, name, before, after), true }
	at()
	if !written {
		b.finish()
	}
	return b.failed
}
