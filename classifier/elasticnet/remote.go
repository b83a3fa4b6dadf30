package elasticnet

import (
	"context"
	"math"
	"sync"
)

const everyFold = -1 // no row is in it

// Point is where the loss of some rows of B is asked for.
type Point struct {
	Fold      int       // the rows outside of it; -1 for all rows
	Held      bool      // instead of these, the rows of the fold, and their deviance alone
	Base      []float64 // coefficients of the columns of B: T·β
	Intercept float64
}

// Slope is sums over rows: of the loss, or of the held-out deviance, and of its derivatives.
type Slope struct {
	Loss, Intercept float64
	Rows            float64 // how many there are
	Base            []float64
}

// Remote is the rows of B where they lie, with their labels and folds. Its answers are sums over shards of the rows.
// ChooseRemote asks for one answer at a time.
type Remote interface {
	// Slopes returns the sums at each point. They may be changed.
	Slopes(at []Point) ([]Slope, error)
	// LogOdds returns those of every row from the point of its fold.
	LogOdds(at []Point) ([]float64, error)
}

// Shard is rows of B with their labels and folds in this process. T of its product is needed by none of its methods.
type Shard struct {
	*Product
	Y     []bool
	Folds []int
}

// Slopes returns the sums at each point: see Remote.
func (s Shard) Slopes(at []Point) ([]Slope, error) {
	out := make([]Slope, len(at))
	for i, p := range at {
		if p.Held {
			out[i] = s.deviance(p)
		} else {
			out[i] = newLoss(s.Product, s.Y, 0, s.Folds, p.Fold).slope(p)
		}
	}
	return out, nil
}

func (s Shard) deviance(at Point) (sum Slope) {
	for i, fold := range s.Folds {
		if fold == at.Fold {
			sum.Loss -= 2 * math.Log(likelihood(at.Intercept+s.row(i, at.Base), s.Y[i]))
			sum.Rows++
		}
	}
	return sum
}

// LogOdds returns those of every row: see Remote.
func (s Shard) LogOdds(at []Point) ([]float64, error) {
	out := make([]float64, s.n)
	for _, p := range at {
		for i, fold := range s.Folds {
			if fold == p.Fold {
				out[i] = p.Intercept + s.row(i, p.Base)
			}
		}
	}
	return out, nil
}

// ChooseRemote is Choose where the rows of B lie elsewhere: labels and folds are of all rows, the product holds a
// sample of them, as Sampled finds it. The points of all folds go together. The result is that of Choose but for the
// rounding of sums.
func (s Shard) ChooseRemote(ctx context.Context, rows Remote, settings Settings) (*Choice, error) {
	return s.choose(ctx, s.Y, s.Folds, settings, &meeting{Remote: rows})
}

// Sampled returns the distance of the rows, from the first on, whose squares give Choose the curvature of n rows.
func Sampled(n int) int { return (n + sampledRows - 1) / sampledRows }

// meeting asks for the slopes of all goroutines at once: when all of them wait.
type meeting struct {
	Remote
	mu      sync.Mutex
	members int // goroutines that may still ask; none if only one does
	asked   []Point
	replies []chan Slope
	err     error // the first one; the slopes are then NaN
}

// enter lets more goroutines take part, or −1 leave.
func (m *meeting) enter(more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.members += more
	m.ask()
}

func (m *meeting) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

func (m *meeting) slope(at Point) Slope {
	reply := make(chan Slope, 1)
	m.mu.Lock()
	m.asked, m.replies = append(m.asked, at), append(m.replies, reply)
	m.ask()
	m.mu.Unlock()
	return <-reply
}

// classSums is that of a loss. Where every probability is 1 the residuals of the rows that are not positive are 1, and
// 0 of the others; where it is 0 they are 0 and −1.
func (m *meeting) classSums(fold, columns int) (base [2][]float64, rows [2]float64, err error) {
	const certain = 1000 // log-odds
	for class, sign := range [2]float64{1, -1} {
		s := m.slope(Point{Fold: fold, Base: make([]float64, columns), Intercept: sign * certain})
		for j := range s.Base {
			s.Base[j] *= sign
		}
		base[class], rows[class] = s.Base, sign*s.Intercept
	}
	return base, rows, m.failed()
}

// ask asks if all members wait. Until it has the answers, nobody can come or go.
func (m *meeting) ask() {
	if len(m.asked) == 0 || len(m.asked) < m.members {
		return
	}
	var slopes []Slope
	if m.err == nil {
		slopes, m.err = m.Slopes(m.asked)
	}
	for i, reply := range m.replies {
		if m.err != nil {
			reply <- Slope{Loss: math.NaN()}
		} else {
			reply <- slopes[i]
		}
	}
	m.asked, m.replies = nil, nil
}
