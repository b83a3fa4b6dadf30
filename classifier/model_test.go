package classifier

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// vectorizer knows ten words of one visit each, by tf-idf rows of length 1.
func vectorizer(tb testing.TB) *textproc.Vectorizer {
	tb.Helper()
	var docs []textproc.Document
	for word := range strings.FieldsSeq("ankle chest cough dizzy fall fever hip pain rotated wound") {
		docs = append(docs, textproc.Document{Text: word})
	}
	settings := textproc.DefaultSettings()
	settings.MinDF = 1
	v, _, err := textproc.Fit(docs, settings)
	if err != nil {
		tb.Fatal(err)
	}
	if len(v.Vocabulary()) != len(docs) {
		tb.Fatalf("vocabulary %v", v.Vocabulary())
	}
	return v
}

// withPieces returns a vectorizer that knows the pieces of the words of v too.
func withPieces(t fataler, v *textproc.Vectorizer) *textproc.Vectorizer {
	t.Helper()
	if with, ok := pieced.Load(v); ok {
		return with.(*textproc.Vectorizer) //nolint:forcetypeassert // nothing else is stored
	}
	var docs []textproc.Document
	for _, term := range v.Vocabulary() {
		docs = append(docs, textproc.Document{Text: term.Surface[0]})
	}
	with, _, err := v.LearnPieces(docs)
	if err != nil {
		t.Fatalf("%v", err)
	}
	pieced.Store(v, with)
	return with
}

// pieced keeps what withPieces returned, since properties draw hundreds of models of one vectorizer.
var pieced sync.Map

// pieceParts are smallParts with pieces of words.
func pieceParts(tb testing.TB) Parts {
	tb.Helper()
	parts := smallParts(tb)
	parts.Vectorizer = withPieces(tb, parts.Vectorizer)
	parts.Heads[0].Grams = make([]float64, len(parts.Vectorizer.Pieces()))
	for i := range parts.Heads[0].Grams {
		parts.Heads[0].Grams[i] = float64(i%7-3) / 8
	}
	return parts
}

// smallParts are parts with everything that a model can have.
func smallParts(tb testing.TB) Parts {
	tb.Helper()
	v := vectorizer(tb)
	topics := mat.NewDense(10, 3, nil)
	for j := range 10 {
		for t := range 3 {
			topics.Set(j, t, float64((3*j+7*t)%11-5)/10)
		}
	}
	words := make([]float64, 10)
	words[4], words[6], words[8] = 0.25, -0.5, 1
	return Parts{
		Info: msg.Model{
			Name: "lower-extremity-injury", Version: "2026-11-20T02-00-00Z-3f9c1a", Method: "sonmf",
			SHA256: strings.Repeat("3f9c1a00", 8),
		},
		Vectorizer: v, Topics: topics, Prevalence: []float64{0.5, 0.25, 0},
		Aux: []bundle.AuxColumn{
			{Name: "age", Kind: bundle.Numeric, Mean: []float64{52}},
			{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "M"}, Mean: []float64{0.5, 0.5}},
		},
		Heads: []Head{
			{Beta: []float64{1.5, -0.75, 0}, Words: words, Gamma: []float64{0.02, 0.125, -0.125}, Intercept: -1.25},
		},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1.5, Intercept: 0.25}, Threshold: 0.5,
	}
}

// severalParts are smallParts with three outcomes.
func severalParts(tb testing.TB) Parts {
	tb.Helper()
	parts := smallParts(tb)
	words := make([]float64, 10)
	words[1], words[4] = 0.5, -0.25
	parts.Heads = append(parts.Heads,
		Head{Beta: []float64{-0.5, 1.25, 0.25}, Words: words, Gamma: []float64{-0.01, 0.25, 0.5}, Intercept: -0.75})
	parts.Classes, parts.Admission = []string{"discharged", "admitted", "transferred"}, []bool{false, true, true}
	parts.Calibration = bundle.Calibration{Kind: bundle.Platt, Slope: 1.25, Offsets: []float64{0.25, -0.5}}
	return parts
}

func newModel(tb testing.TB, parts Parts) *Model {
	tb.Helper()
	m, err := New(parts)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		want   error
		change func(*Parts)
	}{
		"topics of other terms":    {ErrModel, func(p *Parts) { p.Topics = mat.NewDense(9, 3, nil) }},
		"too few coefficients":     {ErrModel, func(p *Parts) { p.Heads[0].Beta = p.Heads[0].Beta[:2] }},
		"coefficients, no topics":  {ErrModel, func(p *Parts) { p.Topics = nil }},
		"words of other terms":     {ErrModel, func(p *Parts) { p.Heads[0].Words = p.Heads[0].Words[:9] }},
		"too few aux coefficients": {ErrModel, func(p *Parts) { p.Heads[0].Gamma = p.Heads[0].Gamma[:2] }},
		"threshold below":          {ErrModel, func(p *Parts) { p.Threshold = -0.1 }},
		"threshold above":          {ErrModel, func(p *Parts) { p.Threshold = 1.1 }},
		"threshold NaN":            {ErrModel, func(p *Parts) { p.Threshold = nan }},
		"topics NaN":               {ErrModel, func(p *Parts) { p.Topics.Set(1, 1, nan) }},
		"coefficient infinite":     {ErrModel, func(p *Parts) { p.Heads[0].Beta[0] = inf }},
		"word NaN":                 {ErrModel, func(p *Parts) { p.Heads[0].Words[0] = nan }},
		"aux coefficient infinite": {ErrModel, func(p *Parts) { p.Heads[0].Gamma[0] = -inf }},
		"intercept NaN":            {ErrModel, func(p *Parts) { p.Heads[0].Intercept = nan }},
		"calibration kind":         {ErrCalibration, func(p *Parts) { p.Calibration.Kind = "magic" }},
		"platt falls":              {ErrCalibration, func(p *Parts) { p.Calibration.Slope = -1 }},
		"platt slope NaN":          {ErrCalibration, func(p *Parts) { p.Calibration.Slope = nan }},
		"platt slope infinite":     {ErrCalibration, func(p *Parts) { p.Calibration.Slope = inf }},
		"platt intercept NaN":      {ErrCalibration, func(p *Parts) { p.Calibration.Intercept = nan }},
		"isotonic without points":  {ErrCalibration, isotonic(nil, nil)},
		"isotonic uneven":          {ErrCalibration, isotonic([]float64{0}, []float64{0, 1})},
		"isotonic falls":           {ErrCalibration, isotonic([]float64{0, 1}, []float64{0.5, 0.25})},
		"isotonic logits repeat":   {ErrCalibration, isotonic([]float64{1, 1}, []float64{0.25, 0.5})},
		"isotonic above 1":         {ErrCalibration, isotonic([]float64{1}, []float64{1.5})},
		"isotonic probability NaN": {ErrCalibration, isotonic([]float64{1}, []float64{nan})},
		"isotonic logit NaN":       {ErrCalibration, isotonic([]float64{nan}, []float64{0.5})},
		"isotonic logit infinite":  {ErrCalibration, isotonic([]float64{-inf, 0}, []float64{0.25, 0.5})},
		"no vectorizer":            {ErrModel, func(p *Parts) { p.Vectorizer = nil }},
		"aux mean NaN":             {ErrModel, func(p *Parts) { p.Aux[0].Mean[0] = nan }},
		"aux kind":                 {ErrModel, func(p *Parts) { p.Aux[0].Kind = "ordinal" }},
		"numeric aux without mean": {
			ErrModel, func(p *Parts) { p.Aux[0].Mean, p.Heads[0].Gamma = nil, p.Heads[0].Gamma[1:] },
		},
		"levels do not match means":   {ErrModel, func(p *Parts) { p.Aux[1].Levels = []string{"F"} }},
		"levels do not ascend":        {ErrModel, func(p *Parts) { p.Aux[1].Levels = []string{"M", "F"} }},
		"no head":                     {ErrModel, func(p *Parts) { p.Heads = nil }},
		"two heads of yes and no":     {ErrModel, func(p *Parts) { p.Heads = append(p.Heads, p.Heads[0]) }},
		"offsets of yes and no":       {ErrCalibration, func(p *Parts) { p.Calibration.Offsets = []float64{0} }},
		"a level that is there twice": {ErrModel, func(p *Parts) { p.Aux[1].Levels = []string{"F", "F"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := smallParts(t)
			c.change(&parts)
			if m, err := New(parts); m != nil || !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct {
		want   error
		change func(*Parts)
	}{
		"a head too few": {ErrModel, func(p *Parts) { p.Heads = p.Heads[:1] }},
		"no names":       {ErrModel, func(p *Parts) { p.Classes = nil }},
		"one name": {
			ErrModel, func(p *Parts) { p.Classes, p.Admission, p.Heads = p.Classes[:1], p.Admission[:1], nil },
		},
		"a name twice":              {ErrModel, func(p *Parts) { p.Classes[2] = p.Classes[0] }},
		"a name empty":              {ErrModel, func(p *Parts) { p.Classes[1] = "" }},
		"a name of two lines":       {bundle.ErrClassName, func(p *Parts) { p.Classes[1] = "a\nb" }},
		"no marks of admission":     {ErrModel, func(p *Parts) { p.Admission = nil }},
		"a mark too few":            {ErrModel, func(p *Parts) { p.Admission = p.Admission[:2] }},
		"none of admission":         {ErrModel, func(p *Parts) { p.Admission = make([]bool, 3) }},
		"all of admission":          {ErrModel, func(p *Parts) { p.Admission[0] = true }},
		"too few coefficients":      {ErrModel, func(p *Parts) { p.Heads[1].Beta = p.Heads[1].Beta[:2] }},
		"words in one head":         {ErrModel, func(p *Parts) { p.Heads[1].Words = nil }},
		"words in the other":        {ErrModel, func(p *Parts) { p.Heads[0].Words = nil }},
		"words of other terms":      {ErrModel, func(p *Parts) { p.Heads[1].Words = p.Heads[1].Words[:9] }},
		"too few aux coefficients":  {ErrModel, func(p *Parts) { p.Heads[1].Gamma = p.Heads[1].Gamma[:2] }},
		"coefficient NaN":           {ErrModel, func(p *Parts) { p.Heads[1].Beta[2] = nan }},
		"intercept infinite":        {ErrModel, func(p *Parts) { p.Heads[1].Intercept = inf }},
		"isotonic":                  {ErrCalibration, isotonic([]float64{-1, 1}, []float64{0.1, 0.9})},
		"an offset too few":         {ErrCalibration, func(p *Parts) { p.Calibration.Offsets = []float64{0} }},
		"no offsets":                {ErrCalibration, func(p *Parts) { p.Calibration.Offsets = nil }},
		"an offset NaN":             {ErrCalibration, func(p *Parts) { p.Calibration.Offsets[1] = nan }},
		"offsets, not calibrated":   {ErrCalibration, func(p *Parts) { p.Calibration.Kind = bundle.Uncalibrated }},
		"platt falls, with offsets": {ErrCalibration, func(p *Parts) { p.Calibration.Slope = -1 }},
		"two classes with an offset": {ErrCalibration, func(p *Parts) {
			p.Classes, p.Admission, p.Heads, p.Calibration.Offsets = p.Classes[:2], p.Admission[:2],
				p.Heads[:1], []float64{0}
		}},
	} {
		t.Run("several outcomes, "+name, func(t *testing.T) {
			t.Parallel()
			parts := severalParts(t)
			c.change(&parts)
			_ = parts.ToBundle(&bundle.Bundle{}) // may refuse them too, and must not panic
			if m, err := New(parts); m != nil || !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func isotonic(logits, probabilities []float64) func(*Parts) {
	return func(p *Parts) {
		p.Calibration = bundle.Calibration{Kind: bundle.Isotonic, Logits: logits, Probabilities: probabilities}
	}
}

func TestNewAcceptsEveryKindOfHead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Parts){
		"all":           func(*Parts) {},
		"no topics":     func(p *Parts) { p.Topics, p.Heads[0].Beta, p.Prevalence = nil, nil, nil },
		"no prevalence": func(p *Parts) { p.Prevalence = nil },
		"no words":      func(p *Parts) { p.Heads[0].Words = nil },
		"no aux":        func(p *Parts) { p.Aux, p.Heads[0].Gamma = nil, nil },
		"a level unknown": func(p *Parts) {
			p.Aux[1].Levels, p.Aux[1].Mean, p.Heads[0].Gamma = nil, nil, p.Heads[0].Gamma[:1]
		},
		"uncalibrated": func(p *Parts) { p.Calibration = bundle.Calibration{Kind: bundle.Uncalibrated} },
		"isotonic":     isotonic([]float64{-1, 1}, []float64{0.1, 0.9}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := smallParts(t)
			change(&parts)
			var p msg.Prediction
			m := newModel(t, parts)
			m.Scorer(Options{}).Score("hip pain", make([]msg.Value, len(m.Aux())), &p)
			checkSums(t, &p)
		})
	}
}

func TestWeightsAndLabel(t *testing.T) {
	t.Parallel()
	parts := smallParts(t)
	parts.Topics = mat.NewDense(10, 3, nil)
	// By column: ankle chest cough dizzi fall fever hip pain rotat wound.
	for j, w := range []float64{0.1, -0.9, 0.5, 0, 0, 0.5, 0, 0.7, -0.2, 0} {
		parts.Topics.Set(j, 0, w)
	}
	parts.Topics.Set(2, 1, 1)
	m := newModel(t, parts)
	var columns []int
	for _, w := range m.weights(0) {
		columns = append(columns, w.column)
	}
	if want := []int{1, 7, 2, 5, 8, 0}; !slices.Equal(columns, want) {
		t.Errorf("terms %v, want %v: by |weight|, ties by column", columns, want)
	}
	// Direction and prevalence are of the positive end, though the largest weight is negative: its words name the
	// topic.
	parts.Topics.Set(0, 2, -0.2)
	parts.Topics.Set(1, 2, -0.3)
	m = newModel(t, parts)
	for at, want := range []string{"pain, cough, fever", "cough", "chest, ankle"} {
		if got := m.labels[at]; got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
}

// bundleOf is the bundle of parts as a store keeps it.
func bundleOf(tb testing.TB, parts Parts) *bundle.Bundle {
	tb.Helper()
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{Name: parts.Info.Name, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)},
	}
	if err := parts.ToBundle(b); err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestStoreRoundTrip(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Parts){
		"all":           func(*Parts) {},
		"no topics":     func(p *Parts) { p.Topics, p.Heads[0].Beta, p.Prevalence = nil, nil, nil },
		"no prevalence": func(p *Parts) { p.Prevalence = nil },
		"no words":      func(p *Parts) { p.Heads[0].Words = nil },
		"no aux":        func(p *Parts) { p.Aux, p.Heads[0].Gamma = nil, nil },
		"isotonic":      isotonic([]float64{-1, 0.1, 1. / 3}, []float64{0.1, 0.2, 2. / 3}),
		"three classes": func(p *Parts) { *p = severalParts(t) },
		"two classes":   func(p *Parts) { p.Classes, p.Admission = []string{"home", "ward"}, []bool{false, true} },
		"three classes, no words and aux": func(p *Parts) {
			*p = severalParts(t)
			p.Aux = nil
			for c := range p.Heads {
				p.Heads[c].Words, p.Heads[c].Gamma = nil, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := smallParts(t)
			change(&parts)
			store := models.OpenDir(t.TempDir())
			saved := bundleOf(t, parts)
			version, err := store.Save(t.Context(), saved)
			if err != nil {
				t.Fatal(err)
			}
			b, err := store.Load(t.Context(), parts.Info.Name, version)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(b)
			if err != nil {
				t.Fatal(err)
			}
			parts.Info.Version, parts.Info.SHA256 = version, saved.SHA256
			fresh := newModel(t, parts)
			for _, text := range []string{
				"Hip pain after fall, leg rotated", "denies chest pain", "nothing known", "fever, cough; dizzy",
			} {
				aux := []msg.Value{msg.Number(83.1), msg.Text("F")}[:len(parts.Aux)]
				want, got := answer(fresh, text, aux), answer(loaded, text, aux)
				if want != got {
					t.Errorf("%q: loaded\n%s\nsaved\n%s", text, got, want)
				}
			}
			if d := cmp.Diff(fresh.Topics(0), loaded.Topics(0)); d != "" {
				t.Errorf("topics of the saved and the loaded model: %s", d)
			}
		})
	}
}

// TestYesNoBundleBytes holds the files of yes/no models, by the hash of their manifest, which holds the hashes of the
// others.
func TestYesNoBundleBytes(t *testing.T) {
	t.Parallel()
	parts := smallParts(t)
	idf := make([]float64, 10) // exact everywhere
	for j := range idf {
		idf[j] = 1 + float64(j)/4
	}
	settings := parts.Vectorizer.Settings()
	settings.Concepts = &textproc.Concepts{} // the manifest holds the table
	var err error
	if parts.Vectorizer, err = textproc.New(settings, parts.Vectorizer.Vocabulary(), idf); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		b := bundleOf(t, parts)
		if _, err := models.OpenDir(t.TempDir()).Save(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if b.SHA256 != want {
			t.Errorf("the manifest's hash became %s", b.SHA256)
		}
	}
	check("f356b6d732f9f9d7e9db10d8440483889eed5f83bfdb16e822bcec49565ae868")
	parts.Topics, parts.Prevalence, parts.Heads = nil, nil,
		[]Head{{Gamma: parts.Heads[0].Gamma, Intercept: parts.Heads[0].Intercept}}
	check("0815baef8afbe1956d599289ac3cc712d4100d8623b52085bd0af926239f341c")
}

// answer is the bytes that a fresh scorer of the model sends.
func answer(m *Model, text string, aux []msg.Value) string {
	var p msg.Prediction
	m.Scorer(Options{}).Score(text, aux, &p)
	return string(p.AppendJSON(nil))
}

// TestLoadEarlierFormat refuses a model whose columns mean something else, and says what to do.
func TestLoadEarlierFormat(t *testing.T) {
	t.Parallel()
	b := bundleOf(t, smallParts(t))
	b.Manifest.Text = bytes.Replace(b.Manifest.Text, []byte(textproc.Tokenizer), []byte("wardcast-1"), 1)
	if m, err := Load(b); m != nil || !errors.Is(err, ErrVersion) ||
		!strings.HasSuffix(err.Error(), "train it again with wardcast train --force --why TEXT") {
		t.Errorf("Load: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	tensor := func(name string, data []float64, shape ...int) func(*bundle.Bundle) {
		return func(b *bundle.Bundle) { b.Tensors[name] = bundle.Tensor{Shape: shape, Data: data} }
	}
	drop := func(name string) func(*bundle.Bundle) { return func(b *bundle.Bundle) { delete(b.Tensors, name) } }
	refuse := func(name string, parts func(testing.TB) Parts, change func(*bundle.Bundle)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bundleOf(t, parts(t))
			change(b)
			m, err := Load(b)
			if m != nil || err == nil {
				t.Fatalf("loaded, error %v", err)
			}
			if !strings.Contains(err.Error(), `loading model "lower-extremity-injury"`) {
				t.Errorf("the error does not name the model: %v", err)
			}
		})
	}
	for name, change := range map[string]func(*bundle.Bundle){
		"no intercept":           drop(tensorIntercept),
		"no topics":              drop(tensorTopics),
		"no coefficients":        drop(tensorBeta),
		"no idf":                 drop(tensorIDF),
		"no aux coefficients":    drop(tensorGamma),
		"two intercepts":         tensor(tensorIntercept, []float64{1, 2}, 2),
		"topics transposed":      tensor(tensorTopics, make([]float64, 30), 3, 10),
		"topics flat":            tensor(tensorTopics, make([]float64, 30), 30),
		"topics NaN":             tensor(tensorTopics, append(make([]float64, 29), math.NaN()), 10, 3),
		"coefficients infinite":  tensor(tensorBeta, []float64{0, 0, math.Inf(1)}, 1, 3),
		"coefficients too few":   tensor(tensorBeta, []float64{0, 0}, 1, 2),
		"prevalence too short":   tensor(tensorShares, []float64{0, 0}, 1, 2),
		"prevalence NaN":         tensor(tensorShares, []float64{0, 0, math.NaN()}, 1, 3),
		"words too few":          tensor(tensorWords, make([]float64, 9), 9),
		"idf too few":            tensor(tensorIDF, make([]float64, 9), 9),
		"idf negative":           tensor(tensorIDF, append(make([]float64, 9), -1), 10),
		"aux coefficients few":   tensor(tensorGamma, make([]float64, 2), 1, 2),
		"rank differs":           func(b *bundle.Bundle) { b.Manifest.Rank = 2 },
		"rank without topics":    func(b *bundle.Bundle) { b.Manifest.Rank = 1 << 30 },
		"no text settings":       func(b *bundle.Bundle) { b.Manifest.Text = nil },
		"text settings unknown":  func(b *bundle.Bundle) { b.Manifest.Text = []byte(`{"weighting":"bm25"}`) },
		"empty vocabulary":       func(b *bundle.Bundle) { b.Vocabulary = nil },
		"vocabulary cut":         func(b *bundle.Bundle) { b.Vocabulary = b.Vocabulary[:9] },
		"a term twice":           func(b *bundle.Bundle) { b.Vocabulary[1].Text = b.Vocabulary[0].Text },
		"levels do not ascend":   func(b *bundle.Bundle) { b.Manifest.Aux[1].Levels = []string{"M", "F"} },
		"levels without means":   func(b *bundle.Bundle) { b.Manifest.Aux[1].Mean = nil },
		"numeric with two means": func(b *bundle.Bundle) { b.Manifest.Aux[0].Mean = []float64{1, 2} },
		"calibration": func(b *bundle.Bundle) {
			b.Manifest.Calibration = bundle.Calibration{Kind: bundle.Isotonic}
		},
		"calibration falls": func(b *bundle.Bundle) { b.Manifest.Calibration.Slope = -1 },
		"threshold":         func(b *bundle.Bundle) { b.Manifest.Threshold = 2 },
	} {
		refuse(name, smallParts, change)
	}
	for name, change := range map[string]func(*bundle.Bundle){
		"one class":              func(b *bundle.Bundle) { b.Manifest.Classes = b.Manifest.Classes[:1] },
		"a class less":           func(b *bundle.Bundle) { b.Manifest.Classes = []string{"discharged", "admitted"} },
		"a class more":           func(b *bundle.Bundle) { b.Manifest.Classes = append(b.Manifest.Classes, "died") },
		"classes, an empty list": func(b *bundle.Bundle) { b.Manifest.Classes = []string{} },
		"no classes":             func(b *bundle.Bundle) { b.Manifest.Classes = nil },
		"yes and no":             func(b *bundle.Bundle) { b.Manifest.Classes, b.Manifest.AdmissionClasses = nil, nil },
		"a class without a name": func(b *bundle.Bundle) {
			b.Manifest.Classes = []string{"discharged", "", "transferred"}
		},
		"a class twice": func(b *bundle.Bundle) {
			b.Manifest.Classes = []string{"discharged", "discharged", "transferred"}
		},
		"no class of admission": func(b *bundle.Bundle) { b.Manifest.AdmissionClasses = nil },
		"admission unknown":     func(b *bundle.Bundle) { b.Manifest.AdmissionClasses = []string{"admitted", "died"} },
		"admission twice": func(b *bundle.Bundle) {
			b.Manifest.AdmissionClasses = []string{"admitted", "admitted"}
		},
		"all of admission": func(b *bundle.Bundle) { b.Manifest.AdmissionClasses = b.Manifest.Classes },
		"isotonic": func(b *bundle.Bundle) {
			b.Manifest.Calibration = bundle.Calibration{
				Kind: bundle.Isotonic, Logits: []float64{0}, Probabilities: []float64{0.5},
			}
		},
		"offsets too few":           func(b *bundle.Bundle) { b.Manifest.Calibration.Offsets = []float64{0} },
		"offset infinite":           func(b *bundle.Bundle) { b.Manifest.Calibration.Offsets[0] = math.Inf(1) },
		"one row of coefficients":   tensor(tensorBeta, make([]float64, 3), 1, 3),
		"coefficients transposed":   tensor(tensorBeta, make([]float64, 6), 3, 2),
		"coefficients NaN":          tensor(tensorBeta, append(make([]float64, 5), math.NaN()), 2, 3),
		"words of yes and no":       tensor(tensorWords, make([]float64, 10), 10),
		"words flat":                tensor(tensorWords, make([]float64, 20), 20),
		"one row of aux":            tensor(tensorGamma, make([]float64, 3), 1, 3),
		"aux coefficients too few":  tensor(tensorGamma, make([]float64, 4), 2, 2),
		"one intercept":             tensor(tensorIntercept, make([]float64, 1), 1),
		"intercepts of two heads":   tensor(tensorIntercept, make([]float64, 3), 3),
		"intercepts in a row":       tensor(tensorIntercept, make([]float64, 2), 1, 2),
		"aux coefficients infinite": tensor(tensorGamma, append(make([]float64, 5), math.Inf(-1)), 2, 3),
	} {
		refuse("several outcomes, "+name, severalParts, change)
	}
}
