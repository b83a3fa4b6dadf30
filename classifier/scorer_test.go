package classifier

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// drawParts draws a model over the vectorizer: any rank, with or without words and auxiliary columns, of yes and no or
// of up to four classes.
func drawParts(t *rapid.T, v *textproc.Vectorizer) Parts {
	// Eighths meet in ties and cancel; a full range does not.
	value := rapid.OneOf(rapid.Just(0.0),
		rapid.Map(rapid.IntRange(-24, 24), func(i int) float64 { return float64(i) / 8 }), rapid.Float64Range(-5, 5))
	values := func(n int, name string) []float64 { return rapid.SliceOfN(value, n, n).Draw(t, name) }
	p, g := len(v.Vocabulary()), 0
	if rapid.Bool().Draw(t, "pieces") {
		v = withPieces(t, v)
		g = len(v.Pieces())
	}
	parts := Parts{Vectorizer: v, Threshold: rapid.Float64Range(0, 1).Draw(t, "threshold")}
	n := rapid.SampledFrom([]int{0, 2, 3, 4}).Draw(t, "classes")
	if n > 0 {
		parts.Classes = []string{"home", "ward", "other hospital", "ICU"}[:n]
		parts.Admission = make([]bool, n)
		for c := range rapid.IntRange(1, n-1).Draw(t, "classes of admission") {
			parts.Admission[(c+n-1)%n] = true
		}
	}
	k := rapid.IntRange(0, 6).Draw(t, "rank")
	if k > 0 {
		parts.Topics = mat.NewDense(p, k, values(p*k, "topics"))
	}
	words := rapid.Bool().Draw(t, "words")
	if rapid.Bool().Draw(t, "aux") {
		parts.Aux = []bundle.AuxColumn{
			{Name: "age", Kind: bundle.Numeric, Mean: values(1, "age mean")},
			{Name: "acuity", Kind: bundle.Categorical, Levels: []string{"1", "2", "3"}, Mean: values(3,
				"acuity means")},
			{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "M"}, Mean: values(2, "sex means")},
		}
	}
	for range max(n-1, 1) {
		h := Head{Intercept: value.Draw(t, "intercept"), Beta: values(k, "beta")}
		if words {
			h.Words = values(p, "words")
		}
		if g > 0 {
			h.Grams = values(g, "pieces")
		}
		if parts.Aux != nil {
			h.Gamma = values(6, "gamma")
		}
		parts.Heads = append(parts.Heads, h)
	}
	calibrations := []bundle.Calibration{
		{Kind: bundle.Uncalibrated}, {Kind: bundle.Platt, Slope: 0.8, Offsets: []float64{-0.1, 0.3, 2}[:max(n-1, 0)]},
	}
	if n <= 2 {
		calibrations[1] = bundle.Calibration{Kind: bundle.Platt, Slope: 0.8, Intercept: -0.1}
		calibrations = append(calibrations, bundle.Calibration{
			Kind: bundle.Isotonic, Logits: []float64{-2, 0, 1}, Probabilities: []float64{0.1, 0.1, 0.9},
		})
	}
	parts.Calibration = rapid.SampledFrom(calibrations).Draw(t, "calibration")
	return parts
}

// drawText draws a note of known, denied and unknown words.
func drawText(t *rapid.T, name string) string {
	word := rapid.SampledFrom(strings.Fields("ankle chest cough dizzy fall fever hip pain rotated wound wounds " +
		"denies no zebra quokka 80yo , ."))
	return strings.Join(rapid.SliceOfN(word, 0, 14).Draw(t, name), " ")
}

func drawAux(t *rapid.T, parts *Parts, name string) []msg.Value {
	value := rapid.SampledFrom([]msg.Value{{}, msg.Number(1), msg.Number(2.5), msg.Number(83), msg.Text("F"), msg.Text(
		"M"), msg.Text("3"), msg.Text("X"), msg.Text("")})
	return rapid.SliceOfN(value, len(parts.Aux), len(parts.Aux)).Draw(t, name)
}

// naive is the logit of a head by the formula of the package comment, densely.
func naive(parts *Parts, h *Head, text string, aux []msg.Value) float64 {
	row := parts.Vectorizer.Transform([]string{text})
	x := mat.Row(nil, 0, row)
	logit := h.Intercept
	for t, b := range h.Beta {
		logit += b * mat.Dot(mat.NewVecDense(len(x), x), parts.Topics.ColView(t))
	}
	for j, w := range h.Words {
		logit += w * x[j]
	}
	if h.Grams != nil {
		logit += mat.Dot(mat.NewVecDense(len(h.Grams), h.Grams),
			mat.DenseCopyOf(parts.Vectorizer.TransformPieces([]string{text})).RowView(0))
	}
	at := 0
	for i, c := range parts.Aux {
		number, isNumber := aux[i].Number()
		level, _ := aux[i].Text()
		if level == "3" && c.Kind == bundle.Numeric {
			number, isNumber = 3, true
		}
		if isNumber && c.Kind == bundle.Categorical {
			level = map[float64]string{1: "1", 2: "2", 3: "3"}[number]
		}
		for f, m := range c.Mean {
			switch {
			case c.Kind == bundle.Numeric && isNumber:
				logit += h.Gamma[at] * (number - m)
			case c.Kind == bundle.Categorical && slices.Contains(c.Levels, level):
				indicator := 0.0
				if c.Levels[f] == level {
					indicator = 1
				}
				logit += h.Gamma[at] * (indicator - m)
			}
			at++
		}
	}
	return logit
}

func TestExplanationSumsToLogit(t *testing.T) {
	t.Parallel()
	v := vectorizer(t)
	rapid.Check(t, func(t *rapid.T) {
		parts := drawParts(t, v)
		m, err := New(parts)
		if err != nil {
			t.Fatal(err)
		}
		text, aux := drawText(t, "text"), drawAux(t, &parts, "aux")
		options := Options{Class: rapid.SampledFrom(append([]string{"", "unknown"}, parts.Classes...)).Draw(t,
			"class asked")}
		var full, capped msg.Prediction
		m.Scorer(options).Score(text, aux, &full)
		checkSums(t, &full)
		checkPlaces(t, text, &full)
		logOdds := make([]float64, len(parts.Heads))
		for c := range logOdds {
			logOdds[c] = naive(&parts, &parts.Heads[c], text, aux)
		}
		if parts.Classes != nil {
			checkClasses(t, &parts, logOdds, options.Class, &full)
		} else if math.Abs(full.Logit-logOdds[0]) > sumTolerance || full.Class != "" || full.Against != "" ||
			len(full.Classes) > 0 || full.AdmissionProbability.Set {
			t.Fatalf("logit %v, by the formula %v: %+v", full.Logit, logOdds, full)
		}
		if p := m.Scorer(options).Probability(text, aux); math.Abs(p-full.Admission()) > sumTolerance {
			t.Fatalf("probability %v, in the prediction %v", p, full.Admission())
		}
		if (full.Decision == msg.Admit) != (full.Admission() >= full.Threshold) {
			t.Fatalf("%v at a threshold of %v: %s", full.Admission(), full.Threshold, full.Decision)
		}

		limit := rapid.IntRange(0, 4)
		limits := Limits{
			Topics: limit.Draw(t, "topics shown"), Terms: limit.Draw(t, "terms shown"),
			Words: limit.Draw(t, "words shown"), Evidence: limit.Draw(t, "parts shown"),
		}
		options.Limits = limits
		m.Scorer(options).Score(text, aux, &capped)
		checkSums(t, &capped)
		checkPlaces(t, text, &capped)
		if full.Logit != capped.Logit || full.Probability != capped.Probability || full.Class != capped.Class ||
			full.Decision != capped.Decision {
			t.Fatalf("limits changed the prediction")
		}
		topic := func(x msg.Topic) entry { return entry{x.Label, x.Contribution} }
		term := func(x msg.Term) entry { return entry{x.Term, x.Contribution} }
		word := func(x msg.Word) entry { return entry{x.Term, x.Contribution} }
		checkCap(t, entries(full.Topics, topic), entries(capped.Topics, topic), limits.Topics)
		checkCap(t, entries(full.Words, word), entries(capped.Words, word), limits.Words)
		for i, shown := range capped.Topics {
			if shown.Label != Other {
				checkCap(t, entries(full.Topics[i].Terms, term), entries(shown.Terms, term), limits.Terms)
			}
		}
	})
}

// checkClasses compares what p reports of several classes with the log-odds of each by the formula.
func checkClasses(t fataler, parts *Parts, logOdds []float64, asked string, p *msg.Prediction) {
	t.Helper()
	want := make([]float64, len(parts.Classes))
	CalibrateTo(want, &parts.Calibration, logOdds)
	class, against := slices.Index(parts.Classes, p.Class), slices.Index(parts.Classes, p.Against)
	var sum, admission float64
	for c, got := range p.Classes {
		if got.Class != parts.Classes[c] || math.Abs(got.Probability-want[c]) > sumTolerance {
			t.Fatalf("class %d is %+v, want %s at %v", c, got, parts.Classes[c], want[c])
		}
		if sum += got.Probability; parts.Admission[c] {
			admission += got.Probability
		}
		if got.Probability > p.Probability && !slices.Contains(parts.Classes, asked) {
			t.Fatalf("%s at %v is explained, %s is at %v", p.Class, p.Probability, got.Class, got.Probability)
		}
		if p.Class == parts.Classes[0] && c > 0 && got.Probability > p.Classes[against].Probability {
			t.Fatalf("%s is held against %s, %s is more probable: %+v", p.Class, p.Against, got.Class, p.Classes)
		}
	}
	if len(p.Classes) != len(parts.Classes) || math.Abs(sum-1) > sumTolerance ||
		math.Abs(admission-p.Admission()) > sumTolerance || !p.AdmissionProbability.Set {
		t.Fatalf("%+v sum to %v, to %v of %v of admission", p.Classes, sum, admission, p.AdmissionProbability)
	}
	if class < 0 || against < 0 || (class == 0) == (against == 0) || slices.Contains(parts.Classes, asked) &&
		p.Class != asked || p.Probability != p.Classes[class].Probability {
		t.Fatalf("%q asked, %q against %q is explained at %v", asked, p.Class, p.Against, p.Probability)
	}
	const sure = 0.01 // a ratio of smaller ones would show their rounding
	if ratio := p.Probability / p.Classes[against].Probability; parts.Calibration.Kind == bundle.Uncalibrated &&
		min(p.Probability, p.Classes[against].Probability) > sure && math.Abs(math.Log(ratio)-p.Logit) > sumTolerance {
		t.Fatalf("logit %v, by the probabilities %v", p.Logit, math.Log(ratio))
	}
	odds := append([]float64{0}, logOdds...)
	if math.Abs(p.Logit-(odds[class]-odds[against])) > sumTolerance {
		t.Fatalf("logit %v of %s against %s, by the formula %v", p.Logit, p.Class, p.Against, odds)
	}
}

// entry is what topics, terms and words have in common.
type entry struct {
	Name         string
	Contribution float64
}

func entries[T any](list []T, of func(T) entry) []entry {
	out := make([]entry, 0, len(list))
	for _, x := range list {
		out = append(out, of(x))
	}
	return out
}

// checkCap holds a list that a limit cut against the whole: the same largest entries, and one for all others.
func checkCap(t fataler, full, capped []entry, limit int) {
	t.Helper()
	for i := range full {
		if i > 0 && math.Abs(full[i].Contribution) > math.Abs(full[i-1].Contribution) {
			t.Fatalf("entries out of order: %v", full)
		}
	}
	if limit == 0 || len(full) <= limit+1 {
		if d := cmp.Diff(full, capped); d != "" {
			t.Fatalf("nothing is to be cut: %s", d)
		}
		return
	}
	rest := 0.0
	for _, e := range full[limit:] {
		rest += e.Contribution
	}
	if len(capped) != limit+1 || !slices.Equal(full[:limit], capped[:limit]) || capped[limit].Name != Other ||
		math.Abs(capped[limit].Contribution-rest) > sumTolerance {
		t.Fatalf("at a limit of %d\n%v\nbecame\n%v", limit, full, capped)
	}
}

func TestRankingOfManyEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Map(rapid.IntRange(-9, 9), func(i int) float64 { return float64(i) / 4 }), 0,
			120).Draw(t, "values")
		limit := rapid.IntRange(0, 60).Draw(t, "limit")
		var order []int
		for i, v := range values {
			if v != 0 {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch x, y := math.Abs(values[a]), math.Abs(values[b]); {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		shownWant := len(order)
		if limit > 0 && len(order) > limit+1 {
			shownWant = limit
		}
		var r ranking
		shown, rest, more := r.largest(values, limit)
		if !slices.Equal(shown, order[:shownWant]) || more != (shownWant < len(order)) {
			t.Fatalf("limit %d: got %v, %v, want %v of %v", limit, shown, more, shownWant, order)
		}
		want := 0.0
		for _, i := range order[shownWant:] {
			want += values[i]
		}
		if rest != want { // quarters add up exactly
			t.Fatalf("the others sum to %v, want %v", rest, want)
		}
	})
}

func TestScorerReuse(t *testing.T) {
	t.Parallel()
	v := vectorizer(t)
	rapid.Check(t, func(t *rapid.T) {
		// One prediction goes from model to model and note to note.
		var reused msg.Prediction
		for range 2 {
			parts := drawParts(t, v)
			m, err := New(parts)
			if err != nil {
				t.Fatal(err)
			}
			limits := Limits{Topics: rapid.IntRange(0, 3).Draw(t, "topics shown"), Terms: rapid.IntRange(0,
				2).Draw(t, "terms shown")}
			options := Options{Limits: limits, Class: rapid.SampledFrom([]string{"", "home", "ward"}).Draw(t,
				"class asked")}
			s := m.Scorer(options)
			for range 4 {
				text, aux := drawText(t, "text"), drawAux(t, &parts, "aux")
				var fresh msg.Prediction
				m.Scorer(options).Score(text, aux, &fresh)
				s.Score(text, aux, &reused)
				if d := cmp.Diff(string(fresh.AppendJSON(nil)), string(reused.AppendJSON(nil))); d != "" {
					t.Fatalf("a scorer that has scored before (+) answers otherwise: %s", d)
				}
				checkAdded(t, s.Reading(&reused).Added, &reused)
				if (reused.Words == nil) != (parts.Heads[0].Words == nil && parts.Heads[0].Grams == nil) {
					t.Fatalf("words %v of a model with words %v and pieces %v", reused.Words, parts.Heads[0].Words,
						parts.Heads[0].Grams)
				}
			}
		}
	})
}

// checkAdded holds what topics and words added against the prediction, whose topics and words sum up to it.
func checkAdded(t fataler, added []float64, p *msg.Prediction) {
	if p.Class != "" {
		if added != nil {
			t.Fatalf("%v was added to one class of several", added)
		}
		return
	}
	var topics, words, each float64
	for _, x := range p.Topics {
		topics += x.Contribution
	}
	for _, x := range p.Words {
		words += x.Contribution
	}
	k := len(added) - 2
	for _, v := range added[:k] {
		each += v
	}
	for _, d := range []float64{added[k] - topics, added[k+1] - words, each - topics} {
		if math.Abs(d) > 1e-6 {
			t.Fatalf("%v was added, topics %v and words %v", added, topics, words)
		}
	}
}

// TestScorersShareAModel is for the race detector: scorers of one model, each in its own goroutine, answer as one
// alone.
func TestScorersShareAModel(t *testing.T) {
	t.Parallel()
	m := newModel(t, severalParts(t))
	texts := []string{
		"hip pain after a fall, ankle rotated, denies chest pain", "cough, fever", "zebra", "wounds, dizzy",
	}
	answers := func(class string) string {
		var p msg.Prediction
		var out []byte
		s := m.Scorer(Options{Class: class})
		for _, text := range texts {
			s.Score(text, []msg.Value{msg.Number(83), msg.Text("F")}, &p)
			out = append(p.AppendJSON(out), '\n')
		}
		return string(out)
	}
	var wg sync.WaitGroup
	for _, class := range append(m.Classes(), "", "unknown") {
		want := answers(class)
		for range 4 {
			wg.Go(func() {
				if got := answers(class); got != want {
					t.Errorf("class %q: got\n%swant\n%s", class, got, want)
				}
			})
		}
	}
	wg.Wait()
}

func TestMissingAuxContributesNothing(t *testing.T) {
	t.Parallel()
	parts := smallParts(t)
	m := newModel(t, parts)
	without := parts
	without.Aux, without.Heads = nil, []Head{parts.Heads[0]}
	without.Heads[0].Gamma = nil
	var bare, p msg.Prediction
	newModel(t, without).Scorer(Options{}).Score("hip pain", nil, &bare)
	s := m.Scorer(Options{})
	for name, aux := range map[string][]msg.Value{
		"missing":       {{}, {}},
		"unknown level": {{}, msg.Text("X")},
		"empty level":   {{}, msg.Text("")},
		"wrong types":   {msg.Text("old"), msg.Number(1)},
	} {
		s.Score("hip pain", aux, &p)
		for _, a := range p.Aux {
			if a.Contribution != 0 {
				t.Errorf("%s: %s contributes %v", name, a.Name, a.Contribution)
			}
		}
		if p.Logit != bare.Logit {
			t.Errorf("%s: logit %v, want %v", name, p.Logit, bare.Logit)
		}
		for i := range aux {
			if p.Aux[i].Value != aux[i] {
				t.Errorf("%s: value %v, want %v", name, p.Aux[i].Value, aux[i])
			}
		}
	}
	// At the training means a note gets nothing either.
	if s.Score("hip pain", []msg.Value{msg.Number(52), {}}, &p); p.Aux[0].Contribution != 0 {
		t.Errorf("the mean age contributes %v", p.Aux[0].Contribution)
	}
}

func TestAbstain(t *testing.T) {
	t.Parallel()
	m := newModel(t, smallParts(t))
	s := m.Scorer(Options{})
	var p msg.Prediction
	for _, c := range []struct {
		text    string
		abstain bool
		share   float64
	}{
		{"zebra quokka", true, 0},
		{"", true, 0},
		{"...", true, 0},
		{"zebra hip", false, 0.5},
		{"zebra", true, 0},
		{"hip pain", false, 1},
	} {
		s.Score(c.text, []msg.Value{msg.Number(83), msg.Text("F")}, &p)
		reason := ""
		if c.abstain {
			reason = NoKnownTerms
		}
		if p.Abstained != c.abstain || p.AbstainReason != reason || p.KnownTermShare != c.share {
			t.Errorf("%q: abstained %v for %q, share %v", c.text, p.Abstained, p.AbstainReason, p.KnownTermShare)
		}
		if len(p.Aux) != 2 || p.Aux[0].Contribution == 0 || p.Decision == "" || p.Probability == 0 || p.Topics == nil &&
			!c.abstain || p.Words == nil {
			t.Errorf("%q: not every field is there: %+v", c.text, p)
		}
		checkSums(t, &p)
	}
}

func TestDecisionAtThreshold(t *testing.T) {
	t.Parallel()
	parts := smallParts(t)
	parts.Heads[0].Intercept, parts.Calibration = 0, bundle.Calibration{Kind: bundle.Uncalibrated}
	for threshold, want := range map[float64]msg.Decision{
		0.5: msg.Admit, math.Nextafter(0.5, 1): msg.Discharge, 0: msg.Admit, 1: msg.Discharge,
	} {
		parts.Threshold = threshold
		var p msg.Prediction
		newModel(t, parts).Scorer(Options{}).Score("zebra", []msg.Value{{}, {}}, &p)
		if p.Probability != 0.5 || p.Decision != want {
			t.Errorf("probability %v at threshold %v: %s, want %s", p.Probability, threshold, p.Decision, want)
		}
	}
}

// TestScoreAllocatesNothing is not parallel: it counts the allocations of the process.
func TestScoreAllocatesNothing(t *testing.T) {
	limited := Limits{Topics: 1, Terms: 1, Words: 1, Evidence: 2}
	for name, c := range map[string]struct {
		parts  Parts
		limits Limits
	}{
		"all":              {smallParts(t), Limits{}},
		"limited":          {smallParts(t), limited},
		"several outcomes": {severalParts(t), limited},
		"pieces of words":  {pieceParts(t), limited},
	} {
		s := newModel(t, c.parts).Scorer(Options{Limits: c.limits})
		aux := []msg.Value{msg.Number(83), msg.Text("F")}
		odd := []msg.Value{msg.Number(999), msg.Text("zebra of an unknown stripe")}
		mapped := []msg.Value{msg.Number(83), msg.Text("Female")}
		var p msg.Prediction
		texts := []string{"hip pain after a fall, ankle rotated, denies chest pain", "cough, fever", "zebra"}
		if n := testing.AllocsPerRun(50, func() {
			for _, text := range texts {
				s.Score(text, aux, &p)
				s.Score(text, odd, &p)
				s.Score(text, mapped, &p)
			}
		}); n != 0 {
			t.Errorf("%s: Score allocates %v times", name, n)
		}
		if n := testing.AllocsPerRun(50, func() { s.Probability(texts[0], aux) }); n != 0 {
			t.Errorf("%s: Probability allocates %v times", name, n)
		}
	}
}
