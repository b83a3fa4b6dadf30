package items

import (
	"math/bits"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// mostSplitItems is the largest number of items of which all splits are tried, 6,435 of them. randomSplits is the
// number that is drawn of more items. Both are those of psych.
const mostSplitItems, randomSplits = 16, 10000

// SplitHalf is the reliability of the whole by what its halves have in common. For halves A and B of the items, of
// sizes that differ by at most one,
//
//	reliability = p²/(|A|·|B|)·Σ_{i∈A, j∈B} S_ij / Σ_ij S_ij
//
// With equal sizes the factor is 4 (Rulon 1939; Guttman 1945), and for halves of equal variance too, this is their
// correlation after the correction of Spearman and Brown. For unequal sizes it is the coefficient of Raju (1970); psych
// keeps the factor 4 there, which lets three items of reliability .92 have .83. The mean of all splits is the
// standardized α.
type SplitHalf struct {
	Lowest  float64 `json:"lowest"` // β of Revelle (1979)
	Mean    float64 `json:"mean"`
	Highest float64 `json:"highest"` // λ4 of Guttman (1945)
	// Splits is the number of splits, and All tells whether these are all. If they are random ones, the lowest of all
	// may be lower, and the highest higher.
	Splits int  `json:"splits"`
	All    bool `json:"all"`
}

// splitHalf tries all splits of the items of S, p×p, or draws random ones; nil if the sum of the items has no variance.
//
// The cost is p² for each split.
func splitHalf(s *mat.SymDense, seed uint64, threads linalg.Threads) *SplitHalf {
	p := s.SymmetricDim()
	all := mat.Sum(s)
	if !(all > rounding*float64(p)) {
		return nil
	}
	half := &SplitHalf{All: p <= mostSplitItems}
	var values []float64
	if half.All {
		values = allSplits(s)
	} else {
		values = drawnSplits(s, rand.New(rand.NewPCG(seed, 0)), threads)
	}
	floats.Scale(float64(p*p)/float64(p/2*(p-p/2))/all, values)
	half.Splits = len(values)
	half.Lowest, half.Mean, half.Highest = floats.Min(values), stat.Mean(values, nil), floats.Max(values)
	return half
}

// allSplits returns Σ_{i∈A, j∈B} S_ij of each split once.
func allSplits(s *mat.SymDense) (values []float64) {
	p := s.SymmetricDim()
	for half := range uint(1) << p {
		if bits.OnesCount(half) != p/2 || p%2 == 0 && half&1 == 0 { // the other half of another split
			continue
		}
		between := 0.0
		for i := range p {
			for j := range p {
				if half>>i&1 == 1 && half>>j&1 == 0 {
					between += s.At(i, j)
				}
			}
		}
		values = append(values, between)
	}
	return values
}

// drawnSplits returns Σ_{i∈A, j∈B} S_ij of random splits: aᵀS·1 − aᵀS·a, where a is 1 for items in A and 0 for others.
func drawnSplits(s *mat.SymDense, random *rand.Rand, threads linalg.Threads) []float64 {
	p := s.SymmetricDim()
	const block = 500 // splits for one product of matrices
	square, halves := mat.DenseCopyOf(s), mat.NewDense(p, block, nil)
	sums := make([]float64, p)
	for i := range sums {
		sums[i] = floats.Sum(square.RawRowView(i))
	}
	values := make([]float64, randomSplits)
	for from := 0; from < randomSplits; from += block {
		halves.Zero()
		for b := range block {
			for _, i := range random.Perm(p)[:p/2] {
				halves.Set(i, b, 1)
			}
		}
		products := threads.Product(square, halves)
		for i := range p {
			for b, in := range halves.RawRowView(i) {
				values[from+b] += in * (sums[i] - products.At(i, b))
			}
		}
	}
	return values
}
