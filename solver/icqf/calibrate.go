package icqf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Calibration adapts the penalty of a score to the information in the answers, so that missing answers at random do not
// change the mean score. Fewer answers mean more noise, which is clipped at the bounds of a score: without calibration,
// low scores rise and high ones fall.
type Calibration struct {
	// Information is the mean over the participants of the fit of Σ vⱼqⱼₜ² over their answers, for each factor.
	Information []float64
	// Shifts holds cₜ of Model.Score.
	Shifts []float64
}

const (
	// complete is the share of the mean information of the fit from which on answers count as complete: people who
	// leave out a tenth at random are between 0.8 and 1.2, and have the penalties of the fit.
	complete = 0.8
	// negligible is the share of the mean information of the fit below which information is ignored. A score with an
	// error of .07 in the fit, which is common, has one of .5 there.
	negligible = 0.02
	// calibrated is the largest number of participants from whom shifts are learnt. The errors of the scores of two
	// halves of the same answers nearly cancel, so few are enough.
	calibrated = 250
	// calibrationCells bounds the memory for their problems, in float64.
	calibrationCells = 1 << 23
	// dealings is the number of times that the answers of each are dealt; one has twice the error of three.
	dealings = 3
	// calibrationSteps bounds the steps of Newton's method; three to five are the rule.
	calibrationSteps = 12
	// balanced is the change of a mean score below which it counts as 0.
	balanced = 1e-4
	// calibrationGroups is the number of groups of participants whose sums are added up in their order.
	calibrationGroups = 8
	// leastSlope keeps the matrix of slopes regular if a factor has none, relative to the steepest.
	leastSlope = 1e-6
	// calibrationSeed starts the generator that deals the answers.
	calibrationSeed = 1
)

// dealt holds the numbers of parts that answers are dealt to. Eighths usually hold too little information.
var dealt = [...]int{2, 4}

// problems is the number of problems of a participant: all of the answers, and the parts.
const problems = 1 + dealings*(2+4)

// share returns s of Model.Score for the information of a participant's answers about a factor, 0 if it is negligible.
func (c *Calibration) share(factor int, information float64) float64 {
	switch mean := c.Information[factor]; {
	case information < negligible*mean:
		return 0
	case information < complete*mean:
		return information / (complete * mean)
	}
	return 1
}

// rise returns the change of a score's penalty per unit of the shift, at a share.
func rise(share float64) float64 { return math.Sqrt(share) - share }

// Calibrate sets the Calibration from the participants of the fit, n×p answers and n×c confounds, of whom it uses at
// most 250 at equal distances. It deals the answers of each to halves and to quarters, three times, and finds the
// shifts with which the mean of each factor's scores over these parts is that of the scores of all answers. A part with
// negligible information about a factor is ignored there. The search is Newton's: scores are piecewise linear in the
// shifts. If no shifts keep the mean, those with the least change are used.
//
// The same data give the same bits for any number of threads. It returns the errors of Score. It scores about 20,000
// rows.
func (m *Model) Calibrate(answers, confounds *mat.Dense) error {
	m.Calibration = nil
	if err := m.checkRows(answers, confounds); err != nil {
		return fmt.Errorf("calibrating scores: %w", err)
	}
	n, _ := answers.Dims()
	_, k := m.Loadings.Dims()
	trial := *m
	trial.Calibration = &Calibration{Information: m.information(answers), Shifts: make([]float64, k)}
	b := &balance{Calibration: trial.Calibration, threads: linalg.Threads(m.Threads), people: make([][]part,
		min(n, calibrated, max(1, calibrationCells/(problems*k*k))))}
	for g := range b.scorers {
		b.scorers[g] = trial.NewScorer()
		b.sums[g] = sums{make([]float64, k), mat.NewDense(k, k, nil)}
	}
	trial.L1, trial.L2 = 0, 0 // the parts are without penalties
	err := b.each(func(g, i int) error {
		row := i * n / len(b.people)
		var known []float64
		if confounds != nil {
			known = confounds.RawRowView(row)
		}
		b.people[i] = b.deal(b.scorers[g], answers.RawRowView(row), known,
			rand.New(rand.NewPCG(calibrationSeed, uint64(i))))
		return nil
	})
	trial.L1, trial.L2 = m.L1, m.L2
	if err == nil {
		err = b.search()
	}
	if err != nil {
		return fmt.Errorf("calibrating scores: %w", err)
	}
	m.Calibration = trial.Calibration
	return nil
}

func (m *Model) information(answers *mat.Dense) []float64 {
	n, p := answers.Dims()
	given := make([]float64, p)
	for i := range n {
		for j, v := range answers.RawRowView(i) {
			if v == v {
				given[j]++
			}
		}
	}
	_, k := m.Loadings.Dims()
	all := make([]float64, k)
	for j, count := range given {
		for t, q := range m.Loadings.RawRowView(j) {
			all[t] += count / float64(n) * m.Weight(j) * q * q
		}
	}
	return all
}

// part is the problem of some of a participant's answers, without penalties.
type part struct {
	gram, linear, shares []float64
	given                float64   // as Scorer.given
	weights              []float64 // weight of each score in the change of the mean
}

// sums are the changes of the mean scores, and the k×k derivatives with respect to the shifts.
type sums struct {
	changes []float64
	slopes  *mat.Dense
}

type balance struct {
	*Calibration
	threads linalg.Threads
	people  [][]part
	scorers [calibrationGroups]*Scorer
	sums    [calibrationGroups]sums
}

// each calls work for every participant i, on several goroutines, sequentially within a group g.
func (b *balance) each(work func(g, i int) error) error {
	var failed [calibrationGroups]error
	k := len(b.Shifts)
	b.threads.Parallel(calibrationGroups, len(b.people)*problems*k*k*k, func(from, to int) {
		for g := from; g < to; g++ {
			for i := g; i < len(b.people) && failed[g] == nil; i += calibrationGroups {
				failed[g] = work(g, i)
			}
		}
	})
	return errors.Join(failed[:]...)
}

// deal returns the problems of a participant, that of all answers last.
func (b *balance) deal(s *Scorer, answers, confounds []float64, random *rand.Rand) []part {
	given := lists.Where(len(answers), func(j int) bool { return answers[j] == answers[j] })
	problem := func(some []float64) part {
		s.set(some, confounds)
		return part{
			gram: slices.Clone(s.lasso.gram), linear: slices.Clone(s.lasso.linear),
			shares: slices.Clone(s.shares), given: s.given, weights: make([]float64, len(s.shares)),
		}
	}
	whole := problem(answers)
	all := make([]part, 0, problems)
	some := make([]float64, len(answers))
	for range dealings {
		for _, parts := range dealt {
			random.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
			for from := range parts {
				for j := range some {
					some[j] = math.NaN()
				}
				for i := from; i < len(given); i += parts {
					some[given[i]] = answers[given[i]]
				}
				p := problem(some)
				for t := range p.weights {
					if p.shares[t] > 0 {
						p.weights[t] = 1 / float64(parts*dealings*len(dealt)*len(b.people))
						whole.weights[t] -= p.weights[t]
					}
				}
				all = append(all, p)
			}
		}
	}
	return append(all, whole)
}

// search takes Newton's steps, and halves a step that increased the change.
func (b *balance) search() error {
	k := len(b.Shifts)
	best, at, step := math.Inf(1), slices.Clone(b.Shifts), make([]float64, k)
	for range calibrationSteps {
		now, err := b.measure()
		if err != nil {
			return err
		}
		if distance := floats.Norm(now.changes, 2); distance < best {
			best = distance
			copy(at, b.Shifts)
			if floats.Norm(now.changes, math.Inf(1)) <= balanced {
				return nil
			}
			if !now.newton(step) {
				return nil
			}
		} else {
			floats.Scale(0.5, step)
		}
		floats.AddTo(b.Shifts, at, step)
	}
	copy(b.Shifts, at)
	return nil
}

// measure sums up the changes with the current shifts.
func (b *balance) measure() (*sums, error) {
	k := len(b.Shifts)
	err := b.each(func(g, i int) error {
		s, l, out := b.scorers[g], b.scorers[g].lasso, &b.sums[g]
		if i == g {
			clear(out.changes)
			out.slopes.Zero()
		}
		w := make([]float64, k)
		for _, p := range b.people[i] {
			copy(l.gram, p.gram)
			copy(l.linear, p.linear)
			copy(s.shares, p.shares)
			s.given = p.given
			s.penalize()
			if err := l.minimize(w); err != nil {
				return err
			}
			for t, v := range w {
				out.changes[t] += p.weights[t] * v
			}
			for a, u := range l.free {
				for c, v := range l.response(a) {
					t := l.free[c]
					out.slopes.Set(t, u, out.slopes.At(t, u)-p.weights[t]*v*rise(p.shares[u]))
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := &sums{make([]float64, k), mat.NewDense(k, k, nil)}
	for g := range min(calibrationGroups, len(b.people)) {
		floats.Add(all.changes, b.sums[g].changes)
		all.slopes.Add(all.slopes, b.sums[g].slopes)
	}
	return all, nil
}

// newton stores the step at which the linearized changes are 0, and reports whether it exists. The slopes of a factor
// by its own shift are negative: a larger penalty lowers a score.
func (s *sums) newton(step []float64) bool {
	var steepest float64
	for t := range step {
		steepest = max(steepest, -s.slopes.At(t, t))
	}
	for t := range step {
		s.slopes.Set(t, t, s.slopes.At(t, t)-leastSlope*steepest)
	}
	var lu mat.LU
	lu.Factorize(s.slopes)
	to := mat.NewVecDense(len(step), step)
	if err := lu.SolveVecTo(to, false, mat.NewVecDense(len(step), s.changes)); err != nil {
		return false
	}
	floats.Scale(-1, step)
	return true
}
