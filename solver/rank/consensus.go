package rank

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
)

// maxHistories bounds the memory of Consensus: 30,000 different rows need 3.6 GB.
const maxHistories = 30000

// equalDistances is a share of the squared distances. A variance below it may be rounding alone.
const equalDistances = 1e-12

// ErrSize is returned for too many rows to compare all pairs.
var ErrSize = errors.New("too many rows")

// Stability measures how far repeated runs agree on which rows belong together. c_ij is the share of the runs that put
// rows i and j into the same cluster.
type Stability struct {
	// Cophenetic is the correlation, over the pairs of rows, of the distances 1 − c_ij with those at which average
	// linkage joins i and j; 1 if all runs agree or all distances are equal. J.-P. Brunet, P. Tamayo, T. R. Golub and
	// J. P. Mesirov, "Metagenes and molecular pattern discovery using matrix factorization", 2004.
	Cophenetic float64
	// Dispersion is Σ_ij 4·(c_ij − ½)²/n², in [0, 1]; 1 if all runs agree. H. Kim and H. Park, "Sparse non-negative
	// matrix factorizations via alternating non-negativity-constrained least squares for microarray data
	// analysis", 2007.
	Dispersion float64
}

// Consensus returns the stability of runs over the same n rows: clusters[r][i] is the cluster of row i in run r, as
// Assign returns it. Clusters need not have the same numbers in different runs.
//
// Rows that share their cluster in every run have the same history and are compared once, with their number as weight.
// u different histories cost u² steps for each run and 8·u²/2 bytes. It returns an error that wraps ErrSize if u is
// above 30,000, and for runs without rows or of different lengths.
func Consensus(clusters [][]int) (Stability, error) {
	histories, weights, err := group(clusters)
	if err != nil {
		return Stability{}, err
	}
	distances := newTriangle(histories)
	var n, sum, squares, dispersion float64 // sums over the pairs i < j
	for _, w := range weights {
		n += w
	}
	for a := range weights {
		for b := range a {
			d := *distances.at(a, b)
			pairs := weights[a] * weights[b]
			sum += pairs * d
			squares += pairs * d * d
			dispersion += pairs * 8 * (0.5 - d) * (0.5 - d)
		}
		dispersion += weights[a] * weights[a] // c is 1 within a history
	}
	s := Stability{Cophenetic: 1, Dispersion: dispersion / (n * n)}
	pairs := n * (n - 1) / 2
	if variance := squares - sum*sum/pairs; variance > equalDistances*squares {
		// Average linkage joins clusters at the mean distance h of their pairs, so that joined distances have the sum
		// of the distances, and Σ h·d = Σ h²: the correlation is the ratio of the deviations.
		s.Cophenetic = math.Sqrt(max(0, distances.joined(weights)-sum*sum/pairs) / variance)
	}
	return s, nil
}

// group returns the different histories of rows, the clusters in each run, and the number of rows with each.
func group(clusters [][]int) (histories [][]int, weights []float64, err error) {
	if len(clusters) == 0 || len(clusters[0]) == 0 {
		return nil, nil, fmt.Errorf("%w: none", ErrSize)
	}
	for r, run := range clusters {
		if len(run) != len(clusters[0]) {
			return nil, nil, fmt.Errorf("%w: run %d has %d, run 1 has %d", ErrSize, r+1, len(run), len(clusters[0]))
		}
	}
	keys := lists.Make(len(clusters[0]), func(i int) string {
		key := make([]byte, 0, 4*len(clusters))
		for _, run := range clusters {
			key = binary.LittleEndian.AppendUint32(key, uint32(run[i]))
		}
		return string(key)
	})
	for _, rows := range folds.Groups(keys) {
		histories = append(histories, lists.Map(clusters, func(run []int) int { return run[rows[0]] }))
		weights = append(weights, float64(len(rows)))
	}
	if len(histories) > maxHistories {
		return nil, nil, fmt.Errorf("%w: %d with different clusters, at most %d can be compared", ErrSize,
			len(histories), maxHistories)
	}
	return histories, weights, nil
}

// triangle holds the distances of pairs a > b, by a and then by b.
type triangle []float64

func newTriangle(histories [][]int) triangle {
	n := len(histories)
	d := make(triangle, 0, n*(n-1)/2)
	for a := range n {
		for b := range a {
			different := 0
			for r, cluster := range histories[a] {
				if cluster != histories[b][r] {
					different++
				}
			}
			d = append(d, float64(different)/float64(len(histories[a])))
		}
	}
	return d
}

// at returns the place of the distance of two different rows.
func (d triangle) at(a, b int) *float64 {
	a, b = max(a, b), min(a, b)
	return &d[a*(a-1)/2+b]
}

// joined returns the sum over the pairs of rows of the squares of the distance at which average linkage joins them. It
// overwrites the distances.
//
// It follows chains of nearest neighbours until two are each other's (F. Murtagh, "A survey of recent advances in
// hierarchical clustering algorithms", 1983), which makes n² steps. Among equally near ones it prefers the one before
// in the chain, otherwise the first.
func (d triangle) joined(weights []float64) float64 {
	size, alive := slices.Clone(weights), slices.Repeat([]bool{true}, len(weights))
	var sum float64
	var chain []int
	for left, first := len(weights), 0; left > 1; {
		if len(chain) == 0 {
			for !alive[first] {
				first++
			}
			chain = append(chain, first)
		}
		top := chain[len(chain)-1]
		nearest, distance := -1, math.Inf(1)
		if len(chain) > 1 {
			nearest = chain[len(chain)-2]
			distance = *d.at(top, nearest)
		}
		for b := range alive {
			if alive[b] && b != top && *d.at(top, b) < distance {
				nearest, distance = b, *d.at(top, b)
			}
		}
		if len(chain) < 2 || nearest != chain[len(chain)-2] {
			chain = append(chain, nearest)
			continue
		}
		chain = chain[:len(chain)-2]
		sum += size[top] * size[nearest] * distance * distance
		alive[top] = false
		for b := range alive {
			if alive[b] && b != nearest {
				to := d.at(nearest, b)
				*to = (size[top]**d.at(top, b) + size[nearest]**to) / (size[top] + size[nearest])
			}
		}
		size[nearest] += size[top]
		left--
	}
	return sum
}

// Stabilities returns the stability of the runs of each candidate, in the order of Factors. Assign makes the clusters.
// The start of the fit must depend on the seed. It returns the errors of fit and of Consensus, and the cause of ctx if
// that ends first.
func Stabilities(ctx context.Context, x mat.Matrix, fit Fit, s RunSettings) ([]Stability, error) {
	if s.Runs < 1 {
		return nil, fmt.Errorf("%w: %d runs", solver.ErrSettings, s.Runs)
	}
	clusters, err := run(ctx, x, fit, s, Assign)
	if err != nil {
		return nil, err
	}
	all := make([]Stability, len(s.Factors))
	for i := range all {
		if all[i], err = Consensus(clusters[i*s.Runs : (i+1)*s.Runs]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Unassigned is the cluster of rows without a positive score.
const Unassigned = -1

// Assign returns the cluster of each row of scores (n×k, ≥ 0), the factor that contributes most to it:
//
//	argmax_t ‖f_t‖·scores_it,  f_t column t of topics (p×k),
//
// the first of equal ones. Weighting by the length of f_t makes it independent of how a factorization splits the scale
// between the two. A row without a positive score is Unassigned.
func Assign(topics, scores *mat.Dense) []int {
	n, k := scores.Dims()
	lengths := lists.Make(k, func(t int) float64 { return mat.Norm(topics.ColView(t), 2) })
	clusters := make([]int, n)
	for i := range clusters {
		clusters[i] = Unassigned
		var largest float64
		for t, v := range scores.RawRowView(i) {
			if v *= lengths[t]; v > largest {
				clusters[i], largest = t, v
			}
		}
	}
	return clusters
}
