package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

const (
	// strongCorrelation is the |ρ| from which the integrand over the angle is no longer close to a polynomial. Genz
	// chose this bound, and the bounds between the numbers of quadrature points.
	strongCorrelation = 0.925
	fewPoints         = 0.3
	somePoints        = 0.75

	// negligible is an exponent of e. With a smaller exponent the term is lost when it is added to 1.
	negligible = -100
)

// point is a node of a quadrature rule on [0, 1] with its weight.
type point struct{ x, weight float64 }

var (
	points6  = legendre(6)
	points12 = legendre(12)
	points20 = legendre(20)
)

func legendre(n int) []point {
	x, weight := make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(x, weight, 0, 1)
	points := make([]point, n)
	for i := range points {
		points[i] = point{x[i], weight[i]}
	}
	return points
}

// bivariate is the standard normal distribution of two variables (A, B) of correlation ρ, −1 ≤ ρ ≤ 1, prepared for many
// points. Its probabilities are exact to 1e-14.
//
// The method is that of Z. Drezner and G. O. Wesolowsky, "On the computation of the bivariate normal integral", 1990,
// as A. Genz made it exact to double precision in "Numerical computation of rectangular bivariate and trivariate normal
// and t probabilities", 2004, section 2.
type bivariate struct {
	rho   float64
	nodes [20]angle
	n     int // nodes in use, 0 if |ρ| ≥ strongCorrelation
}

// angle is a node θ of the integral over the correlation sin θ.
type angle struct{ sin, half, weight float64 } // half is 1/(2cos²θ), weight includes asin(ρ)/2π

func (v *bivariate) to(rho float64) {
	v.rho, v.n = rho, 0
	rule := points20
	switch r := math.Abs(rho); {
	case r >= strongCorrelation:
		return
	case r < fewPoints:
		rule = points6
	case r < somePoints:
		rule = points12
	}
	end := math.Asin(rho)
	for _, p := range rule {
		sin := math.Sin(end * p.x)
		v.nodes[v.n] = angle{sin: sin, half: 1 / (2 * (1 - sin*sin)), weight: p.weight * end / (2 * math.Pi)}
		v.n++
	}
}

// cdf returns P(A ≤ a, B ≤ b) for finite a and b, given Φ(a) and Φ(b). For |ρ| < 0.925 it is
//
//	Φ(a)·Φ(b) + 1/(2π)·∫₀^{asin ρ} exp(−(a² + b² − 2ab·sin θ)/(2cos²θ)) dθ.
func (v *bivariate) cdf(a, b, phiA, phiB float64) float64 {
	if v.n == 0 {
		return v.strong(a, b)
	}
	squares, product, sum := a*a+b*b, 2*a*b, 0.0
	for _, t := range v.nodes[:v.n] {
		sum += t.weight * math.Exp((product*t.sin-squares)*t.half)
	}
	return max(0, phiA*phiB+sum)
}

// density returns the density at (a, b), also the derivative of cdf with respect to ρ (Plackett 1954). |ρ| < 1.
func (v *bivariate) density(a, b float64) float64 {
	free := 1 - v.rho*v.rho
	return math.Exp((2*v.rho*a*b-a*a-b*b)/(2*free)) / (2 * math.Pi * math.Sqrt(free))
}

// strong is cdf for |ρ| ≥ 0.925. With h = −a, k = −b·s and s the sign of ρ, it subtracts from the probability at ρ = s
//
//	s/(2π)·∫₀^√(1−ρ²) exp(−(h−k)²/(2x²) − hk/(1+√(1−x²)))/√(1−x²) dx,
//
// The steep part, exp(−(h−k)²/(2x²) − hk/2) times the expansion 1 + c·x²·(1 + d·x²) of the rest, is integrated exactly,
// and only the remainder numerically.
func (v *bivariate) strong(a, b float64) float64 {
	h, k, sign := -a, -b, 1.0
	limit := upperTail(max(h, k))
	if v.rho < 0 {
		limit = max(0, upperTail(h)-upperTail(-k))
		k, sign = -k, -1
	}
	end := math.Sqrt((1 - v.rho) * (1 + v.rho))
	hk, square := h*k, (h-k)*(h-k)
	if end == 0 || -(square/(end*end)+hk)/2 < negligible {
		return limit
	}
	c, d := (4-hk)/8, (12-hk)/16

	edge, gap := math.Exp(-(square/(end*end)+hk)/2), math.Abs(h-k)
	i0 := end*edge - math.Exp(-hk/2)*math.Sqrt(2*math.Pi)*gap*upperTail(gap/end) // ∫ of the steep part alone
	i2 := (end*end*end*edge - square*i0) / 3                                     // times x²
	i4 := (math.Pow(end, 5)*edge - square*i2) / 5                                // times x⁴
	integral := i0 + c*(i2+d*i4)

	for _, p := range points20 {
		x := end * p.x
		steep := -(square/(x*x) + hk) / 2
		if steep < negligible {
			continue
		}
		root := math.Sqrt(1 - x*x)
		// hk/(1+root) − hk/2 = hk·(1−root)/(2(1+root))
		rest := math.Exp(-hk*(1-root)/(2*(1+root)))/root - (1 + c*x*x*(1+d*x*x))
		integral += end * p.weight * math.Exp(steep) * rest
	}
	return min(1, max(0, limit-sign*integral/(2*math.Pi)))
}

// upperTail returns 1 − Φ(x).
func upperTail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
