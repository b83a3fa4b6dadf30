package solver

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// Init names a start.
type Init string

// The starts.
const (
	// InitSVD takes the right singular vectors of X, each with the sign that makes more of the scores positive.
	InitSVD Init = "svd"
	// InitRandom draws the topics from the uniform distribution on orthonormal p×k matrices.
	InitRandom Init = "random"
	// InitKMeans takes an orthonormal basis of the centroids of k clusters of documents.
	InitKMeans Init = "kmeans"
)

const (
	// randomStream and kmeansStream are the second words of the generators' seeds.
	randomStream = 0x7261_6e64
	kmeansStream = 0x6b6d_6e73

	// startPowerIterations and startOversampling are for singular vectors that are only a start: time is better spent
	// on updates. On tf-idf text the first objective is within 1 % of that with exact vectors, and the last one is the
	// same.
	startPowerIterations = 2
	startOversampling    = 5
)

// OrthonormalTopics returns a new p×k matrix F with FᵀF = I to start from:
//
//   - StartTopics, or the nearest orthonormal matrix if they are not orthonormal to 1e-10;
//   - else, with StartScores G alone, the best topics for them, the polar factor of XᵀG;
//   - else the start of Init.
//
// For InitSVD, column t of V is taken with the sign for which ‖⟨X·v⟩₊‖ is larger (a tie keeps it), because methods with
// scores ≥ 0 lose the other half. If k exceeds min(n, p) or the rank of X, further columns complete the set. InitKMeans
// takes the orthonormal matrix nearest to Centroids, which has the span of Q of their QR decomposition (Li et al.,
// section 8.2). When ctx ends, it uses the centroids reached so far; the other starts are not interrupted.
func (p *Problem) OrthonormalTopics(ctx context.Context) (*mat.Dense, error) {
	_, terms := p.X.Dims()
	s := &p.Settings
	topics, threads := mat.NewDense(terms, s.Rank, nil), linalg.Threads(s.Threads)
	switch {
	case s.StartTopics != nil:
		topics.Copy(s.StartTopics)
	case s.StartScores != nil:
		p.X.MulTransTo(topics, s.StartScores)
		return topics, threads.PolarTo(topics, topics)
	case s.Init == InitSVD:
		s := linalg.SVDSettings{
			Rank: s.Rank, PowerIterations: startPowerIterations, Oversampling: startOversampling,
			Seed: s.Seed, Threads: threads,
		}
		return topics, linalg.RightVectorsTo(topics, p.X, s)
	case s.Init == InitRandom:
		random := rand.New(rand.NewPCG(s.Seed, randomStream))
		raw := topics.RawMatrix().Data
		for i := range raw {
			raw[i] = random.NormFloat64()
		}
		return topics, threads.PolarTo(topics, topics)
	case s.Init == InitKMeans:
		return topics, threads.PolarTo(topics, p.Centroids(ctx))
	}
	return topics, threads.Orthonormalize(topics)
}

// maxRounds bounds the rounds of Lloyd's algorithm, like R's kmeans: the clusters are only a start.
const maxRounds = 10

// Centroids returns the means of k clusters of documents in the columns of a new p×k matrix: k-means++ (Arthur and
// Vassilvitskii 2007) and at most ten rounds of Lloyd's algorithm, each at two products of X with k columns.
//
// The first centres are documents drawn by k-means++. A document joins the first of equally near clusters; a cluster
// that loses its last document keeps its centre. Document i is at squared distance ‖xᵢ‖² − 2·xᵢᵀc + ‖c‖², so that X is
// only multiplied.
//
// When ctx ends, it returns what it has reached: the means of the last round, or the documents drawn by then and zeros.
func (p *Problem) Centroids(ctx context.Context) *mat.Dense {
	norms := rowNorms(p.X)
	n, terms := p.X.Dims()
	k := p.Settings.Rank
	c := mat.NewDense(terms, k, nil)
	p.seedCentroids(ctx, c, norms)

	products, members := mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
	means := mat.NewDense(terms, k, nil)
	cluster, size := make([]int, n), make([]float64, k)
	for round := 0; round < maxRounds && ctx.Err() == nil; round++ {
		p.X.MulTo(products, c)
		if moved := assign(cluster, products, linalg.ColumnSquares(c)); moved == 0 && round > 0 {
			break
		}
		clear(size)
		for _, t := range cluster {
			size[t]++
		}
		members.Zero()
		for i, t := range cluster {
			members.Set(i, t, 1/size[t])
		}
		p.X.MulTransTo(means, members)
		for t := range k {
			if size[t] > 0 {
				c.ColView(t).(*mat.VecDense).CopyVec(means.ColView(t))
			}
		}
	}
	return c
}

// seedCentroids draws k documents, each with probability proportional to its squared distance from those drawn
// before, or uniformly if all distances are 0.
func (p *Problem) seedCentroids(ctx context.Context, c *mat.Dense, norms []float64) {
	n, terms := p.X.Dims()
	_, k := c.Dims()
	random := rand.New(rand.NewPCG(p.Settings.Seed, kmeansStream))
	pick, products, centre := mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil), mat.NewDense(terms, 1, nil)
	distance := make([]float64, n)
	drawn := random.IntN(n)
	for t := range k {
		if ctx.Err() != nil {
			return
		}
		pick.Zero()
		pick.Set(drawn, 0, 1)
		p.X.MulTransTo(centre, pick)
		c.ColView(t).(*mat.VecDense).CopyVec(centre.ColView(0))
		p.X.MulTo(products, centre)
		var total float64
		for i := range distance {
			d := max(0, norms[i]-2*products.At(i, 0)+norms[drawn])
			if i == drawn {
				d = 0
			}
			if t == 0 || d < distance[i] {
				distance[i] = d
			}
			total += distance[i]
		}
		drawn = draw(random, distance, total)
	}
}

// draw returns an index with probability proportional to its weight.
func draw(random *rand.Rand, weights []float64, total float64) int {
	if !(total > 0) {
		return random.IntN(len(weights))
	}
	rest, last := random.Float64()*total, 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i
		if rest -= w; rest < 0 {
			break
		}
	}
	return last
}

// assign stores the nearest cluster of each document and returns the number of documents that changed theirs.
func assign(cluster []int, products *mat.Dense, norms []float64) (moved int) {
	for i := range cluster {
		nearest, least := 0, 0.0
		for t, xc := range products.RawRowView(i) {
			if d := norms[t] - 2*xc; t == 0 || d < least {
				nearest, least = t, d
			}
		}
		if nearest != cluster[i] {
			cluster[i] = nearest
			moved++
		}
	}
	return moved
}

// rowNorms returns ‖xᵢ‖² of the rows of X.
func rowNorms(x mat.Matrix) []float64 {
	row := linalg.RowsOf(x)
	n, _ := x.Dims()
	norms := make([]float64, n)
	for i := range norms {
		_, values := row(i)
		for _, v := range values {
			norms[i] += v * v
		}
	}
	return norms
}
