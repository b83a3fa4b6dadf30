package models

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models/signing"
)

// held is a store's files in memory, to read.
type held map[string]string

func (h held) Prepare(context.Context) error                             { return fs.ErrPermission }
func (h held) Swap(context.Context, string, []byte, []byte) error        { return fs.ErrPermission }
func (h held) Folders(context.Context, string) (names []string, _ error) { return nil, nil }
func (h held) AddFolder(context.Context, string, map[string][]byte, string) error {
	return fs.ErrPermission
}

func (h held) Remove(context.Context, string) error { return fs.ErrPermission }

func (h held) Files(_ context.Context, folder string) (names []string, _ error) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	return names, nil
}

func (h held) Read(_ context.Context, name string, limit int64) ([]byte, error) {
	data, ok := h[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if int64(len(data)) > limit {
		return nil, errors.New("too large")
	}
	return []byte(data), nil
}

// signed returns the folder of a store of two signed generations with a fit of beds, and the keys.
func signed(t *testing.T) (dir string, keys signing.Keys) {
	t.Helper()
	dir = t.TempDir()
	key := filepath.Join(t.TempDir(), "key")
	if err := signing.NewKeyFile(key); err != nil {
		t.Fatal(err)
	}
	keys, err := signing.Read(key, []string{key + ".pub"})
	if err != nil {
		t.Fatal(err)
	}
	s := OpenDir(dir).With(keys)
	served := ""
	for i := range 2 {
		b := sample(i)
		save(t, s, b)
		g := &Generation{CreatedAt: b.Manifest.CreatedAt, Models: map[string]Member{"chest-pain": {Version: b.Version}}}
		if g.Beds, err = s.SaveBeds(t.Context(), b.Manifest.CreatedAt, []byte(`{"visits":12}`)); err != nil {
			t.Fatal(err)
		}
		if err := s.AddGeneration(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		if err := s.Promote(t.Context(), Change{To: g.Name, From: served}); err != nil {
			t.Fatal(err)
		}
		served = g.Name
	}
	return dir, keys
}

// filesOf returns those of a folder.
func filesOf(t *testing.T, dir string) held {
	t.Helper()
	files := held{}
	names, err := Dir(dir).Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		files[name] = string(read(t, filepath.Join(dir, name)))
	}
	return files
}

// served is what a scorer reads of a store.
type served struct {
	Generation string
	Bundles    map[string]*bundle.Bundle
	Beds       string
}

func serves(ctx context.Context, s *Store) (*served, error) {
	g, err := s.Champion(ctx)
	if err != nil {
		return nil, err
	}
	all := &served{Generation: g.Name, Bundles: map[string]*bundle.Bundle{}}
	for name, m := range g.Models {
		if all.Bundles[name], err = s.Load(ctx, name, m.Version); err != nil {
			return nil, err
		}
	}
	version, err := s.BedsOf(ctx, g)
	if err != nil {
		return nil, err
	}
	fit, err := s.LoadBeds(ctx, version)
	all.Beds = version + string(fit)
	return all, err
}

// consistent makes a store agree with a file of a version or of a fit of beds that was changed, as somebody would who
// can write to it: the manifest, the names, the generations, the history and the head.
func (h held) consistent(file, before string) {
	rename := func(was, is string) {
		for name, data := range h {
			delete(h, name)
			h[strings.ReplaceAll(name, was, is)] = strings.ReplaceAll(data, was, is)
		}
	}
	folder := path.Dir(file)
	manifest := path.Join(folder, bundle.ManifestFile)
	if file != manifest {
		h[manifest] = strings.ReplaceAll(h[manifest], digest([]byte(before)), digest([]byte(h[file])))
	}
	version := path.Base(folder)
	rename(version, version[:len(version)-6]+digest([]byte(h[manifest]))[:6])
	for name := range maps.Clone(h) {
		if g, ok := strings.CutSuffix(path.Base(name), ".json"); ok && path.Dir(name) == generationsFolder {
			rename(g, g[:len(g)-6]+digest([]byte(h[name]))[:6])
		}
	}
}

// TestSignedHistoryStaysSigned: whoever forgets the key changes nothing, since those who trust keys would refuse it. A
// site that gives up signing removes the head, and names a generation.
func TestSignedHistoryStaysSigned(t *testing.T) {
	t.Parallel()
	dir, keys := signed(t)
	ctx, plain, trusting := t.Context(), OpenDir(dir), OpenDir(dir).With(signing.Keys{Trust: keys.Trust})
	g, err := plain.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before, err := plain.Before(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if err := plain.Rollback(ctx, Change{From: g.Name, DryRun: dry}); !errors.Is(err, ErrNoKey) {
			t.Errorf("a rollback without the key: %v", err)
		}
	}
	b := sample(2)
	save(t, plain, b)
	refused := &Generation{CreatedAt: b.Manifest.CreatedAt, Models: map[string]Member{"chest-pain": {Version: b.Version}}}
	if err := plain.Refuse(ctx, refused, Change{From: g.Name}); !errors.Is(err, ErrNoKey) {
		t.Errorf("a refusal without the key: %v", err)
	}
	if now, err := trusting.Champion(ctx); err != nil || now.Name != g.Name {
		t.Errorf("those who trust keys read %v, %v", now, err)
	}
	if err := os.Remove(filepath.Join(dir, headFile)); err != nil {
		t.Fatal(err)
	}
	if err := plain.Promote(ctx, Change{To: before, From: g.Name, Mend: true}); err != nil {
		t.Errorf("giving up signing: %v", err)
	}
}

// mutate changes a file as somebody might who can write to a store: another byte, another digit, the end cut off, or a
// file of the same kind in its place.
func (h held) mutate(r *rand.Rand, name string) {
	data := []byte(h[name])
	at, others := r.IntN(len(data)), slices.DeleteFunc(slices.Sorted(maps.Keys(h)), func(other string) bool {
		return other == name || path.Ext(other) != path.Ext(name) || strings.Count(other, "/") != strings.Count(name, "/")
	})
	digit := bytes.IndexAny(data[at:], "0123456789")
	switch way := r.IntN(4); {
	case way == 0 && digit >= 0:
		data[at+digit] = '0' + (data[at+digit]-'0'+byte(1+r.IntN(9)))%10
	case way == 1:
		data = data[:at]
	case way == 2 && len(others) > 0:
		data = []byte(h[others[r.IntN(len(others))]])
	default:
		data[at] ^= byte(1 + r.IntN(255))
	}
	h[name] = string(data)
}

// TestMutations changes every kind of file of a store, half of those of versions and fits with checksums made
// consistent, and holds that each mutation is refused by name, told by name, or changes nothing of what is served. What a
// signed store serves never changes; that of one without keys does not unless that is told. WARDCAST_LONG=1 makes 5,000
// for each.
func TestMutations(t *testing.T) {
	t.Parallel()
	dir, keys := signed(t)
	files := filesOf(t, dir)
	for what, keys := range map[string]signing.Keys{"signed": keys, "without keys": {}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			mutations(t, files, keys)
		})
	}
}

func mutations(t *testing.T, files held, keys signing.Keys) {
	ctx := t.Context()
	want, err := serves(ctx, New(files).With(keys))
	if err != nil {
		t.Fatal(err)
	}
	count := 100
	if os.Getenv("WARDCAST_LONG") != "" {
		count = 5000
	}
	names := slices.Sorted(maps.Keys(files))
	var refused, told, same atomic.Int64
	turns := make(chan int)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range turns {
				r := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // no secret
				name := names[i%len(names)]
				mutated := maps.Clone(files)
				mutated.mutate(r, name)
				if strings.Count(name, "/") == 2 && r.IntN(2) == 0 {
					mutated.consistent(name, files[name])
				}
				s := New(mutated).With(keys)
				got, err := serves(ctx, s)
				disagrees := s.Agree(ctx)
				_, named := errors.AsType[*FileError](cmp.Or(err, disagrees))
				changed := err == nil && !gocmp.Equal(got, want)
				switch {
				case err != nil && named:
					refused.Add(1)
				case err == nil && disagrees != nil && named && !(changed && len(keys.Trust) > 0):
					told.Add(1)
				case err == nil && disagrees == nil && !changed:
					same.Add(1)
				default:
					t.Errorf("mutation %d of %s: %v, %v, changed %t", i, name, err, disagrees, changed)
				}
			}
		})
	}
	for i := range count {
		turns <- i
	}
	close(turns)
	workers.Wait()
	t.Logf("%d mutations of %d files: %d refused, %d told, both by name, %d change nothing of what is served", count,
		len(names), refused.Load(), told.Load(), same.Load())
}

// TestFitOfTheFutureIsRefused: neither added to a generation nor loaded.
func TestFitOfTheFutureIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _, _ := stored(t)
	champion, err := s.Champion(ctx)
	if err != nil {
		t.Fatal(err)
	}
	version, err := s.SaveBeds(ctx, time.Now().AddDate(1, 0, 0), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	g := &Generation{CreatedAt: champion.CreatedAt.Add(time.Second), Models: champion.Models, Beds: version}
	_, loaded := s.LoadBeds(ctx, version)
	for i, err := range []error{loaded, s.AddGeneration(ctx, g)} {
		if !isDamage(err) || !strings.Contains(err.Error(), "future") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestKeyTrustsItself: whoever changes the store with a key serves nothing that it has not signed, and never signs anew
// what was changed after it signed that. What is older than signing is signed by name.
func TestKeyTrustsItself(t *testing.T) {
	t.Parallel()
	ctx, dir, key := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "key")
	if err := signing.NewKeyFile(key); err != nil {
		t.Fatal(err)
	}
	keys, err := signing.Read(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, s := OpenDir(dir), OpenDir(dir).With(keys)
	by := func(keys signing.Keys) *Store { return OpenDir(dir).With(signing.Keys{Sign: keys.Sign}) }
	g := generations(t, plain, 3)
	promoteInTurn(t, plain, g[0])
	for _, mend := range []bool{false, true} {
		if err := s.Promote(ctx, Change{To: g[1], From: g[0], Mend: mend}); !errors.Is(err, signing.ErrUntrusted) {
			t.Errorf("an unsigned generation, mending %t: %v", mend, err)
		}
	}
	for _, name := range []string{"", g[1]} {
		if _, err := by(keys).Sign(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Promote(ctx, Change{To: g[1], From: g[0]}); err != nil {
		t.Fatal(err)
	}
	// The signature of one generation beside another, as after a change of all that it names.
	signature := filepath.Join(dir, signatureFile(g[2]))
	forged := read(t, filepath.Join(dir, signatureFile(g[1])))
	write(t, signature, forged)
	_, signed := by(keys).Sign(ctx, g[2])
	for i, err := range []error{signed, s.Promote(ctx, Change{To: g[2], From: g[1], Mend: true})} {
		if !errors.Is(err, signing.ErrUntrusted) || !strings.Contains(err.Error(), g[2]) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if !bytes.Equal(forged, read(t, signature)) {
		t.Error("it was signed")
	}
	// Another key, for what the first has signed.
	next := filepath.Join(t.TempDir(), "next")
	if err := signing.NewKeyFile(next); err != nil {
		t.Fatal(err)
	}
	both, err := signing.Read(next, []string{key + ".pub"})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{g[1], g[0], g[2]} {
		if _, err := OpenDir(dir).With(both).Sign(ctx, name); errors.Is(err, signing.ErrUntrusted) != (i == 2) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if by, err := signing.Read(next, nil); err != nil {
		t.Error(err)
	} else if err := OpenDir(dir).With(by).Rollback(ctx, Change{From: g[1]}); err != nil {
		t.Error(err)
	}
	// And the history.
	head := read(t, filepath.Join(dir, headFile))
	write(t, filepath.Join(dir, headFile), bytes.Replace(head, []byte(`"lines": 3`), []byte(`"lines": 4`), 1))
	if _, err := by(both).Sign(ctx, ""); !errors.Is(err, signing.ErrUntrusted) || !isDamage(err) {
		t.Errorf("a changed history: %v", err)
	}
	if _, err := OpenDir(dir).With(both).Sign(ctx, ""); !errors.Is(err, signing.ErrUntrusted) || !isDamage(err) {
		t.Errorf("a changed history, with trusted keys: %v", err)
	}
}

// TestSignsWhatItSaved: what lies there when a generation is signed must be what was written.
func TestSignsWhatItSaved(t *testing.T) {
	t.Parallel()
	s := OpenDir(t.TempDir())
	version := save(t, s, sample(1))
	fit, err := s.SaveBeds(t.Context(), time.Now(), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{path.Join("chest-pain", version), path.Join(bedsFolder, fit)} {
		if err := s.heldTo(path.Join(folder, bundle.ManifestFile), digest([]byte("another"))); err == nil {
			t.Errorf("%s may be exchanged", folder)
		}
	}
	if _, err := s.Load(t.Context(), "chest-pain", version); err != nil {
		t.Error(err)
	}
	if _, err := s.LoadBeds(t.Context(), fit); err != nil {
		t.Error(err)
	}
}

// flipping is a bucket whose champion file somebody changes again and again.
type flipping struct {
	held
	reads int
	names []string
}

func (f *flipping) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	if name == championFile {
		f.reads++
		return []byte(f.names[f.reads%len(f.names)] + "\n"), nil
	}
	return f.held.Read(ctx, name, limit)
}

// TestChampionIsReadOnce: what is served is what was held against the history.
func TestChampionIsReadOnce(t *testing.T) {
	t.Parallel()
	dir, keys := signed(t)
	files := filesOf(t, dir)
	g, err := OpenDir(dir).Generations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for reads := range 4 {
		s := New(&flipping{held: files, reads: reads, names: []string{g[0], g[1], g[1], g[0], g[1]}}).With(keys)
		if served, err := s.Champion(t.Context()); err == nil && served.Name != g[1] {
			t.Errorf("%d: %s is served", reads, served.Name)
		}
	}
}
