package models

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// generations adds so many generations of one model, none of which is served.
func generations(t *testing.T, s *Store, n int) []string {
	t.Helper()
	var names []string
	for i := range n {
		b := sample(i)
		save(t, s, b)
		g := &Generation{CreatedAt: b.Manifest.CreatedAt, Models: map[string]Member{"chest-pain": {Version: b.Version}}}
		if err := s.AddGeneration(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		names = append(names, g.Name)
	}
	return names
}

// TestRollbackGoesBackOneMore: what was rolled back is not served again by a second rollback.
func TestRollbackGoesBackOneMore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	g := generations(t, s, 4)
	served := ""
	for i, step := range []struct {
		to, want string // "" is a rollback
	}{
		{g[0], g[0]}, {g[1], g[1]}, {g[2], g[2]}, {"", g[1]}, {"", g[0]}, {g[3], g[3]}, {"", g[0]}, {g[1], g[1]}, {
			g[1], g[1],
		}, {"", g[0]},
	} {
		var err error
		if c := (Change{To: step.to, From: served, Why: "try"}); step.to == "" {
			err = s.Rollback(ctx, c)
		} else {
			err = s.Promote(ctx, c)
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		champion, err := s.Champion(ctx)
		if err != nil || champion.Name != step.want {
			t.Fatalf("step %d: served %v, %v, want %s", i, champion, err, step.want)
		}
		served = champion.Name
	}
	if err := s.Rollback(ctx, Change{From: served}); !errors.Is(err, ErrNotFound) {
		t.Errorf("nothing to go back to: %v", err)
	}
	events, err := s.History(ctx)
	if err != nil || len(events) != 9 {
		t.Errorf("%d events, %v, want one for each step but that which changed nothing", len(events), err)
	}
}

// repeating is a bucket whose client sends each write again, since the first answer was lost.
type repeating struct{ Bucket }

func (r repeating) Swap(ctx context.Context, name string, before, after []byte) error {
	return errors.Join(r.Bucket.Swap(ctx, name, before, after), r.Bucket.Swap(ctx, name, before, after))
}

func TestRepeatedWriteIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := New(repeating{Dir(t.TempDir())})
	g := generations(t, s, 2)
	promoteInTurn(t, s, g...)
	if events, err := s.History(t.Context()); err != nil || len(events) != 2 {
		t.Errorf("%d events, %v, want one for each promotion", len(events), err)
	}
}

func TestConflictNamesTheWinner(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	g := generations(t, s, 3)
	if err := s.Promote(ctx, Change{To: g[1], From: g[0]}); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "no generation is served") {
		t.Errorf("nothing is served: %v", err)
	}
	if err := s.Promote(ctx, Change{To: g[0], By: "night shift"}); err != nil {
		t.Fatal(err)
	}
	err := s.Promote(ctx, Change{To: g[2], From: g[1], By: "day shift"})
	if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), g[0]) ||
		!strings.Contains(err.Error(), `by "night shift"`) {
		t.Errorf("got %v", err)
	}
	if events, err := s.History(ctx); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v: what is refused at once needs no record", len(events), err)
	}
}

// TestPromoteMendsTheChampion: a file that names no generation is replaced.
func TestPromoteMendsTheChampion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, dir, _ := stored(t)
	before, err := s.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, championFile), []byte("nonsense"))
	if events, err := s.History(ctx); err != nil || len(events) != 1 || events[0].Abandoned {
		t.Errorf("history of a damaged champion: %v, %v", events, err)
	}
	if err := s.Promote(ctx, Change{To: before.Name}); !errors.Is(err, ErrDisagree) {
		t.Errorf("nobody asked to mend it: %v", err)
	}
	if err := s.Promote(ctx, Change{To: before.Name, Mend: true}); err != nil {
		t.Fatal(err)
	}
	if g, err := s.Champion(ctx); err != nil || g.Name != before.Name {
		t.Errorf("champion %v, %v", g, err)
	}
	// A champion file that names a generation without its file gives the name, to promote from.
	const gone = "2026-11-20T02-00-00Z-000000"
	write(t, filepath.Join(dir, championFile), []byte(gone+"\n"))
	g, err := s.Champion(ctx)
	if err == nil || g == nil || g.Name != gone || !strings.Contains(err.Error(), "generations/"+gone+".json") ||
		!strings.Contains(err.Error(), `file "champion"`) {
		t.Fatalf("champion %v, %v", g, err)
	}
	if err := s.Promote(ctx, Change{To: before.Name, From: gone, Mend: true}); err != nil {
		t.Error(err)
	}
}

// deaf is a folder that writes no more once a file was to be written.
type deaf struct {
	Dir
	file string
}

func (d deaf) Swap(ctx context.Context, name string, before, after []byte) error {
	if d.file == "" || name == d.file {
		return errors.New("stopped")
	}
	return d.Dir.Swap(ctx, name, before, after)
}

// TestFirstPromotionStopped leaves a record without a champion.
func TestFirstPromotionStopped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s := New(deaf{Dir(dir), championFile})
	g := generations(t, s, 1)
	if err := s.Promote(ctx, Change{To: g[0]}); err == nil {
		t.Fatal("the champion file was written")
	}
	s = OpenDir(dir)
	_, err := s.Champion(ctx)
	if !isAbsent(err) || !strings.Contains(err.Error(), "was to be promoted; promote it again") {
		t.Errorf("got %v", err)
	}
	if events, err := s.History(ctx); err != nil || len(events) != 1 || !events[0].Abandoned {
		t.Errorf("history %v, %v", events, err)
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("verify found %v, %v", found, err)
	}
	if _, err := s.ServedAt(ctx, time.Now()); !errors.Is(err, ErrNotFound) {
		t.Errorf("served: %v", err)
	}
}

// promoteInTurn promotes generations of a store that serves none.
func promoteInTurn(t *testing.T, s *Store, names ...string) {
	t.Helper()
	served := ""
	for _, name := range names {
		if err := s.Promote(t.Context(), Change{To: name, From: served}); err != nil {
			t.Fatal(err)
		}
		served = name
	}
}

func TestLostChampion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	promoteInTurn(t, s, g[0], g[1])
	remove(t, filepath.Join(dir, championFile))
	want := fmt.Sprintf(`file "champion": not found, though the history ends with generation %q: promote one by its name, `+
		`with --mend, to repair it`, g[1])
	if _, err := s.Champion(ctx); err == nil || err.Error() != want {
		t.Errorf("champion: %v", err)
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) != 1 || found[0].Error() != want {
		t.Errorf("verified: %v, %v", found, err)
	}
	if list, err := List(ctx, s); err == nil || !strings.Contains(err.Error(), want) || len(list) != 2 ||
		list[1].Status != SupersededStatus {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if err := s.Promote(ctx, Change{To: g[1], Mend: true}); err != nil {
		t.Error(err)
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) > 0 {
		t.Errorf("promoted again: %v, %v", found, err)
	}
}

func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	if err := s.Promote(ctx, Change{To: g[0], Why: "first"}); err != nil {
		t.Fatal(err)
	}
	// A line that was cut off is named, and never destroys later ones.
	path := filepath.Join(dir, historyFile)
	write(t, path, append(read(t, path), `{"time":"2026-`...))
	if found, err := s.Verify(ctx, nil); err != nil || len(found) != 1 ||
		!strings.Contains(found[0].Error(), "line 2: cut off") {
		t.Errorf("verify found %v, %v", found, err)
	}
	if err := s.Promote(ctx, Change{To: g[1], From: g[0], Why: "second", Mend: true}); err != nil {
		t.Fatal(err)
	}
	whys := func() (whys string) {
		events, _ := s.History(ctx)
		for _, e := range events {
			whys += e.Why + " "
		}
		return whys
	}
	if got := whys(); got != "first second " {
		t.Errorf("history %q", got)
	}
	// A line that somebody spoiled is named; the others are read, and the store can still be changed.
	write(t, path, append([]byte("x\n"), read(t, path)...))
	if found, err := s.Verify(ctx, nil); err != nil || len(found) == 0 || found[0].File != historyFile ||
		!strings.Contains(found[0].Error(), "line 1") {
		t.Errorf("verify found %v, %v", found, err)
	}
	if _, err := s.ServedAt(ctx, time.Now()); err == nil {
		t.Error("a damaged history says what was served")
	}
	if err := s.Rollback(ctx, Change{From: g[1], Why: "third", Mend: true}); err != nil {
		t.Fatal(err)
	}
	if got := whys(); got != "first second third " {
		t.Errorf("history %q", got)
	}
}

// TestHostileGenerations stand under names that agree with their hash.
func TestHostileGenerations(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"other time":      {`"created_at": "2026-11-20T02:00:00`, `"created_at": "2026-11-20T02:00:01`},
		"later format":    {`"format": "1.1"`, `"format": "2"`},
		"path":            {`"chest-pain"`, `"../chest-pain"`},
		"version":         {`"version": "2026`, `"version": "../2026`},
		"no JSON":         {`}`, `]`},
		"no models":       {`"models": {`, `"models": {}, "x": {`},
		"parent":          {`"format": "1.1"`, `"format": "1.1", "parent": "../x"`},
		"pooled and own":  {`"format": "1.1"`, `"format": "1.1", "pooled": {"chest-pain": {}}`},
		"pooled elsewhre": {`"format": "1.1"`, `"format": "1.1", "pooled": {"..": {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir, _ := stored(t)
			g, err := s.Champion(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before := string(read(t, filepath.Join(dir, generationFile(g.Name))))
			text := strings.Replace(before, change[0], change[1], 1)
			if text == before {
				t.Fatal("nothing changed")
			}
			forged := bundle.VersionName(g.CreatedAt, bundle.FileOf([]byte(text)).SHA256)
			write(t, filepath.Join(dir, generationFile(forged)), []byte(text))
			if _, err := s.Generation(t.Context(), forged); !errors.Is(err, bundle.ErrManifest) ||
				!strings.Contains(err.Error(), forged+".json") {
				t.Errorf("got %v", err)
			}
			if err := s.Promote(t.Context(), Change{To: forged, From: g.Name}); err == nil {
				t.Error("promoted")
			}
		})
	}
}

// TestLaterMinorFormat: fields that this version does not know are no damage.
func TestLaterMinorFormat(t *testing.T) {
	t.Parallel()
	s, dir, _ := stored(t)
	g, err := s.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(read(t, filepath.Join(dir, generationFile(g.Name)))), `"format": "1.1"`,
		`"format": "1.9", "future": [1]`, 1)
	later := bundle.VersionName(g.CreatedAt, bundle.FileOf([]byte(text)).SHA256)
	write(t, filepath.Join(dir, generationFile(later)), []byte(text))
	got, err := s.Generation(t.Context(), later)
	if err != nil || !cmp.Equal(got.Models, g.Models) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestChallenger: what was never served and is not older than the champion.
func TestChallenger(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	if _, err := s.Challenger(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("an empty store: %v", err)
	}
	g := generations(t, s, 4)
	served := ""
	for i, step := range []struct {
		to, want string
	}{
		{g[1], g[3]}, // g[0] is older, g[3] the newest
		{g[3], ""},   // the newest is served
		{g[1], g[2]}, // g[3] was served
		{g[2], ""},
		{g[0], ""},
	} {
		if err := s.Promote(ctx, Change{To: step.to, From: served}); err != nil {
			t.Fatal(err)
		}
		served = step.to
		got, err := s.Challenger(ctx)
		if step.want == "" {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("step %d: got %v, %v, want none", i, got, err)
			}
		} else if err != nil || got.Name != step.want {
			t.Errorf("step %d: got %v, %v, want %s", i, got, err, step.want)
		}
	}
}

// TestRollbackGoesToWhatWasServed, whether it was refused or nobody judged it.
func TestRollbackGoesToWhatWasServed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := OpenDir(t.TempDir())
	g := generations(t, s, 3)
	if err := s.Promote(ctx, Change{To: g[0]}); err != nil {
		t.Fatal(err)
	}
	refused, err := s.Generation(ctx, g[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refuse(ctx, refused, Change{From: g[0], Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	for _, never := range g[1:] {
		if err := s.Rollback(ctx, Change{To: never, From: g[0]}); !errors.Is(err, ErrNeverServed) ||
			!strings.Contains(err.Error(), never) {
			t.Errorf("got %v", err)
		}
	}
	if champion, err := s.Champion(ctx); err != nil || champion.Name != g[0] {
		t.Errorf("served %v, %v", champion, err)
	}
}

// TestLostFirstChampion: a refusal shows that a generation was served.
func TestLostFirstChampion(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	s := OpenDir(dir)
	g := generations(t, s, 2)
	if err := s.Promote(ctx, Change{To: g[0]}); err != nil {
		t.Fatal(err)
	}
	refused, err := s.Generation(ctx, g[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Refuse(ctx, refused, Change{From: g[0], Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, championFile))
	if _, err := s.Champion(ctx); err == nil || isAbsent(err) {
		t.Errorf("champion: %v", err)
	}
	if events, err := s.History(ctx); err != nil || len(events) != 2 || events[0].Abandoned {
		t.Errorf("history %v, %v", events, err)
	}
}
