package train

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/textproc"
)

// text holds the part of a model that does not depend on the labels.
type text struct {
	vectorizer *textproc.Vectorizer
	plain      bool                // see choose
	many       bool                // features are not laid out: see Settings.many
	x          *matrix.CSR         // n×p, or of a sample of the notes: see Settings.sampled
	whole      *matrix.CSR         // rows of all notes, if x is a sample and topics are found from all
	rounds     *rounds.Coordinator // has all notes to find topics from; may be nil
	topics     *mat.Dense          // p×k, nil without topics
	scores     *mat.Dense          // n×k
	solver     *solver.Result
	alignment  *Alignment
}

// vectorize learns a vocabulary and makes rows of the notes, or of a sample of many.
func vectorize(ctx context.Context, r *rows, t textproc.Settings, s *Settings) (*text, error) {
	besides(&t, r.aux...)
	learn := func() (*textproc.Vectorizer, error) { return textproc.Learn(r.docs, t) }
	if r.rounds != nil {
		learn = func() (*textproc.Vectorizer, error) { return r.rounds.Learn(ctx, r.docs, t) }
	}
	v, err := learn()
	if err != nil {
		return nil, fmt.Errorf("preparing text: %w", err)
	}
	n := len(r.all)
	most := s.sampled(n)
	out := &text{vectorizer: v, x: v.Transform(r.sample(most).texts()), many: s.many(n)}
	switch all := most == 0 || s.TopicsFromAll; {
	case !all || s.Method != SONMF:
	case r.rounds != nil:
		out.rounds = r.rounds
	case most > 0:
		out.whole = v.Transform(r.texts())
	}
	return out, nil
}

// choiceRows is the size of the evenly spaced sample for choose: more would seldom change the choice.
const choiceRows = 20_000

// readTexts is the first stage.
func readTexts(ctx context.Context, r *rows, s Settings) (*text, error) {
	plain, chooses := false, s.words() && s.Text.NGrams == 0
	s.Text.NGrams = s.nGrams()
	if chooses {
		var err error
		plain, err = choose(ctx, r.sample(choiceRows), s)
		if ctx.Err() != nil {
			return nil, err
		}
		if plain {
			s.Text.NGrams = 1
		}
	}
	t, err := vectorize(ctx, r, s.Text, &s)
	if err != nil {
		return nil, err
	}
	t.plain = plain
	return t, nil
}

// choose reports whether notes are predicted better by plain penalties: of single words, whatever their ratio and
// whether they are findings, and without a bound on denied ones. Held-out notes then have a log loss that is lower by
// more than twice the standard error of the difference. With an error, such as a sample of one outcome, they are not.
// Both ways predict by words and phrases alone: topics and pieces of words would take most of the time and seldom
// change the choice.
func choose(ctx context.Context, r *rows, s Settings) (plain bool, err error) {
	s.Method, s.Pieces = BagOfWords, false
	here := *r
	here.rounds = nil
	r = &here
	var losses [2][]float64
	for i, n := range []int{s.Text.NGrams, 1} {
		s.Text.NGrams = n
		t, err := vectorize(ctx, r, s.Text, &s)
		if err != nil {
			return false, err
		}
		t.plain = i == 1
		held, err := head(ctx, r, t, &s)
		if err != nil {
			return false, err
		}
		losses[i] = eval.Losses(r.y, held.OutOfFold)
	}
	floats.Sub(losses[0], losses[1])
	gain, deviation := stat.MeanStdDev(losses[0], nil)
	return gain > 2*stat.StdErr(deviation, float64(len(r.y))), nil
}
