package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/textproc"
)

func TestModelFindsPlantedTruth(t *testing.T) {
	long(t)
	t.Parallel()
	rows, _ := generated(t, 0, 3500)
	fresh, truth := generated(t, 100000, 101500)
	s := small()
	s.Rank = 10
	f, err := Fit(t.Context(), Data{Rows: rows, Aux: auxColumns(), Pooled: true}, s)
	if err != nil {
		t.Fatal(err)
	}
	model, err := classifier.New(f.Parts)
	if err != nil {
		t.Fatal(err)
	}
	scorer := model.Scorer(classifier.Options{})
	p := make([]float64, len(fresh))
	for i, r := range fresh {
		p[i] = scorer.Probability(r.Text, append(slices.Clip(r.Aux), classifier.Complaint(r.Complaint)))
	}
	oracle, got, outOfFold := auroc(t, fresh, truth), auroc(t, fresh, p), auroc(t, rows, f.OutOfFold)
	t.Logf("AUROC %.3f on fresh notes, %.3f out of fold, %.3f by the truth", got, outOfFold, oracle)
	const slack = 0.05
	if got < oracle-slack {
		t.Errorf("AUROC %.3f on fresh notes, the truth has %.3f", got, oracle)
	}
	if math.Abs(got-outOfFold) > slack {
		t.Errorf("AUROC %.3f out of fold, %.3f on fresh notes", outOfFold, got)
	}
	var o Outcome
	if _, err := o.measure(&Data{Rows: fresh}, predictions{admission: p, threshold: f.Threshold}); err != nil {
		t.Fatal(err)
	}
	if slope := *o.Metrics.CalibrationSlope; slope < 0.7 || slope > 1.4 {
		t.Errorf("calibration slope %.2f on fresh notes", slope)
	}
}

// TestRidgePathIsLongEnough: ridge is about as good as the lasso's mixture, its best penalty within the path.
func TestRidgePathIsLongEnough(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	area := map[float64]float64{}
	for _, alpha := range []float64{0, 0.1} {
		s := small()
		s.Method, s.Alpha = BagOfWords, alpha
		f, err := Fit(t.Context(), Data{Rows: rows}, s)
		if err != nil {
			t.Fatal(err)
		}
		area[alpha] = auroc(t, rows, f.OutOfFold)
	}
	if area[0] < area[0.1]-0.01 {
		t.Errorf("AUROC %.3f with ridge, %.3f with α = 0.1", area[0], area[0.1])
	}
}

func auroc(t *testing.T, rows []Row, p []float64) float64 {
	t.Helper()
	a, _, err := eval.AUROC(labels(rows), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOutOfFoldKnowsNoLabel: predictions that had not seen random labels know nothing of them.
func TestOutOfFoldKnowsNoLabel(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 600)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range rows {
		rows[i].Positive = random.IntN(2) == 0
	}
	// With two notes of each visit a fold that parted them would know the other's label.
	for i := 0; i < len(rows); i += 2 {
		rows[i+1].Visit, rows[i+1].Text, rows[i+1].Positive, rows[i+1].Aux = rows[i].Visit, rows[i].Text,
			rows[i].Positive, rows[i].Aux
	}
	words := small()
	words.Method = BagOfWords
	for _, s := range []Settings{small(), words, smallSupervised(SMFW), smallSupervised(SMFH)} {
		s.Text.MinDF = 1
		f, err := Fit(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s)
		if err != nil {
			t.Fatal(err)
		}
		const bound = 0.1 // three standard errors of 300 visits
		if a := auroc(t, rows, f.OutOfFold); math.Abs(a-0.5) > bound {
			t.Errorf("%s: AUROC %.3f of labels drawn at random", s.Method, a)
		}
	}
}

func TestCalibratedLeavesOutItsFold(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 9))
	const n = 300
	logits, y, folds := mat.NewDense(n, 1, nil), make([]int, n), make([]int, n)
	for i := range n {
		logit := random.NormFloat64()
		logits.Set(i, 0, logit)
		if folds[i] = i % 3; random.Float64() < 1/(1+math.Exp(-logit)) {
			y[i] = 1
		}
	}
	three, odds := slices.Clone(y), mat.NewDense(n, 2, nil)
	for i := range n {
		three[i] = random.IntN(3)
		odds.SetRow(i, []float64{random.NormFloat64(), random.NormFloat64()})
	}
	for name, c := range map[string]struct {
		kind    bundle.CalibrationKind
		logOdds *mat.Dense
		classes []int
	}{
		"platt": {bundle.Platt, logits, y}, "isotonic": {bundle.Isotonic, logits, y},
		"none":                 {bundle.Uncalibrated, logits, y},
		"platt, three classes": {bundle.Platt, odds, three}, "none, three classes": {bundle.Uncalibrated, odds, three},
	} {
		fit := func(logOdds *mat.Dense, classes []int) (bundle.Calibration, error) {
			return classifier.FitClasses(c.kind, logOdds, classes)
		}
		before, err := calibrated(fit, c.logOdds, c.classes, folds)
		if err != nil {
			t.Fatal(err)
		}
		others := slices.Clone(c.classes)
		for i := range n {
			if folds[i] == 1 {
				others[i] = (c.classes[i] + 1) % (slices.Max(c.classes) + 1)
			}
		}
		after, err := calibrated(fit, c.logOdds, others, folds)
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i := range n {
			same := slices.Equal(before.RawRowView(i), after.RawRowView(i))
			if folds[i] == 1 && !same {
				t.Fatalf("%s: row %d has seen the labels of its own fold", name, i)
			}
			if !same {
				changed++
			}
		}
		if (changed > 0) != (c.kind != bundle.Uncalibrated) {
			t.Errorf("%s: %d rows changed with other folds' labels", name, changed)
		}
	}
}

// TestScorerIsTheHead holds the logits of the model as it scores against the linear predictor of the fit, over rows
// with missing values of every kind.
func TestScorerIsTheHead(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 100)
	for i := range rows {
		rows[i].Aux[i%4] = msg.Value{}
		if i%7 == 0 {
			rows[i].Complaint = ""
		}
	}
	rows[0].Aux[1] = msg.Text("X") // a level of one visit, which is too rare
	all := Data{Rows: rows, Aux: auxColumns()}
	all.Clean(Default().Text)
	cases := map[string]func(*Settings){
		"topics alone": func(s *Settings) { s.Words = false },
		"standardized, concepts": func(s *Settings) {
			s.Standardize, s.OneSE, s.Text.Concepts, s.Text.Spelling = true, true, nil, true
		},
		"free aux":      func(s *Settings) { s.FreeAux = true },
		"binary, lasso": func(s *Settings) { s.Text.Weighting, s.Alpha = textproc.Binary, 1 },
	}
	for _, name := range append(someMethods(), string(BagOfWords)) {
		cases[name] = func(s *Settings) { s.Method, s.Text.Weighting = Method(name), Method(name).Weighting() }
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			change(&s)
			d := Data{Rows: rows, Aux: auxColumns(), Pooled: true}
			f, err := Fit(t.Context(), d, s)
			if err != nil {
				t.Fatal(err)
			}
			want := linearPredictor(t, d, &s, f.Lambda)
			model, err := classifier.New(f.Parts)
			if err != nil {
				t.Fatal(err)
			}
			scorer := model.Scorer(classifier.Options{})
			var p msg.Prediction
			for i, r := range rows {
				scorer.Score(r.Text, append(slices.Clip(r.Aux), classifier.Complaint(r.Complaint)), &p)
				if math.Abs(p.Logit-want[i]) > 1e-9 {
					t.Fatalf("row %d: logit %v, linear predictor %v", i, p.Logit, want[i])
				}
				if sum := contributions(&p); math.Abs(p.Logit-sum) > 1e-9 {
					t.Fatalf("row %d: logit %v, sum of contributions %v", i, p.Logit, sum)
				}
			}
		})
	}
}

// contributions returns the sum of what a prediction is explained by, each topic's from its terms.
func contributions(p *msg.Prediction) float64 {
	sum := p.Intercept
	for _, topic := range p.Topics {
		for _, term := range topic.Terms {
			sum += term.Contribution
		}
	}
	for _, w := range p.Words {
		sum += w.Contribution
	}
	for _, a := range p.Aux {
		sum += a.Contribution
	}
	return sum
}

// linearPredictor fits the head anew and returns its predictions at λ, from the design.
func linearPredictor(t *testing.T, d Data, s *Settings, lambda float64) []float64 {
	t.Helper()
	r := newRows(d)
	tx, err := vectorize(t.Context(), r, s.Text, s)
	if err != nil {
		t.Fatal(err)
	}
	if tx, err = tx.factorize(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	aux, _, err := r.auxFeatures(!s.Standardize)
	if err != nil {
		t.Fatal(err)
	}
	var parts []mat.Matrix
	var c columns
	if tx.topics != nil {
		parts = append(parts, tx.scores)
		_, c.topics = tx.scores.Dims()
	}
	if s.words() {
		parts = append(parts, tx.x)
		c.take(tx)
		with, _, err := tx.vectorizer.LearnPieces(r.docs)
		if err != nil {
			t.Fatal(err)
		}
		pieces := with.TransformPieces(r.texts())
		if _, g := pieces.Dims(); g > 0 && s.Pieces {
			parts = append(parts, pieces)
			c.pieces = g
		}
	}
	_, c.aux = aux.Dims()
	design, err := elasticnet.NewDesign(append(parts, aux)...)
	if err != nil {
		t.Fatal(err)
	}
	path, err := elasticnet.Fit(t.Context(), elasticnet.Problem{Design: design, Y: r.y}, s.path(c))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(path.Lambda, lambda)
	if at < 0 {
		t.Fatalf("λ %v is not on the path", lambda)
	}
	if path.DF(at) == 0 {
		t.Fatal("an empty head says little")
	}
	return path.LinearPredictor(design, at)
}

// TestPooledComplaint: the complaint is a feature where there are several, one for all spellings.
func TestPooledComplaint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		complaints []string
		pooled     bool
		want       []string
	}{
		"two of two spellings": {[]string{"Cough", "fever ", " COUGH", "Fever"}, true, []string{"cough", "fever"}},
		"one":                  {[]string{"cough", "Cough"}, true, nil},
		"not pooled":           {[]string{"cough", "fever", "cough", "fever"}, false, nil},
	} {
		var rows []Row
		for range intake.LeastNamed {
			for _, complaint := range c.complaints {
				rows = append(rows, Row{Complaint: complaint})
			}
		}
		r := newRows(Data{Rows: rows, Pooled: c.pooled})
		var got []string
		for _, column := range r.columns {
			got = append(got, column.Levels...)
		}
		if !slices.Equal(got, c.want) || len(r.columns) != len(r.values) {
			t.Errorf("%s: levels %q, want %q", name, got, c.want)
		}
	}
}

func TestModelAndTrainRefuse(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 200)
	one := slices.Clone(rows)
	for i := range one {
		one[i].Positive = true
	}
	empty := slices.Clone(rows)
	for i := range empty {
		empty[i].Text = "the of and"
	}
	with := func(change func(*Settings)) Settings {
		s := small()
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		rows     []Row
		settings Settings
		want     error
	}{
		"one class":        {one, small(), eval.ErrOneClass},
		"no words":         {empty, small(), textproc.ErrEmptyVocabulary},
		"no rows":          {nil, small(), textproc.ErrEmptyVocabulary},
		"binary on tf-idf": {rows, with(func(s *Settings) { s.Method = "sonmf-binary" }), ErrSettings},
		"weight of sonmf":  {rows, with(func(s *Settings) { s.L1Topics = new(float64) }), ErrSettings},
		"weight of words": {
			rows, with(func(s *Settings) { s.Method, s.L1Scores = BagOfWords, new(float64) }), ErrSettings,
		},
		"infinite weight": {
			rows, with(func(s *Settings) { s.Method, s.L1Topics = L1NMF, new(math.Inf(1)) }), solver.ErrSettings,
		},
		"negative weight":    {rows, with(func(s *Settings) { s.Method, s.L1Scores = L1NMF, new(-1.) }), ErrSettings},
		"method":             {rows, with(func(s *Settings) { s.Method = "lda" }), ErrSettings},
		"majority":           {rows, with(func(s *Settings) { s.Method = Majority }), ErrSettings},
		"rank":               {rows, with(func(s *Settings) { s.Rank = 0 }), ErrSettings},
		"folds":              {rows, with(func(s *Settings) { s.Folds = 1 }), ErrSettings},
		"policy":             {rows, with(func(s *Settings) { s.PerComplaint = "perhaps" }), ErrSettings},
		"min events":         {rows, with(func(s *Settings) { s.MinEvents = 9 }), ErrSettings},
		"min documents":      {rows, with(func(s *Settings) { s.MinDocuments = 0 }), ErrSettings},
		"alpha":              {rows, with(func(s *Settings) { s.Alpha = math.NaN() }), ErrSettings},
		"calibration":        {rows, with(func(s *Settings) { s.Calibration = "magic" }), ErrSettings},
		"threshold":          {rows, with(func(s *Settings) { s.Threshold = "magic" }), ErrSettings},
		"weighting":          {rows, with(func(s *Settings) { s.Text.Weighting = "bm25" }), textproc.ErrSettings},
		"more folds than it": {rows[:4], with(func(s *Settings) { s.Folds, s.Text.MinDF = 5, 1 }), eval.ErrArgument},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Fit(t.Context(), Data{Rows: c.rows, Aux: auxColumns()}, c.settings); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if _, err := Train(t.Context(), Data{Rows: c.rows, Aux: auxColumns()}, c.settings,
				job()); !errors.Is(err, c.want) {
				t.Errorf("training: got %v, want %v", err, c.want)
			}
		})
	}
}

// Plain penalties of single words are chosen where each word adds a little, and not where two side by side tell.
func TestFitChoosesPenalties(t *testing.T) {
	t.Parallel()
	words := strings.Fields("apple bread chair dress earth field glass horse island jacket kettle lemon mirror needle " +
		"orange pencil queen river spoon table")
	for name, want := range map[string]int{"many words": 1, "a pair": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			rows := make([]Row, 800)
			for i := range rows {
				some, logOdds := random.Perm(len(words))[:8], -2.0
				if want > 1 {
					some = random.Perm(4)
				}
				var text []string
				for k, at := range some {
					text = append(text, words[at])
					switch {
					case want == 1:
						logOdds += 1.5 * float64(2*(at%2)-1)
					case k > 0 && at == 1 && some[k-1] == 0:
						logOdds += 4
					}
				}
				rows[i] = Row{Text: strings.Join(text, " "), Positive: random.Float64() < 1/(1+math.Exp(-logOdds))}
			}
			s := smaller()
			s.Rank, s.Text.NGrams = 1, 0
			f, err := Fit(t.Context(), Data{Rows: rows}, s)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Vectorizer.Settings().NGrams; got != want {
				t.Errorf("phrases of %d terms, want %d", got, want)
			}
		})
	}
}

// Without a length of phrases in the settings, pairs of words are terms where words count, and only there.
func TestFitTakesPairs(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 200)
	for name, want := range map[string]int{"words": 2, "topics alone": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Text.NGrams, s.Words = 0, name == "words"
			f, err := Fit(t.Context(), Data{Rows: rows}, s)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Vectorizer.Settings().NGrams; got != want {
				t.Errorf("phrases of %d terms, want %d", got, want)
			}
		})
	}
}
