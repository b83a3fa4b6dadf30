package bundle

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func sample() *Bundle {
	return &Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: Manifest{
			Name:        "chest-pain",
			Complaint:   "Chest Pain",
			Method:      "sonmf",
			Rank:        2,
			Text:        json.RawMessage(`{"min_df":2}`),
			Training:    Training{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Documents: 10, Positives: 3},
			Calibration: Calibration{Kind: Platt, Slope: 1.1, Intercept: -.1},
			Threshold:   .4,
			Aux:         []AuxColumn{{Name: "age", Kind: Numeric, Mean: []float64{50}}},
			CreatedAt:   time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC),
		},
		Vocabulary: []Term{
			{Text: "chest", DF: 7}, {Text: "pain", Surface: []string{"pain", "pains"}, DF: 9}, {Text: "sob", DF: 1},
		},
		Tensors: Tensors{
			"topics": {Shape: []int{3, 2}, Data: []float64{1, 0, 0, 1, .5, -.5}},
			"idf":    {Shape: []int{3}, Data: []float64{1, 1.5, 2}},
		},
	}
}

func TestFloat64(t *testing.T) {
	t.Parallel()
	tensors := sample().Tensors
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
		"Lower Extremity Injury":      "lower-extremity-injury",
		" lower  extremity\tINJURY\n": "lower-extremity-injury",
		"":                            "_other",
		" \t":                         "_other",
		"n/v":                         "n-v_56310e0e",
		"n-v":                         "n-v_HASH",
		"n v":                         "n-v",
		"_other":                      "other_HASH",
		"胸痛":                          "_HASH",
		"../../etc/passwd":            "etc-passwd_HASH",
		"Champion":                    "champion_HASH",
		"generations":                 "generations_HASH",
		strings.Repeat("very long ",
			9): "very-long-very-long-very-long-very-long-very-long-very-long-very-long-very-long_HASH",
	} {
		got := Slug(complaint)
		if stem, ok := strings.CutSuffix(want, "HASH"); ok {
			if !strings.HasPrefix(got, stem) || len(got) != len(stem)+8 {
				t.Errorf("%q: got %q, want %q", complaint, got, want)
			}
		} else if got != want {
			t.Errorf("%q: got %q, want %q", complaint, got, want)
		}
		if !ValidModel(got) {
			t.Errorf("%q is no valid name", got)
		}
	}
}

func TestSlugKeepsComplaintsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.OneOf(rapid.StringMatching(`[aA /_-]{0,4}`), rapid.String())
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		same := strings.Join(strings.Fields(strings.ToLower(a)), " ") ==
			strings.Join(strings.Fields(strings.ToLower(b)), " ")
		if (Slug(a) == Slug(b)) != same || !ValidModel(Slug(a)) {
			t.Fatalf("%q and %q become %q and %q", a, b, Slug(a), Slug(b))
		}
	})
}

func TestValidVersion(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"2026-11-20T02-00-00Z-3f9c1a": true, "2026-11-20T02-00-00Z-3F9C1A": false, "2026-11-20T02-00-00Z-3f9c1": false,
		"2026-11-20T02-00-00Z":        false,
		"2026-13-20T02-00-00Z-3f9c1a": false, "../../../../2026-3f9c1a": false, "": false, "-3f9c1a": false,
		"2026-11-20T02-00-00Z-3f9c1a\n": false, "2026-11-20T02-00-00.5Z-3f9c1a": false,
	} {
		if got := ValidVersion(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

// TestParseManifestNamesTheFirstFault: of several faults always the same one.
func TestParseManifestNamesTheFirstFault(t *testing.T) {
	t.Parallel()
	b := sample()
	if _, err := b.Encode(); err != nil {
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

// TestManyValues: files of a few megabytes are refused whose values would take gigabytes.
func TestManyValues(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(",{}", MaxValues+1) + "]}"
	if _, err := ParseManifest([]byte(`{"format":"1","aux":[{}` + many)); !errors.Is(err, ErrManifest) ||
		!strings.Contains(err.Error(), "524288 values") {
		t.Errorf("of a manifest: %v", err)
	}
	for _, name := range []string{ReportFile, EvaluationFile} {
		if err := new(Bundle).Parse(name, []byte(`{"subgroups":[{}`+many)); !errors.Is(err, ErrManifest) {
			t.Errorf("of %s: %v", name, err)
		}
	}
}

func TestEveryFileIsRequired(t *testing.T) {
	t.Parallel()
	for name := range limits {
		b := sample()
		if _, err := b.Encode(); err != nil {
			t.Fatal(err)
		}
		delete(b.Manifest.Files, name)
		data, err := json.Marshal(b.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(data); err == nil || !strings.Contains(err.Error(), name+" is not among its files") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	b := sample()
	files, err := b.Encode()
	if err != nil {
		f.Fatal(err)
	}
	whole := string(files[ManifestFile])
	f.Add([]byte(whole))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`, `"format": "1.9", "future": {"x": [1]}`, 1)))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`, `"format": "2"`, 1)))
	f.Add([]byte(strings.Replace(whole, `"chest-pain"`, `"../../x"`, 1)))
	f.Add([]byte(strings.Replace(whole, `"format": "1"`,
		`"format": "1", "classes": ["a", "b", "c"], "admission_classes": ["c"]`, 1)))
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
		if !ValidModel(m.Name) || len(m.Files) != len(limits) ||
			strings.Split(m.Format, ".")[0] != Format {
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
