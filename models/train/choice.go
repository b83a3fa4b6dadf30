package train

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

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
	gain := make([]float64, len(r.y))
	for i, y := range r.y {
		gain[i] = logLoss(held[0].OutOfFold[i], y) - logLoss(held[1].OutOfFold[i], y)
	}
	if mean, deviation := stat.MeanStdDev(gain, nil); mean > 2*stat.StdErr(deviation, float64(len(gain))) {
		return rich, s.rich().Text, nil
	}
	return plain, s.Text, nil
}

// logLoss returns −ln of the probability that p gives the outcome.
func logLoss(p float64, positive bool) float64 {
	if !positive {
		p = 1 - p
	}
	return -math.Log(max(p, 1e-15))
}
