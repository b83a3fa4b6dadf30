package blobstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

func TestDir(t *testing.T) {
	t.Parallel()
	keepsContract(t, func(t *testing.T) models.Bucket { return models.Dir(t.TempDir()) })
}

// keepsContract holds a back end against the contract of models.Bucket, alone and under a models.Store, with writers
// that race and writers that are stopped at any of their steps. open returns a new, empty bucket.
func keepsContract(t *testing.T, open func(t *testing.T) models.Bucket) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, models.Bucket){
		"swap":                    testSwap,
		"folders appear whole":    testAddFolder,
		"lists":                   testLists,
		"limits":                  testLimits,
		"remove":                  testRemove,
		"prune beside a training": testPruneBesideTraining,
		"racing swaps":            testRacingSwaps,
		"racing folders":          testRacingFolders,
		"racing promotions":       testRacingPromotions,
		"history of many writers": testRacingRecords,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			test(t, b)
		})
	}
	for name, test := range map[string]func(*testing.T, func(*testing.T) models.Bucket){
		"stopped writers": testStoppedWriters, "stopped prune": testStoppedPrune,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func testSwap(t *testing.T, b models.Bucket) {
	ctx := t.Context()
	if _, err := b.Read(ctx, "a", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading what is not there: %v", err)
	}
	for i, c := range []struct {
		before, after []byte
		conflict      bool
	}{
		{[]byte("x"), []byte("1"), true},
		{nil, []byte("1"), false},
		{nil, []byte("2"), true},
		{[]byte("2"), []byte("3"), true},
		{[]byte{}, []byte("3"), true},
		{[]byte("1"), []byte{}, false},
		{nil, []byte("2"), true},
		{[]byte{}, []byte("4"), false},
		{[]byte("4"), []byte("4"), false},
	} {
		err := b.Swap(ctx, "folder/a", c.before, c.after)
		if errors.Is(err, models.ErrConflict) != c.conflict || !c.conflict && err != nil {
			t.Errorf("swap %d: %v", i, err)
		}
	}
	if got, err := b.Read(ctx, "folder/a", 10); err != nil || string(got) != "4" {
		t.Errorf("read %q, %v", got, err)
	}
}

func testAddFolder(t *testing.T, b models.Bucket) {
	ctx := t.Context()
	files := map[string][]byte{"last": []byte("1"), "data": []byte("d")}
	for range 2 {
		if err := b.AddFolder(ctx, "m/v", files, "last"); err != nil {
			t.Fatal(err)
		}
	}
	other := map[string][]byte{"last": []byte("2"), "data": []byte("e")}
	if err := b.AddFolder(ctx, "m/v", other, "last"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another folder of that name: %v", err)
	}
	for name, want := range files {
		if got, err := b.Read(ctx, "m/v/"+name, 10); err != nil || string(got) != string(want) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

func testLists(t *testing.T, b models.Bucket) {
	ctx := t.Context()
	for _, folder := range []string{"", "m", "m/v"} {
		files, err := b.Files(ctx, folder)
		folders, err2 := b.Folders(ctx, folder)
		if len(files)+len(folders) > 0 || err != nil || err2 != nil {
			t.Errorf("empty %q: %v %v, %v %v", folder, files, folders, err, err2)
		}
	}
	for _, folder := range []string{"m/v2", "m/v1", "m2/v1"} {
		if err := b.AddFolder(ctx, folder, map[string][]byte{"last": nil, "data": nil}, "last"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Swap(ctx, "m/file", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Swap(ctx, "top", nil, nil); err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{}
	for _, folder := range []string{"", "m", "m/v1", "m2", "none"} {
		files, err := b.Files(ctx, folder)
		folders, err2 := b.Folders(ctx, folder)
		if err != nil || err2 != nil {
			t.Errorf("%q: %v, %v", folder, err, err2)
		}
		lists[folder] = strings.Join(files, " ") + " | " + strings.Join(folders, " ")
	}
	if d := cmp.Diff(map[string]string{
		"":     "m/file m/v1/data m/v1/last m/v2/data m/v2/last m2/v1/data m2/v1/last top | m m2",
		"m":    "m/file m/v1/data m/v1/last m/v2/data m/v2/last | v1 v2",
		"m/v1": "m/v1/data m/v1/last | ",
		"m2":   "m2/v1/data m2/v1/last | v1",
		"none": " | ",
	}, lists); d != "" {
		t.Error(d)
	}
}

func testLimits(t *testing.T, b models.Bucket) {
	// A history that has grown for years is still one write.
	large := []byte(strings.Repeat("line\n", 3<<20))
	if err := b.Swap(t.Context(), "large", nil, large); err != nil {
		t.Fatal(err)
	}
	if err := b.Swap(t.Context(), "large", large, append(large, "more\n"...)); err != nil {
		t.Fatal(err)
	}
	if err := b.Swap(t.Context(), "large", large, nil); !errors.Is(err, models.ErrConflict) {
		t.Errorf("a large file that has changed: %v", err)
	}
	if got, err := b.Read(t.Context(), "large", int64(len(large))+5); err != nil || len(got) != len(large)+5 {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	_, err := b.Read(t.Context(), "large", int64(len(large))+4)
	if err == nil || !strings.Contains(err.Error(), "must be at most") {
		t.Errorf("a file above the limit: %v", err)
	}
}

// testRacingSwaps has writers create and change a file: of those who start from the same content, one wins.
func testRacingSwaps(t *testing.T, b models.Bucket) {
	var before []byte
	for round := range 5 {
		var wins atomic.Int32
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				err := b.Swap(t.Context(), "raced", before, fmt.Appendf(nil, "%d by %d", round, i))
				if err == nil {
					wins.Add(1)
				} else if !errors.Is(err, models.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var err error
		if before, err = b.Read(t.Context(), "raced", 10); err != nil || wins.Load() != 1 {
			t.Fatalf("round %d: %d writers won, %v", round, wins.Load(), err)
		}
	}
}

// testRacingFolders reads while several writers add the same folders.
func testRacingFolders(t *testing.T, b models.Bucket) {
	const writers, folders = 3, 4
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range folders {
				content := fmt.Append(nil, i)
				files := map[string][]byte{"last": content, "a": content, "z": content}
				if err := b.AddFolder(t.Context(), fmt.Sprintf("m/v%d", i), files, "last"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range folders {
			name := fmt.Sprintf("m/v%d/", i)
			for {
				if _, err := b.Read(t.Context(), name+"last", 10); err == nil {
					break
				}
				if t.Context().Err() != nil {
					return
				}
			}
			for _, file := range []string{"a", "z"} {
				if got, err := b.Read(t.Context(), name+file, 10); err != nil || string(got) != fmt.Sprint(i) {
					t.Errorf("%s is there and %s is %q, %v", name+"last", file, got, err)
				}
			}
		}
	})
	wg.Wait()
}

// sound fails the test unless the store verifies and what is served loads, and returns that generation, "" if none is.
func sound(t *testing.T, when string, b models.Bucket) string {
	t.Helper()
	s := models.New(b)
	if damaged, err := s.Verify(t.Context(), nil); err != nil || len(damaged) > 0 {
		t.Fatalf("%s: damaged %v, %v", when, damaged, err)
	}
	g, err := s.Champion(t.Context())
	if errors.Is(err, models.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for model, m := range g.Models {
		if _, err := s.Load(t.Context(), model, m.Version); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
	return g.Name
}

// testRacingPromotions has several writers promote generations of their own from the same one: one wins, and the others
// get a conflict.
func testRacingPromotions(t *testing.T, b models.Bucket) {
	s := models.New(b)
	first := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 0))
	const writers = 4
	var challengers []*models.Generation
	for i := range writers {
		challengers = append(challengers, storetest.Add(t, s, storetest.Bundle(bundle.Other, i+1)))
	}
	var won atomic.Pointer[models.Generation]
	var wins atomic.Int32
	var wg sync.WaitGroup
	for _, g := range challengers {
		wg.Go(func() {
			err := models.New(b).Promote(t.Context(), models.Change{To: g.Name, From: first.Name, By: g.Name})
			switch {
			case err == nil:
				wins.Add(1)
				won.Store(g)
			case !errors.Is(err, models.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := sound(t, "after the race", b); wins.Load() != 1 || got != won.Load().Name {
		t.Fatalf("%d writers won, served is %q", wins.Load(), got)
	}
	events, err := s.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	effective := slices.DeleteFunc(events, func(e models.Event) bool { return e.Abandoned })
	if len(effective) != 2 || effective[1].By != won.Load().Name {
		t.Errorf("changes in effect: %+v", effective)
	}
}

// testRacingRecords has many writers add to the history at once.
func testRacingRecords(t *testing.T, b models.Bucket) {
	s := models.New(b)
	g := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 0))
	const writers, each = 4, 3
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				same := *g // which Refuse names
				if err := models.New(b).Refuse(t.Context(), &same, models.Change{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if events, err := s.History(t.Context()); err != nil || len(events) != 1+writers*each {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// testStoppedWriters stops a training at each write, and then runs it again.
func testStoppedWriters(t *testing.T, open func(t *testing.T) models.Bucket) {
	train := func(s *models.Store) error {
		own := storetest.Bundle("cough", 2)
		g, err := storetest.AddGeneration(t.Context(), s, storetest.Bundle(bundle.Other, 1), own)
		if err != nil {
			return err
		}
		return s.Promote(t.Context(), models.Change{To: g.Name, From: g.Parent, By: "test"})
	}
	for name, prepare := range map[string]func(b models.Bucket) string{
		"a new store": func(models.Bucket) string { return "" },
		"another night": func(b models.Bucket) string {
			return storetest.Serve(t, models.New(b), storetest.Bundle(bundle.Other, 0)).Name
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before string
			stops := storetest.Stop(t, func() models.Bucket {
				b := open(t)
				before = prepare(b)
				return b
			}, train, func(when string, left models.Bucket) {
				s := models.New(left)
				if sound(t, when, left) == before {
					if err := train(s); err != nil {
						t.Fatalf("%s: run again: %v", when, err)
					}
				}
				if got := sound(t, when+", run again", left); got == before {
					t.Errorf("%s: served %q in the end", when, got)
				}
				if g, err := s.Before(t.Context()); before != "" && (err != nil || g != before) {
					t.Errorf("%s: before it was %q, %v", when, g, err)
				}
			})
			if stops < 10 { // two versions, the generation, the record and the champion
				t.Errorf("stopped %d times only", stops)
			}
		})
	}
	t.Run("a rollback", func(t *testing.T) {
		t.Parallel()
		var first, second *models.Generation
		roll := func(s *models.Store) error {
			return s.Rollback(t.Context(), models.Change{To: first.Name, From: second.Name, By: "ops"})
		}
		storetest.Stop(t, func() models.Bucket {
			b := open(t)
			first = storetest.Serve(t, models.New(b), storetest.Bundle(bundle.Other, 0))
			second = storetest.Serve(t, models.New(b), storetest.Bundle(bundle.Other, 1))
			return b
		}, roll, func(when string, left models.Bucket) {
			if got := sound(t, when, left); got != first.Name && got != second.Name {
				t.Errorf("%s: served %q", when, got)
			}
			if err := roll(models.New(left)); err != nil {
				t.Errorf("%s: again: %v", when, err)
			}
			if got := sound(t, when, left); got != first.Name {
				t.Errorf("%s: served %q in the end", when, got)
			}
		})
	})
}

func testRemove(t *testing.T, b models.Bucket) {
	ctx := t.Context()
	for _, folder := range []string{"m/v1", "m/v2"} {
		if err := b.AddFolder(ctx, folder, map[string][]byte{"last": nil, "data": nil}, "last"); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct{ name, files, folders string }{
		{"m/v1/none", "m/v1/data m/v1/last m/v2/data m/v2/last", "v1 v2"},
		{"m/v1/last", "m/v1/data m/v2/data m/v2/last", "v1 v2"},
		{"m/v1/last", "m/v1/data m/v2/data m/v2/last", "v1 v2"},
		{"m/v1/data", "m/v2/data m/v2/last", "v2"},
		{"m/v2/data", "m/v2/last", "v2"},
		{"m/v2/last", "", ""},
		{"none/v/last", "", ""},
	} {
		if err := b.Remove(ctx, c.name); err != nil {
			t.Fatal(err)
		}
		files, err := b.Files(ctx, "")
		folders, err2 := b.Folders(ctx, "m")
		if strings.Join(files, " ") != c.files || strings.Join(folders, " ") != c.folders || err != nil || err2 != nil {
			t.Errorf("after %d, files %v, %v, folders %v, %v", i, files, err, folders, err2)
		}
	}
	if err := b.AddFolder(ctx, "m/v1", map[string][]byte{"last": []byte("2")}, "last"); err != nil {
		t.Errorf("adding what was removed: %v", err)
	}
}

// nights serves so many generations one after the other, each with a version of its own, and returns them.
func nights(t *testing.T, s *models.Store, first time.Time, n int) (all []*models.Generation) {
	t.Helper()
	for i := range n {
		b := storetest.Bundle(bundle.Other, i)
		b.Manifest.CreatedAt = first.Add(time.Duration(i) * time.Second)
		all = append(all, storetest.Serve(t, s, b))
	}
	return all
}

// now, as Keep.Since, keeps nothing for its age.
func now() time.Time { return time.Now().Add(time.Minute) }

// testStoppedPrune stops a prune at each write, and then runs it again.
func testStoppedPrune(t *testing.T, open func(t *testing.T) models.Bucket) {
	prune := func(s *models.Store) error {
		_, err := s.Prune(t.Context(), models.Keep{Newest: 1, Since: now()})
		return err
	}
	var all []*models.Generation
	stops := storetest.Stop(t, func() models.Bucket {
		b := open(t)
		all = nights(t, models.New(b), time.Now().Add(-90*24*time.Hour), 3)
		return b
	}, prune, func(when string, left models.Bucket) {
		if got := sound(t, when, left); got != all[2].Name {
			t.Errorf("%s: served %q", when, got)
		}
		s := models.New(left)
		if err := prune(s); err != nil {
			t.Fatalf("%s: run again: %v", when, err)
		}
		versions, err := s.Versions(t.Context(), bundle.Other)
		if names, err2 := s.Generations(t.Context()); len(versions) != 2 || len(names) != 2 || err != nil || err2 != nil {
			t.Errorf("%s, run again: versions %v, %v, generations %v, %v", when, versions, err, names, err2)
		}
		if files, err := left.Files(t.Context(), bundle.Other); len(files)%2 != 0 || err != nil {
			t.Errorf("%s, run again: %v, %v are left", when, files, err)
		}
		if got := sound(t, when+", run again", left); got != all[2].Name {
			t.Errorf("%s, run again: served %q", when, got)
		}
	})
	if stops < 10 {
		t.Errorf("stopped %d times only", stops)
	}
}

// testPruneBesideTraining prunes again and again while another process serves new generations, each of which takes over
// a model of the one before.
func testPruneBesideTraining(t *testing.T, b models.Bucket) {
	own := storetest.Bundle("cough", 0)
	storetest.Serve(t, models.New(b), own)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		nights(t, models.New(b), time.Now(), 8)
	})
	wg.Go(func() {
		s := models.New(b)
		for {
			select {
			case <-done:
				return
			default:
				if _, err := s.Prune(t.Context(), models.Keep{Newest: 1, Since: now()}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	if got := sound(t, "after the race", b); got == "" {
		t.Error("nothing is served")
	}
	if _, err := models.New(b).Load(t.Context(), "cough", own.Version); err != nil {
		t.Error(err)
	}
}
