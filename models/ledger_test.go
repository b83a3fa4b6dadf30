package models

import (
	"bytes"
	"cmp"
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

	"github.com/wardcast/wardcast/models/signing"
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
		s = OpenDir(dir) // which has read no history yet
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

// TestSwapDeniesNoRollback: a rollback that was served stays so in the history after a champion that another hand
// swapped back was mended.
func TestSwapDeniesNoRollback(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	for i, from := range []string{"", g[0]} {
		if err := s.Promote(ctx, Change{To: g[i], From: from}); err != nil {
			t.Fatal(err)
		}
	}
	swapped := read(t, filepath.Join(dir, championFile))
	if err := s.Rollback(ctx, Change{From: g[1], Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, championFile), swapped)
	if err := s.Promote(ctx, Change{To: g[0], From: g[1], Why: "swapped by hand", Mend: true}); err != nil {
		t.Fatal(err)
	}
	events, err := s.History(ctx)
	if err != nil || len(events) != 4 || events[2].Abandoned || events[3].Abandoned {
		t.Errorf("%+v, %v", events, err)
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
	var h signing.Head
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

// TestAnotherHandIsNotSigned: what somebody without a key writes while a change with the key is under way is not
// signed, and those who trust the key do not take it.
func TestAnotherHandIsNotSigned(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	// rewritten is a history that agrees with itself, from another start on.
	rewritten := func(t *testing.T, dir string) {
		whole := read(t, filepath.Join(dir, historyFile))
		var text, before []byte
		for line := range bytes.Lines(whole) {
			var e Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			e.By, e.Previous = "nobody", digest(before)
			before, _ = json.Marshal(e)
			text = append(append(text, before...), '\n')
		}
		write(t, filepath.Join(dir, historyFile), text)
	}
	write := func(t *testing.T, dir string, files held, names ...string) {
		for _, name := range names {
			write(t, filepath.Join(dir, name), []byte(files[name]))
		}
	}
	for name, c := range map[string]struct {
		promote bool
		file    string // at the writing of which it happens
		before  func(t *testing.T, dir string, first, last held)
		after   func(t *testing.T, dir string, first, last held)
		stays   bool // what was served before
	}{
		"a history, before the line": {file: historyFile, before: func(t *testing.T, dir string, _, _ held) {
			rewritten(t, dir)
		}},
		"a damaged history, before the line": {file: historyFile, before: func(t *testing.T, dir string, _, last held) {
			write(t, dir, held{historyFile: "{}\n" + last[historyFile]}, historyFile)
		}},
		"the store of another day": {file: historyFile, before: func(t *testing.T, dir string, first, _ held) {
			write(t, dir, first, historyFile, championFile, headFile)
		}},
		"a history, after the line": {file: historyFile, after: func(t *testing.T, dir string, _, _ held) {
			rewritten(t, dir)
		}},
		"a history without the line": {file: historyFile, after: func(t *testing.T, dir string, _, last held) {
			write(t, dir, last, historyFile)
		}, stays: true},
		"a champion": {file: historyFile, after: func(t *testing.T, dir string, first, _ held) {
			write(t, dir, first, championFile)
		}},
		"the champion before": {promote: true, file: championFile, after: func(t *testing.T, dir string, _, last held) {
			write(t, dir, last, championFile)
		}, stays: true},
		"the store before": {promote: true, file: championFile, after: func(t *testing.T, dir string, _, last held) {
			write(t, dir, last, historyFile, championFile, headFile)
		}, stays: true},
		"an older champion": {promote: true, file: championFile, after: func(t *testing.T, dir string, first, _ held) {
			write(t, dir, first, championFile)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, keys := signed(t)
			s := OpenDir(dir).With(keys)
			first := filesOf(t, dir)
			served, err := s.Champion(ctx)
			if err != nil {
				t.Fatal(err)
			}
			third := &Generation{CreatedAt: served.CreatedAt.Add(time.Second), Models: served.Models}
			if err := s.AddGeneration(ctx, third); err != nil {
				t.Fatal(err)
			}
			if err := s.Promote(ctx, Change{To: third.Name, From: served.Name}); err != nil {
				t.Fatal(err)
			}
			last := filesOf(t, dir)
			fourth := &Generation{CreatedAt: served.CreatedAt.Add(2 * time.Second), Models: served.Models}
			bucket := &interrupted{Bucket: Dir(dir), file: c.file}
			bucket.at = func() {
				if c.before != nil {
					c.before(t, dir, first, last)
				}
				bucket.finish()
				if c.after != nil {
					c.after(t, dir, first, last)
				}
			}
			changing := New(bucket).With(keys)
			if c.promote {
				if err = changing.AddGeneration(ctx, fourth); err == nil {
					err = changing.Promote(ctx, Change{To: fourth.Name, From: third.Name})
				}
			} else {
				err = changing.Refuse(ctx, fourth, Change{From: third.Name})
			}
			if !errors.Is(err, ErrDisagree) {
				t.Errorf("got %v", err)
			}
			if g, err := s.Champion(ctx); err == nil && !(c.stays && g.Name == third.Name) {
				t.Errorf("%s is served", g.Name)
			}
		})
	}
}

// TestHistoryGoesBack: whoever has read a store sees that an earlier one was put in its place, which agrees with itself
// and is signed, until a person has vouched for it.
func TestHistoryGoesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir, keys := signed(t)
	scorer, s := OpenDir(dir).With(keys), OpenDir(dir).With(keys)
	served, err := s.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	earlier := filesOf(t, dir)
	if err := s.Rollback(ctx, Change{From: served.Name}); err != nil {
		t.Fatal(err)
	}
	if err := scorer.Agree(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{historyFile, championFile, headFile} {
		write(t, filepath.Join(dir, name), []byte(earlier[name]))
	}
	if _, err := scorer.Champion(ctx); !errors.Is(err, ErrDisagree) || !strings.Contains(err.Error(), "went back") {
		t.Errorf("got %v", err)
	}
	err = s.Promote(ctx, Change{To: served.Name, From: served.Name, Mend: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scorer.Champion(ctx); err != nil {
		t.Error(err)
	}
}

// interrupted is a bucket that lets something happen before it first writes a file, the history by default.
type interrupted struct {
	Bucket
	file   string
	at     func()
	finish func()
	failed error
}

func (b *interrupted) Swap(ctx context.Context, name string, before, after []byte) error {
	at := b.at
	if name != cmp.Or(b.file, historyFile) || at == nil {
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
