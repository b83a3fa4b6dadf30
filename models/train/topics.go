package train

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

// The solver's bounds: topics are stable long before the objective's last digits. A start's own updates do not count.
const (
	solverMaxIter = 200
	solverRelTol  = 1e-5
)

const keptCosine = 0.8 // the cosine above which a topic counts as the one that had its number before

// Alignment is how topics took their numbers from those of an earlier version.
type Alignment struct {
	Version    string  `json:"version"`
	WarmStart  bool    `json:"warm_start"`  // the solver began from them
	MeanCosine float64 `json:"mean_cosine"` // of the topics with the earlier ones of their numbers
	Kept       int     `json:"kept"`        // topics whose cosine is above 0.8
	Of         int     `json:"of"`          // topics that both versions have
}

// factorize returns t with topics and their scores Z = X·F. The columns of F have length 1, or 0: methods leave their
// scale open, and the penalty of the head, which weighs topics against words, depends on it. The topics of an earlier
// version give the new ones their order, and with s.WarmStart the solver begins from them.
func (t *text) factorize(ctx context.Context, s *Settings, previous *bundle.Bundle) (*text, error) {
	if s.Method == BagOfWords {
		return t, nil
	}
	n, _ := t.x.Dims()
	k := t.rank(s.Rank)
	earlier, start, err := t.earlier(s, previous, k)
	if err != nil {
		return nil, err
	}
	with := *t
	method, _, err := methods.New(string(s.Method), methods.Settings{L1Topics: s.L1Topics, L1Scores: s.L1Scores})
	if err == nil {
		settings := solver.Settings{
			Rank: k, StartTopics: start, Seed: s.Seed, MaxIter: solverMaxIter, RelTol: solverRelTol,
		}
		with.solver, err = t.solve(ctx, t.topical(s.words() && !t.plain), settings, method)
	}
	if err != nil {
		return nil, fmt.Errorf("finding topics: %w", err)
	}
	with.topics = with.solver.Topics
	unitColumns(with.topics)
	if earlier != nil {
		with.topics, _, with.alignment = aligned(earlier, with.topics, previous.Version, start != nil)
	}
	with.scores = mat.NewDense(n, k, nil)
	linalg.OperatorOf(t.x, 0).MulTo(with.scores, with.topics)
	return &with, nil
}

// topical returns the place of each term that topics are made of, −1 of others, words that are no finding among them:
// their weights are 0 in every topic. Next to words whose denied findings are bounded, these are left out too: each
// adds no more than the coefficient of its word.
func (t *text) topical(bounded bool) []int32 {
	_, p := t.x.Dims()
	place := make([]int32, p)
	denied, style := t.vectorizer.Denied(), t.vectorizer.Style()
	for j, topical := range t.vectorizer.Topical() {
		place[j] = -1
		if topical && (t.plain || !style[j]) && !(bounded && denied[j]) {
			place[j] = int32(j)
		}
	}
	return place
}

// solve runs a method on the rows of some terms: of x, or of all notes from a start that x gives.
func (t *text) solve(ctx context.Context, place []int32, settings solver.Settings, method solver.Method,
) (*solver.Result, error) {
	x := t.x.MapColumns(place, len(place))
	if t.whole == nil && t.rounds == nil {
		return solve(ctx, x, settings, method)
	}
	if settings.StartTopics == nil {
		start := solver.Problem{X: linalg.OperatorOf(x, 0), Settings: settings}
		start.Settings.Init, start.Settings.Seed = solver.InitSVD, cmp.Or(settings.Seed, solver.DefaultSeed)
		var err error
		if settings.StartTopics, err = start.OrthonormalTopics(ctx); err != nil {
			return nil, err
		}
	}
	if t.rounds == nil {
		return solve(ctx, t.whole.MapColumns(place, len(place)), settings, method)
	}
	rows, err := t.rounds.Topics(ctx, t.vectorizer, place)
	if err != nil {
		return nil, err
	}
	result, err := solve(ctx, rows, settings, method)
	if failed := rows.Err(); failed != nil {
		return nil, failed
	}
	return result, err
}

// rank returns the number of topics for the number that was asked for: at most the numbers of notes and of terms.
func (t *text) rank(asked int) int {
	n, p := t.x.Dims()
	return min(asked, n, p)
}

// earlier returns the topics of the version before over the terms of t, nil for none. start is the same if the solver
// begins from them, which needs as many topics of the same method, and a method that takes a start.
func (t *text) earlier(s *Settings, previous *bundle.Bundle, rank int) (topics, start *mat.Dense, err error) {
	topics, err = mapped(previous, t.vectorizer.Vocabulary())
	if err != nil {
		return nil, nil, fmt.Errorf("reading topics of version %s: %w", previous.Version, err)
	}
	if s.WarmStart && topics != nil && s.Method != SVD && previous.Manifest.Method == string(s.Method) &&
		previous.Manifest.Rank == rank {
		start = topics
	}
	return topics, start, nil
}

// solve runs a method. A run that ends before its minimum still has topics; the manifest says how it ended.
func solve(ctx context.Context, x mat.Matrix, settings solver.Settings, method solver.Method) (*solver.Result, error) {
	result, err := solver.Solve(ctx, x, settings, method)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case result.Status == solver.NonFinite:
		return nil, result.Status.Err()
	}
	return result, nil
}

// unitColumns divides each column by its length and returns the lengths, 1 for a column of zeros, which is unchanged.
func unitColumns(a *mat.Dense) (length []float64) {
	rows, cols := a.Dims()
	length = make([]float64, cols)
	for t := range length {
		if length[t] = mat.Norm(a.ColView(t), 2); length[t] == 0 {
			length[t] = 1
		}
	}
	for j := range rows {
		for t, v := range a.RawRowView(j) {
			a.Set(j, t, v/length[t])
		}
	}
	return length
}

// mapped returns the topics of an earlier version with a row for each term of a vocabulary, 0 for a new term; nil
// without a version, or with one without topics.
func mapped(previous *bundle.Bundle, vocabulary []textproc.Term) (*mat.Dense, error) {
	if previous == nil {
		return nil, nil
	}
	topics, err := classifier.BundleTopics(previous)
	if topics == nil || err != nil {
		return nil, err
	}
	row := make(map[string]int, len(previous.Vocabulary))
	for j, term := range previous.Vocabulary {
		row[term.Text] = j
	}
	_, k := topics.Dims()
	out := mat.NewDense(len(vocabulary), k, nil)
	for j, term := range vocabulary {
		if from, known := row[term.Text]; known {
			out.SetRow(j, topics.RawRowView(from))
		}
	}
	return out, nil
}

// aligned returns topics with their columns in the order of the earlier ones, p×l, that they are nearest to; topics
// that are near to none take the free places. The permutation holds the former place of each column.
func aligned(earlier, topics *mat.Dense, version string, warm bool) (*mat.Dense, []int, *Alignment) {
	p, k := topics.Dims()
	_, l := earlier.Dims()
	a := &Alignment{Version: version, WarmStart: warm, Of: min(k, l)}
	permutation, cosines := align.Topics(earlier, topics)
	out := mat.NewDense(p, k, nil)
	for t, from := range permutation {
		out.ColView(t).(*mat.VecDense).CopyVec(topics.ColView(from))
	}
	for _, c := range cosines[:a.Of] {
		a.MeanCosine += c / float64(a.Of)
		if c > keptCosine {
			a.Kept++
		}
	}
	return out, permutation, a
}
