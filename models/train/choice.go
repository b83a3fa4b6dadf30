package train

import (
	"context"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/textproc"
)

// readTexts is the first stage. If there are two texts to choose from, it returns the rich one if that predicts
// held-out notes with a log loss that is lower by more than twice the standard error of the difference. Both predict by
// single words and phrases alone: topics and pieces of words would take most of the time and seldom change the choice.
func readTexts(ctx context.Context, r *rows, s Settings) (*text, error) {
	sampled := s.sampled(len(r.all))
	if !s.chooses() {
		return vectorize(r, s.Text, &s)
	}
	better, chosen, err := choose(ctx, r.sample(sampled), s)
	if err != nil || sampled == 0 {
		return better, err
	}
	return vectorize(r, chosen, &s)
}

// choose returns the better one of the two texts of notes, and its settings.
func choose(ctx context.Context, r *rows, s Settings) (*text, textproc.Settings, error) {
	plain, err := vectorize(r, s.Text, &s)
	if err != nil {
		return nil, s.Text, err
	}
	rich, err := vectorize(r, s.rich().Text, &s)
	if err != nil {
		return nil, s.Text, err
	}
	bag := s
	bag.Method, bag.Pieces = BagOfWords, false
	var held [2]*Fitted
	for i, t := range []*text{plain, rich} {
		if held[i], err = head(ctx, r, t, &bag); err != nil {
			return nil, s.Text, err
		}
	}
	gain := eval.Losses(r.y, held[0].OutOfFold)
	floats.Sub(gain, eval.Losses(r.y, held[1].OutOfFold))
	if mean, deviation := stat.MeanStdDev(gain, nil); mean > 2*stat.StdErr(deviation, float64(len(gain))) {
		return rich, s.rich().Text, nil
	}
	return plain, s.Text, nil
}
