package smf

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// The second words of the generators' seeds.
const (
	digitsStream = 0x6469_6769_7473 // "digits"
	jobsStream   = 0x6a6f_6273      // "jobs"
	startStream  = 0x7374_6172_74   // "start"
)

// problem is what the algorithms are compared on.
type problem struct {
	name string
	x    mat.Matrix
	data smf.Data
	rank int
}

// The made-up job postings: as sparse, as wide and as rarely fraudulent as those of section 5.
const (
	jobsRank   = 20 // section 5
	jobsFields = 20 // topics that words are drawn from
	jobsTokens = 31 // so that the entries of X are 1.8 % of all
	jobsAux    = 72 // section 5
	// auxScale is the value of a feature that a posting has: the authors divide theirs by 10.
	auxScale = 0.1
	// jobsSpread is the standard deviation of the log-odds of fraud and jobsMean their mean: about one posting in twenty is
	// fraudulent.
	jobsSpread = 2
	jobsMean   = -4.4
)

// jobPostings returns tf-idf rows of length 1, neither centred nor scaled, with 72 features that a posting has or lacks.
// The log-odds of fraud are linear in both, with coefficients from N(0,1).
func jobPostings(ctx context.Context, documents, terms int, seed uint64) (*problem, error) {
	var file bytes.Buffer
	if err := synth.WriteMatrix(ctx, &file, synth.MatrixSettings{Documents: documents, Terms: terms, Topics: jobsFields, MinTokens: jobsTokens, Seed: seed}); err != nil {
		return nil, err
	}
	x, err := matrixio.ReadMTX(&file)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, jobsStream))
	aux := mat.NewDense(documents, jobsAux, nil)
	for j := range jobsAux {
		share := random.Float64() / 2
		for i := range documents {
			if random.Float64() < share {
				aux.Set(i, j, auxScale)
			}
		}
	}
	odds := mat.NewDense(documents, 1, nil)
	linalg.OperatorOf(x, 0).MulTo(odds, drawn(terms, 1, random.NormFloat64))
	linalg.Threads(0).AddMulTo(odds, aux, drawn(jobsAux, 1, random.NormFloat64))
	raw := odds.RawMatrix().Data
	mean, spread := stat.MeanStdDev(raw, nil)
	for i, v := range raw {
		raw[i] = jobsMean + jobsSpread*(v-mean)/spread
	}
	return &problem{name: "jobs", x: x, data: smf.Data{Labels: drawLabels(raw, random), Classes: 2, Aux: aux}, rank: jobsRank}, nil
}

// drawn returns a matrix of draws, row after row.
func drawn(rows, columns int, draw func() float64) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	raw := m.RawMatrix().Data
	for i := range raw {
		raw[i] = draw()
	}
	return m
}

// drawLabels returns labels 1 with the given log-odds.
func drawLabels(odds []float64, random *rand.Rand) []int {
	labels := make([]int, len(odds))
	for i, v := range odds {
		if random.Float64() < 1/(1+math.Exp(-v)) {
			labels[i] = 1
		}
	}
	return labels
}

// start returns the factors that the algorithms begin at: see Convergence.Start.
func (p *problem) start(ctx context.Context, init solver.Init, seed uint64) (topics, scores *mat.Dense, head *solver.Head, err error) {
	n, terms := p.x.Dims()
	if init != StartUniform {
		problem := &solver.Problem{X: linalg.OperatorOf(p.x, 0), Settings: solver.Settings{Rank: p.rank, Init: init, Seed: seed}}
		if topics, err = problem.OrthonormalTopics(ctx); err != nil {
			return nil, nil, nil, err
		}
		scores = mat.NewDense(n, p.rank, nil)
		problem.X.MulTo(scores, topics)
		return topics, scores, nil, nil
	}
	random := rand.New(rand.NewPCG(seed, startStream))
	signed := func() float64 { return -1 + 2*random.Float64() }
	topics, scores = drawn(terms, p.rank, random.Float64), drawn(n, p.rank, random.Float64)
	head = &solver.Head{Coefficients: drawn(1, p.rank, signed), Intercept: drawn(1, 1, signed).RawRowView(0)}
	if p.data.Aux != nil {
		_, q := p.data.Aux.Dims()
		head.AuxCoefficients = drawn(1, q, signed)
	}
	return topics, scores, head, nil
}
