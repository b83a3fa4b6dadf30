package topicindex

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// size returns the bytes of all files in a folder.
func size(tb testing.TB, folder string) int64 {
	tb.Helper()
	total := int64(0)
	err := fs.WalkDir(os.DirFS(folder), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return total
}

// BenchmarkBuild makes an index of 10,000 topics in 400 versions and opens it.
func BenchmarkBuild(b *testing.B) {
	versions := many(10_000)
	entering(versions)
	var path string
	for b.Loop() {
		path = filepath.Join(b.TempDir(), "index")
		if err := build(b.Context(), path, versions, textproc.DefaultSettings()); err != nil {
			b.Fatal(err)
		}
		s, err := openSnapshot(path, "")
		if err != nil {
			b.Fatal(err)
		}
		if err := s.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size(b, path))/(1<<20), "MiB")
}

// large returns an index of 10,000 topics in 400 versions.
func large(tb testing.TB) *snapshot {
	tb.Helper()
	versions := many(10_000)
	entering(versions)
	path := filepath.Join(tb.TempDir(), "index")
	if err := build(tb.Context(), path, versions, textproc.DefaultSettings()); err != nil {
		tb.Fatal(err)
	}
	s, err := openSnapshot(path, "")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkSearch searches 10,000 topics for a word that many have, a word that few have, three words, the beginning of
// a word, a word with a typing error, and topics like another.
func BenchmarkSearch(b *testing.B) {
	s := large(b)
	x := New(Config{})
	x.current = s
	close(x.filled)
	first := s.sortedWords(b)
	for name, q := range queries(first) {
		b.Run(name, func(b *testing.B) {
			total := 0
			for b.Loop() {
				r, err := x.Search(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				total = r.Total
			}
			b.ReportMetric(float64(total), "found")
		})
	}
}

// sortedWords returns the words of the index, those that most topics have in front.
func (s *snapshot) sortedWords(tb testing.TB) []string {
	tb.Helper()
	d, err := s.index.FieldDict(fieldWords)
	if err != nil {
		tb.Fatal(err)
	}
	counts := map[string]uint64{}
	for e, err := d.Next(); e != nil; e, err = d.Next() {
		if err != nil {
			tb.Fatal(err)
		}
		counts[e.Term] = e.Count
	}
	if err := d.Close(); err != nil { // or closing the index waits for it
		tb.Fatal(err)
	}
	return slices.SortedFunc(maps.Keys(counts),
		func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}

// queries are the kinds of queries, of the words of an index, the commonest first.
func queries(words []string) map[string]Query {
	n := len(words)
	w := words[n/3]
	return map[string]Query{
		"common": {Text: words[0]}, "rare": {Text: words[n-1]},
		"three":     {Text: words[1] + " " + words[n/4] + " " + words[n/2]},
		"beginning": {Text: w[:4]}, "typing_error": {Text: w[:2] + "q" + w[2:]},
		"like": {Like: &Ref{Model: "model-3", Topic: 2}}, "served": {Text: words[0], Served: true}, "all": {},
	}
}

// BenchmarkRefreshUnderClients makes and swaps an index of 10,000 topics while 50 clients search, each so many times a
// second on average, and reports how long the searches took.
func BenchmarkRefreshUnderClients(b *testing.B) {
	versions := many(10_000)
	entering(versions)
	for name, rate := range map[string]float64{"4_a_second": 4, "20_a_second": 20, "without_pause": 0} {
		b.Run(name, func(b *testing.B) { refreshUnderClients(b, versions, rate) })
	}
}

func refreshUnderClients(b *testing.B, versions []*Version, rate float64) {
	store := models.OpenDir(filepath.Join(b.TempDir(), "models"))
	if err := store.Create(b.Context()); err != nil {
		b.Fatal(err)
	}
	add(b, store, breath)
	// Every Refresh finds another questionnaire, and makes a new index.
	round := 0
	factors := func(context.Context) ([]*Version, error) {
		round++
		again, first := slices.Clone(versions), *versions[0]
		first.Generation = strconv.Itoa(round)
		again[0] = &first
		return again, nil
	}
	x := open(b, Config{Store: store, Folder: filepath.Join(b.TempDir(), "index"), Factors: factors})
	words := x.current.sortedWords(b)
	kinds := queries(slices.DeleteFunc(words, func(w string) bool { return w[0] == '+' || w[0] == '-' }))
	delete(kinds, "all")
	list := slices.Collect(maps.Values(kinds))
	stop := make(chan struct{})
	times := make([][]time.Duration, 50)
	var all sync.WaitGroup
	for i := range times {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		all.Go(func() {
			for {
				wait := time.Duration(0)
				if rate > 0 {
					wait = time.Duration(r.ExpFloat64() / rate * float64(time.Second))
				}
				select {
				case <-stop:
					return
				case <-time.After(wait):
				}
				began := time.Now()
				if _, err := x.Search(b.Context(), list[r.IntN(len(list))]); err != nil {
					b.Error(err)
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	for b.Loop() {
		if err := x.Refresh(b.Context()); err != nil {
			b.Error(err)
		}
	}
	close(stop)
	all.Wait()
	took := slices.Sorted(slices.Values(slices.Concat(times...)))
	for name, q := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999, "longest": 1} {
		b.ReportMetric(took[int(q*float64(len(took)-1))].Seconds()*1e3, name+"-ms")
	}
	b.ReportMetric(float64(len(took)), "searches")
}
