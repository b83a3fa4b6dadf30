package smf

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// labels are the classes of the documents, 0 … κ, with their weights in the loss (nil: all 1).
type labels struct {
	class   []int
	weights []float64
}

func (l *labels) weight(i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weights[i]
}

// loss returns Σ wᵢ·ℓ(yᵢ, aᵢ) of activations n×κ and stores the probabilities of classes 1 … κ in the n×κ matrix probs,
// which may be activations. With m = max(0, max_c a_c) nothing overflows:
//
//	ℓ = m + log(e⁻ᵐ + Σ exp(a_c − m)) − a_y
func (l *labels) loss(probs, activations *mat.Dense) float64 {
	var total float64
	for i, y := range l.class {
		total += l.weight(i) * softmax(probs.RawRowView(i), activations.RawRowView(i), y)
	}
	return total
}

// softmax stores the probabilities of classes 1 … κ for activations a in p, which may be a, and returns ℓ(y, a).
func softmax(p, a []float64, y int) float64 {
	var top, chosen float64
	for _, v := range a {
		top = max(top, v)
	}
	if y > 0 {
		chosen = a[y-1]
	}
	sum := math.Exp(-top)
	for c, v := range a {
		e := math.Exp(v - top)
		p[c] = e
		sum += e
	}
	for c := range p {
		p[c] /= sum
	}
	return top - chosen + math.Log(sum)
}

// residualTo stores in dst wᵢ·(pᵢ − e_yᵢ), the gradient of the loss with respect to the activations. dst may be probs.
func (l *labels) residualTo(dst, probs *mat.Dense) {
	for i, y := range l.class {
		out, w := dst.RawRowView(i), l.weight(i)
		for c, v := range probs.RawRowView(i) {
			if c == y-1 {
				v--
			}
			out[c] = w * v
		}
	}
}

// curve multiplies directions, n×κ, by the Hessian of the loss with respect to the activations: for document i
//
//	wᵢ·(diag(p) − p·pᵀ)·direction.
func (l *labels) curve(directions, probs *mat.Dense) {
	for i := range l.class {
		p, v, w := probs.RawRowView(i), directions.RawRowView(i), l.weight(i)
		var inner float64
		for c := range p {
			inner += p[c] * v[c]
		}
		for c := range p {
			v[c] = w * p[c] * (v[c] - inner)
		}
	}
}

// curvature bounds the eigenvalues of that Hessian: 1/4 for two classes and 1/2 for more, times the largest weight.
func (l *labels) curvature(kappa int) float64 {
	largest := 1.0
	if l.weights != nil {
		largest = slices.Max(l.weights)
	}
	if kappa == 1 {
		return largest / 4
	}
	return largest / 2
}
