package topicindex

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

// BenchmarkSearch searches 10,000 topics for a word that many have, a word that few have, three words, the beginning of a word, a word
// with a typing error, and topics like another.
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
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
}

// queries are the kinds of queries, of the words of an index, the commonest first.
func queries(words []string) map[string]Query {
	n := len(words)
	w := words[n/3]
	return map[string]Query{
		"common": {Text: words[0]}, "rare": {Text: words[n-1]}, "three": {Text: words[1] + " " + words[n/4] + " " + words[n/2]},
		"beginning": {Text: w[:4]}, "typing_error": {Text: w[:2] + "q" + w[2:]}, "like": {Like: &Ref{Model: "model-3", Topic: 2}},
		"served": {Text: words[0], Served: true}, "all": {},
	}
}
