package models

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sample returns a bundle; n tells bundles of one model apart.
func sample(n int) *Bundle {
	return &Bundle{
		Manifest: Manifest{
			Name: "chest-pain", Complaint: "Chest Pain", Method: "sonmf", Rank: 2, Weighting: "tf-idf",
			Text: json.RawMessage(`{"min_df":2}`), Seed: 1<<63 + uint64(n),
			Training:    Training{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Documents: 10, Positives: 3},
			Calibration: Calibration{Kind: Platt, Slope: 1.1, Intercept: -.1}, Threshold: .4, ThresholdRule: "youden",
			Aux:       []AuxColumn{{Name: "age", Kind: Numeric, Mean: []float64{50}}, {Name: "sex", Kind: Categorical, Levels: []string{"F", "M"}, Mean: []float64{.5, .5}}},
			CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 123, time.UTC), Wardcast: "test",
		},
		Vocabulary: []Term{{"chest", []string{"chest"}, 7}, {"pain", []string{"pain", "pains"}, 9}, {"sob", nil, 1}},
		Tensors: Tensors{
			"topics": {Shape: []int{3, 2}, Data: []float64{1, 0, 0, 1, .5, -.5}},
			"idf":    {Shape: []int{3}, Data: []float64{1, 1.5, 2}},
		},
		Evaluation: json.RawMessage(`{"auroc": 0.9}`),
		Card:       "# Chest pain\n",
		Report:     json.RawMessage(`{"format":"1"}`),
		Page:       []byte("<!doctype html>"),
	}
}

func save(t *testing.T, s *Store, b *Bundle) string {
	t.Helper()
	version, err := s.Save(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// serve adds the generation of these bundles, which are saved, and promotes it.
func serve(t *testing.T, s *Store, bundles ...*Bundle) *Generation {
	t.Helper()
	g := &Generation{Models: map[string]Member{}}
	if before, _ := s.Champion(t.Context()); before != nil {
		g.Parent = before.Name
	}
	for i, b := range bundles {
		g.CreatedAt = b.Manifest.CreatedAt.Add(time.Duration(i))
		g.Models[b.Manifest.Name] = Member{Version: b.Version, Reason: "good"}
	}
	if err := s.AddGeneration(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := s.Promote(t.Context(), Change{To: g.Name, From: g.Parent, By: "test", Why: "better"}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := OpenDir(dir)
	b := sample(0)
	version := save(t, s, b)
	if !strings.HasPrefix(version, "2026-11-20T02-00-00Z-") || version != b.Version || !strings.HasSuffix(version, "-"+b.SHA256[:6]) {
		t.Errorf("version %q, bundle %q %q", version, b.Version, b.SHA256)
	}
	got, err := OpenDir(dir).Load(t.Context(), "chest-pain", version)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON := cmp.Transformer("JSON", func(r json.RawMessage) (v any) { _ = json.Unmarshal(r, &v); return v })
	if d := cmp.Diff(b, got, sameJSON); d != "" {
		t.Error(d)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Join(dir, "chest-pain", version))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"card.md", "evaluation.json", "manifest.json", "report.html", "report.json", "tensors.safetensors", "vocabulary.json"}, names); d != "" {
		t.Error(d)
	}
	if again := save(t, s, sample(0)); again != version {
		t.Errorf("the same bundle again is version %q, not %q", again, version)
	}
	if found, err := s.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("a sound store: %v, %v", found, err)
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Bundle){
		"path as name":   func(b *Bundle) { b.Manifest.Name = "../x" },
		"no name":        func(b *Bundle) { b.Manifest.Name = "" },
		"capitals":       func(b *Bundle) { b.Manifest.Name = "A" },
		"no time":        func(b *Bundle) { b.Manifest.CreatedAt = time.Time{} },
		"threshold":      func(b *Bundle) { b.Manifest.Threshold = 1.5 },
		"counts":         func(b *Bundle) { b.Manifest.Training.Positives = 11 },
		"rank":           func(b *Bundle) { b.Manifest.Rank = -1 },
		"calibration":    func(b *Bundle) { b.Manifest.Calibration.Kind = "magic" },
		"aux":            func(b *Bundle) { b.Manifest.Aux[0].Kind = "" },
		"raw settings":   func(b *Bundle) { b.Manifest.Text = json.RawMessage("{") },
		"raw evaluation": func(b *Bundle) { b.Evaluation = json.RawMessage("{") },
		"tensor":         func(b *Bundle) { b.Tensors["topics"] = Tensor{Shape: []int{4}, Data: []float64{1}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := sample(0)
			change(b)
			if version, err := OpenDir(dir).Save(t.Context(), b); err == nil {
				t.Errorf("saved as %q", version)
			}
			if left, _ := filepath.Glob(dir + "/*/2026*"); left != nil {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestFloat64(t *testing.T) {
	t.Parallel()
	tensors := sample(0).Tensors
	if v, err := tensors.Float64("topics", -1, 2); err != nil || len(v) != 6 {
		t.Errorf("got %v, %v", v, err)
	}
	tensors["hot"] = Tensor{Shape: []int{2}, Data: []float64{0, math.Inf(1)}}
	for _, c := range []struct {
		want, name string
		shape      []int
	}{
		{"not found", "none", []int{1}},
		{"shape [3 2]", "topics", []int{2, 3}},
		{"shape [3]", "idf", []int{3, 1}},
		{"value 1 is +Inf", "hot", []int{2}},
	} {
		if _, err := tensors.Float64(c.name, c.shape...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for complaint, want := range map[string]string{
		"Lower Extremity Injury":        "lower-extremity-injury",
		" lower  extremity\tINJURY\n":   "lower-extremity-injury",
		"":                              "_other",
		" \t":                           "_other",
		"n/v":                           "n-v_56310e0e",
		"n-v":                           "n-v_HASH",
		"n v":                           "n-v",
		"_other":                        "other_HASH",
		"胸痛":                            "_HASH",
		"../../etc/passwd":              "etc-passwd_HASH",
		"Champion":                      "champion_HASH",
		"generations":                   "generations_HASH",
		strings.Repeat("very long ", 9): "very-long-very-long-very-long-very-long-very-long-very-long-very-long-very-long_HASH",
	} {
		got := Slug(complaint)
		if stem, ok := strings.CutSuffix(want, "HASH"); ok {
			if !strings.HasPrefix(got, stem) || len(got) != len(stem)+8 {
				t.Errorf("%q: got %q, want %q", complaint, got, want)
			}
		} else if got != want {
			t.Errorf("%q: got %q, want %q", complaint, got, want)
		}
		if !validModel(got) {
			t.Errorf("%q is no valid name", got)
		}
	}
}

func TestSlugKeepsComplaintsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.OneOf(rapid.StringMatching(`[aA /_-]{0,4}`), rapid.String())
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		same := strings.Join(strings.Fields(strings.ToLower(a)), " ") == strings.Join(strings.Fields(strings.ToLower(b)), " ")
		if (Slug(a) == Slug(b)) != same || !validModel(Slug(a)) {
			t.Fatalf("%q and %q become %q and %q", a, b, Slug(a), Slug(b))
		}
	})
}

func TestValidVersion(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"2026-11-20T02-00-00Z-3f9c1a": true, "2026-11-20T02-00-00Z-3F9C1A": false, "2026-11-20T02-00-00Z-3f9c1": false, "2026-11-20T02-00-00Z": false,
		"2026-13-20T02-00-00Z-3f9c1a": false, "../../../../2026-3f9c1a": false, "": false, "-3f9c1a": false, "2026-11-20T02-00-00Z-3f9c1a\n": false, "2026-11-20T02-00-00.5Z-3f9c1a": false,
	} {
		if got := validVersion(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

// TestParseManifestNamesTheFirstFault: of several faults always the same one.
func TestParseManifestNamesTheFirstFault(t *testing.T) {
	t.Parallel()
	b := sample(0)
	if _, err := b.encode(); err != nil {
		t.Fatal(err)
	}
	for name := range b.Manifest.Files {
		b.Manifest.Files[name] = File{SHA256: "x", Size: -1}
	}
	data, err := json.Marshal(b.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := ParseManifest(data); err == nil || !strings.Contains(err.Error(), "sha256 of card.md") {
			t.Fatalf("got %v, want the fault of card.md", err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	b := sample(0)
	files, err := b.encode()
	if err != nil {
		f.Fatal(err)
	}
	whole := string(files[manifestFile])
	f.Add([]byte(whole))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`, `"format": "1.9", "future": {"x": [1]}`, 1)))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`, `"format": "2"`, 1)))
	f.Add([]byte(strings.Replace(whole, `"chest-pain"`, `"../../x"`, 1)))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`, `"format": "1", "classes": ["a", "b", "c"], "admission_classes": ["c"]`, 1)))
	f.Add([]byte(`{"format":"1"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			if !errors.Is(err, ErrManifest) {
				t.Fatalf("got %v", err)
			}
			return
		}
		if !validModel(m.Name) || len(m.Files) < len(limits)-len(optional) || strings.Split(m.Format, ".")[0] != Format {
			t.Fatalf("accepted %+v", m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(again); err != nil {
			t.Fatalf("what was read is refused when written: %v", err)
		}
	})
}
