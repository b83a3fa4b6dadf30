package topicindex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// notes are what the vocabularies of the tests are read from.
var notes = []string{
	"short of breath with cough", "sob, wheezing", "fell on ice, hip pain", "hip fracture", "fractures of the wrist",
	"denies chest pain", "chest pain",
	"emergency dialysis", "university student, past medical history", "laceration of the finger", "sutures",
	"community nurse", "generalized rash",
}

// breath and falls are two versions of one generation.
var (
	breath = planted{model: bundle.Other, notes: notes, beta: []float64{1, -.5, .25}, topics: []map[string]float64{
		{"dyspnea": .8, "cough": .5, "wheezing": .3},
		{"laceration": .9, "finger": .4, "hip": -.1},
		{"not:chest_pain": .7, "not:chest": .6, "dyspnea": .2},
	}}
	falls = planted{
		model: "fall", complaint: "Fall", notes: notes, beta: []float64{2, -1}, topics: []map[string]float64{
			{"hip": .9, "fracture": .3, "dyspnea": .1}, {"fracture": .8, "wrist": .5, "chest_pain": .3},
		},
	}
)

// usual returns an index of a store with one generation of breath and falls. It is made once, and copied.
func usual(t *testing.T) (*Index, *models.Store) {
	t.Helper()
	from, err := made()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	s := models.OpenDir(filepath.Join(dir, "models"))
	return open(t, Config{Store: s, Folder: filepath.Join(dir, "index")}), s
}

// made returns the folder that usual copies.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(shared, "usual")
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	s := models.OpenDir(filepath.Join(dir, "models"))
	if err := errors.Join(s.Create(ctx), serve(ctx, s, breath, falls)); err != nil {
		return "", err
	}
	x := New(Config{Store: s, Folder: filepath.Join(dir, "index")})
	return dir, errors.Join(x.Refresh(ctx), x.Close())
})

// shared is a folder for what tests share.
var shared string

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "topicindex"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(shared) }()
	m.Run()
}

// filled returns an index of a store with these generations.
func filled(t *testing.T, generations ...[]planted) (*Index, *models.Store) {
	t.Helper()
	s := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, g := range generations {
		add(t, s, g...)
	}
	return open(t, Config{Store: s, Folder: filepath.Join(t.TempDir(), "index")}), s
}

// open returns an index that is filled.
func open(tb testing.TB, c Config) *Index {
	tb.Helper()
	x := New(c)
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := x.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return x
}

// names returns the results of a search as MODEL/TOPIC.
func names(t *testing.T, x *Index, q Query) []string {
	t.Helper()
	r, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	all := []string{}
	for _, r := range r.Results {
		all = append(all, fmt.Sprintf("%s/%d", r.Model, r.Topic.Topic))
	}
	return all
}

func TestSearchFindsPlantedTopics(t *testing.T) {
	t.Parallel()
	x, _ := usual(t)
	for text, want := range map[string][]string{
		"dyspnea":             {"_other/1", "_other/3", "fall/1"}, // by weight
		"sob":                 {"_other/1", "_other/3", "fall/1"},
		"shortness of breath": {"_other/1", "_other/3", "fall/1"},
		"  SOB!  ":            {"_other/1", "_other/3", "fall/1"},
		"hip":                 {"fall/1", "_other/2"}, // a negative weight counts
		"fractures":           {"fall/2", "fall/1"},   // a stem
		"wrist fracture":      {"fall/2", "fall/1"},
		"denies chest pain":   {"_other/3"},
		"chest pain":          {"_other/3", "fall/2"}, // what is denied is found too
		"laceration":          {"_other/2"},           // the beginning of a word
		"laceretion":          {"_other/2"},           // a typing error
		"zebra":               {},
	} {
		if got := names(t, x, Query{Text: text}); !cmp.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
}

// TestStemsAreOurs searches words that the English analyzer of bleve, which is Porter's first stemmer, stems in another
// way than ours.
func TestStemsAreOurs(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, []planted{{model: bundle.Other, notes: notes, topics: []map[string]float64{
		{"emerg": .9, "student": .1}, {"communiti": .9, "student": .1}, {"general": .9, "student": .1},
	}}})
	for text, want := range map[string]string{
		"emergencies": "_other/1", "emergency": "_other/1", "communities": "_other/2", "generally": "_other/3",
	} {
		if got := names(t, x, Query{Text: text}); !cmp.Equal(got, []string{want}) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
}

func TestSearchRestrictsAndCounts(t *testing.T) {
	t.Parallel()
	x, _ := usual(t)
	r, err := x.Search(t.Context(), Query{Text: "dyspnea", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total != 3 || len(r.Results) != 1 {
		t.Fatalf("total %d, %d results", r.Total, len(r.Results))
	}
	version := r.Results[0].Version
	want := Facets{
		Complaint: []Facet{{"_other", 2}, {"Fall", 1}}, Model: []Facet{{"_other", 2}, {"fall", 1}},
		Direction: []Facet{{"admission", 3}}, Method: []Facet{{"sonmf", 3}}, Status: []Facet{{"champion", 3}},
	}
	want.Version = r.Facets.Version
	if len(want.Version) != 2 || want.Version[0] != (Facet{version, 2}) {
		t.Errorf("versions %v", want.Version)
	}
	if diff := cmp.Diff(want, r.Facets); diff != "" {
		t.Errorf("facets (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		q    Query
		want []string
	}{
		{Query{Text: "dyspnea", Complaint: "Fall"}, []string{"fall/1"}},
		{Query{Text: "dyspnea", Model: bundle.Other, Offset: 1}, []string{"_other/3"}},
		{Query{Text: "dyspnea", Version: version}, []string{"_other/1", "_other/3"}},
		{Query{Text: "hip", Direction: classifier.TowardDischarge}, []string{"_other/2"}},
		{Query{Text: "hip", Method: "svd"}, []string{}},
		{Query{Model: "fall"}, []string{"fall/1", "fall/2"}},
	} {
		if got := names(t, x, c.q); !cmp.Equal(got, c.want) {
			t.Errorf("%+v finds %v, want %v", c.q, got, c.want)
		}
	}
	top := r.Results[0]
	if top.Label != "dyspnea, cough, wheezing" || top.Coefficient != 1 || top.Terms[0].Term != "dyspnea" ||
		top.Terms[0].Weight != .8 || !slices.Contains(top.Terms[0].Surface, "sob") {
		t.Errorf("found %+v", top)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`{"total":3,"results":[{"model":"_other","version":"` + version + `"`,
		`"topic":1,"label":"dyspnea, cough, wheezing"`, `"score":`,
		`"facets":{"complaint":[{"value":"_other","count":2}`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s lacks %s", data, part)
		}
	}
}

// The topics of a served model stand before those of equal score that it superseded; a model that is served again comes
// first.
func TestServedTopicsComeFirst(t *testing.T) {
	t.Parallel()
	later := breath
	later.day = 1
	x, s := filled(t, []planted{breath}, []planted{later})
	status := func() (all []string) {
		r, err := x.Search(t.Context(), Query{Text: "cough"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range r.Results {
			all = append(all, string(r.Status)+r.CreatedAt.Format(" 01-02"))
		}
		return all
	}
	if got, want := status(), []string{"champion 01-02", "superseded 01-01"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := names(t, x, Query{Text: "cough", Served: true}); !cmp.Equal(got, []string{"_other/1"}) {
		t.Errorf("served: %v", got)
	}
	served, err := s.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Rollback(t.Context(), models.Change{From: served.Name, By: "test"}); err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := status(), []string{"champion 01-01", "superseded 01-02"}; !cmp.Equal(got, want) {
		t.Errorf("after a rollback %v, want %v", got, want)
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	x, _ := usual(t)
	if got := names(t, x, Query{Like: &Ref{Model: "fall", Topic: 1}}); !cmp.Equal(got,
		[]string{"fall/2", "_other/1", "_other/3"}) {
		t.Errorf("like fall/1: %v", got)
	}
	if _, err := x.Search(t.Context(), Query{Like: &Ref{Model: "fall", Topic: 9}}); !errors.Is(err, ErrQuery) {
		t.Errorf("like a topic that is not there: %v", err)
	}
	for text, want := range map[string]Ref{
		"fall/2": {Model: "fall", Topic: 2}, "a/b/3": {Model: "a", Version: "b", Topic: 3},
	} {
		if got, err := ParseRef(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "fall", "fall/", "fall/0", "fall/-1", "fall/x", "fall/2x", "/2", "a/b/c/1"} {
		if got, err := ParseRef(text); !errors.Is(err, ErrQuery) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

// A second reader opens what the first made; versions that an index has are not read from the store again.
func TestRefresh(t *testing.T) {
	t.Parallel()
	x, s := filled(t, []planted{breath})
	folders := func() []string {
		found, err := fs.Glob(os.DirFS(x.config.Folder), "[^.]*")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := folders()
	if len(first) != 1 {
		t.Fatalf("folders %v", first)
	}
	other := open(t, x.config)
	if got := folders(); !cmp.Equal(got, first) {
		t.Errorf("the second reader made %v", got)
	}
	later := breath
	later.day = 1
	add(t, s, later)
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := folders(); len(got) != 1 || got[0] == first[0] {
		t.Errorf("after a new version: %v", got)
	}
	// The other reader still searches the index that is gone.
	if got := names(t, other, Query{Text: "cough"}); len(got) != 1 {
		t.Errorf("the earlier index finds %v", got)
	}
	if got := names(t, x, Query{Text: "cough"}); len(got) != 2 {
		t.Errorf("the index finds %v", got)
	}
	if err := os.WriteFile(filepath.Join(x.config.Folder, folders()[0], "index_meta.json"), []byte("{"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := names(t, open(t, x.config), Query{Text: "cough"}); len(got) != 2 {
		t.Errorf("after damage to the index: %v", got)
	}
}

// A damaged version is named and left out, and the rest is searched.
func TestDamagedVersion(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	s := models.OpenDir(dir)
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	versions := add(t, s, breath, falls)
	if err := os.WriteFile(filepath.Join(dir, "fall", versions[1], "vocabulary.json"), []byte("[]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	x := New(Config{Store: s})
	if file := new(models.FileError); !errors.As(x.Refresh(t.Context()), &file) || file.Model != "fall" {
		t.Errorf("the error names %+v", file)
	}
	if got := names(t, x, Query{Text: "dyspnea"}); !cmp.Equal(got, []string{"_other/1", "_other/3"}) {
		t.Errorf("found %v", got)
	}
	folder := x.config.Folder
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder is left: %v", err)
	}
	if _, err := x.Search(t.Context(), Query{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A search waits for the first Refresh, and ends with Close.
func TestSearchWaits(t *testing.T) {
	t.Parallel()
	s := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, s, breath)
	for _, fill := range []bool{true, false} {
		x := New(Config{Store: s})
		found := make(chan error, 1)
		go func() {
			r, err := x.Search(t.Context(), Query{Text: "dyspnea"})
			if err == nil && r.Total != 2 {
				err = fmt.Errorf("%d topics", r.Total)
			}
			found <- err
		}()
		if fill {
			if err := x.Refresh(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-found; err != nil {
				t.Error(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if !fill {
			if err := <-found; !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}

// A word with a typing error that textproc cannot correct is reported with what was searched in its place; the
// beginning of a word is no error.
func TestCorrections(t *testing.T) {
	t.Parallel()
	x, _ := usual(t)
	for text, want := range map[string][]Correction{
		"hipp": {{"hipp", []string{"hip"}}}, "fractuer dyspnea": {}, "fracturs": {}, "lacer": {},
		"lacerration pain": {}, "": {},
	} {
		r, err := x.Search(t.Context(), Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, r.Corrections); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

// A topic is followed by its words through versions that number it otherwise, leave it out, or were never served.
func TestHistory(t *testing.T) {
	t.Parallel()
	lung, cut := map[string]float64{"dyspnea": .8, "cough": .5, "wheezing": .3},
		map[string]float64{"laceration": .9, "finger": .4}
	moved := map[string]float64{"dyspnea": .7, "cough": .6, "wheezing": .2, "rash": .3}
	version := func(day int, topics []map[string]float64, beta ...float64) []planted {
		return []planted{{model: bundle.Other, day: day, notes: notes, topics: topics, beta: beta}}
	}
	x, s := filled(t, version(0, []map[string]float64{lung, cut}, 1, -.5), version(1, []map[string]float64{cut}, -.5),
		version(2, []map[string]float64{cut, moved}, -.4, 1.25))
	refused := version(3, []map[string]float64{lung}, 9)
	b, err := refused[0].bundle()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps, err := x.History(t.Context(), Ref{Model: bundle.Other, Topic: 2})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%s/%d %v %.2f", s.CreatedAt.Format("Jan 2"), s.Topic.Topic,
			s.Coefficient, s.Similarity))
	}
	if d := cmp.Diff([]string{"Jan 1/1 1 0.94", "Jan 3/2 1.25 1.00"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := x.History(t.Context(), Ref{Model: "secret", Topic: 2}); !errors.Is(err, ErrQuery) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("of a topic that is not there: %v", err)
	}
}

func TestQueriesOutOfRange(t *testing.T) {
	t.Parallel()
	x := New(Config{})
	defer x.Close()
	for _, q := range []Query{{Limit: -1}, {Limit: MaxLimit + 1}, {Offset: -1}, {Offset: MaxOffset + 1}} {
		if _, err := x.Search(t.Context(), q); !errors.Is(err, ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, Query{Text: "hip"}); !errors.Is(err, context.Canceled) {
		t.Errorf("before the first Refresh: %v", err)
	}
	full, _ := filled(t, []planted{breath})
	if _, err := full.Search(ctx, Query{Text: "hip"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// No query fails, finds another topic first than a harmless one may, or takes long.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{
		"", " ", "hip", "(", strings.Repeat("(", 3000), strings.Repeat("a+", 3000), `"`, "a*~^+-:()", "\x00", "\xff",
		"hip AND (NOT", "_all:*", "/.*/", "hip~9",
		strings.Repeat("x ", 1000), strings.Repeat("ab", 2000), "ﬁ", "e\u0301", "not:chest_pain", "hr:111-130",
		"fall/1", "∞", "\u202e", "ẞẞẞẞ",
	} {
		f.Add(text)
	}
	s := models.OpenDir(filepath.Join(f.TempDir(), "models"))
	if err := s.Create(f.Context()); err != nil {
		f.Fatal(err)
	}
	add(f, s, breath, falls)
	x := New(Config{Store: s, Folder: filepath.Join(f.TempDir(), "index")})
	if err := x.Refresh(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := x.Search(t.Context(), Query{Text: text, Limit: MaxLimit})
		if err != nil {
			t.Fatalf("searching: %v", err)
		}
		if r.Total > 5 || len(r.Results) != r.Total {
			t.Fatalf("%d results of %d", len(r.Results), r.Total)
		}
		if _, err := x.FirstSeen(t.Context(), text); err != nil {
			t.Fatalf("first seen: %v", err)
		}
		if _, err := x.Search(t.Context(), Query{
			Text: text, Complaint: text, Model: text, Version: text, Method: text,
			Direction: classifier.Direction(text),
		}); err != nil {
			t.Fatalf("restricting: %v", err)
		}
	})
}

// TestOthersFoldersStay: an index may lie in a folder that somebody uses for other things, too.
func TestOthersFoldersStay(t *testing.T) {
	t.Parallel()
	x, s := filled(t, []planted{breath})
	kept := filepath.Join(x.config.Folder, "results", "2026")
	left := filepath.Join(x.config.Folder, buildPrefix+"123") // by a process that was killed
	for _, folder := range []string{kept, left} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before := x.current.key
	add(t, s, planted{model: bundle.Other, day: 1, notes: notes, topics: breath.topics})
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a folder of somebody else is gone: %v", err)
	}
	for _, folder := range []string{left, filepath.Join(x.config.Folder, before)} {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", folder, err)
		}
	}
}
