package factoranalysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// promaxPower is Hendrickson and White's choice of the power.
	promaxPower = 4

	// maxSweeps and angleTol end the planar rotations; a dozen sweeps is usual.
	maxSweeps = 1000
	angleTol  = 1e-10
)

// Varimax returns the loadings Λ (p×k) rotated by the orthonormal T (k×k) that maximizes
//
//	Σ_t [ Σⱼ b_jt⁴/p − (Σⱼ b_jt²/p)² ],  B = H⁻¹ΛT, H the lengths of the rows of Λ,
//
// the variance of the squared loadings of each factor, where every item has equal weight (Kaiser normalization). The
// loadings returned are ΛT.
//
// Pairs of columns are rotated in their plane by the angle that is best for them, until none turns by more than 1e-10:
// H. F. Kaiser, "The varimax criterion for analytic rotation in factor analysis", 1958. The maximum is a local one.
func Varimax(loadings *mat.Dense) (rotated, rotation *mat.Dense) {
	p, k := loadings.Dims()
	rotated = mat.DenseCopyOf(loadings)
	for i := range p {
		normalize(rotated.RawRowView(i))
	}
	rotation = linalg.Identity(k)
	for range maxSweeps {
		var largest float64
		for s := range k {
			for t := range s {
				angle := varimaxAngle(rotated, t, s)
				largest = max(largest, math.Abs(angle))
				turn(rotated, t, s, angle)
				turn(rotation, t, s, angle)
			}
		}
		if largest <= angleTol {
			break
		}
	}
	rotated.Mul(loadings, rotation)
	return rotated, rotation
}

// normalize divides a row by its length, unless that is 0.
func normalize(row []float64) {
	if length := floats.Norm(row, 2); length > 0 {
		floats.Scale(1/length, row)
	}
}

// varimaxAngle returns the angle that maximizes the criterion of columns s and t.
func varimaxAngle(b *mat.Dense, s, t int) float64 {
	p, _ := b.Dims()
	var u, v, squares, products float64
	for i := range p {
		x, y := b.At(i, s), b.At(i, t)
		difference, product := x*x-y*y, 2*x*y
		u += difference
		v += product
		squares += difference*difference - product*product
		products += 2 * difference * product
	}
	n := float64(p)
	return math.Atan2(products-2*u*v/n, squares-(u*u-v*v)/n) / 4
}

func turn(b *mat.Dense, s, t int, angle float64) {
	p, _ := b.Dims()
	sin, cos := math.Sincos(angle)
	for i := range p {
		x, y := b.At(i, s), b.At(i, t)
		b.Set(i, s, cos*x+sin*y)
		b.Set(i, t, cos*y-sin*x)
	}
}

// Promax returns the pattern loadings P (p×k) and the factor correlations Φ (k×k) of the oblique rotation of the
// loadings towards the powers of their varimax rotation. With H the lengths of the rows of the loadings and HB the
// varimax rotation,
//
//	U = argmin ‖BU − B∘|B|³‖,  scaled so that the diagonal of Φ = (UᵀU)⁻¹ is 1;  P = HBU.
//
// A. E. Hendrickson and P. O. White, "Promax: a quick method for rotation to oblique simple structure", 1964, with the
// power 4. As in varimax and R's psych, every item has equal weight. If B has dependent columns, the varimax rotation
// is returned with Φ = I.
func Promax(loadings *mat.Dense) (pattern, phi *mat.Dense) {
	p, k := loadings.Dims()
	pattern, _ = Varimax(loadings)
	b := mat.DenseCopyOf(pattern)
	for i := range p {
		normalize(b.RawRowView(i))
	}
	var target, u, inverse mat.Dense
	target.Apply(func(_, _ int, v float64) float64 { return v * math.Pow(math.Abs(v), promaxPower-1) }, b)
	phi = linalg.Identity(k)
	if k < 2 || u.Solve(b, &target) != nil || inverse.Inverse(&u) != nil {
		return pattern, phi
	}
	phi.Mul(&inverse, inverse.T()) // (UᵀU)⁻¹ = U⁻¹U⁻ᵀ
	scales := lists.Make(k, func(t int) float64 { return math.Sqrt(phi.At(t, t)) })
	phi.Apply(func(s, t int, v float64) float64 {
		if s == t {
			return 1
		}
		return v / (scales[s] * scales[t])
	}, phi)
	u.Apply(func(_, t int, v float64) float64 { return v * scales[t] }, &u)
	pattern.Mul(mat.DenseCopyOf(pattern), &u)
	return pattern, phi
}

const (
	// maxProjected bounds the steps of the projected gradient, and obliqueTol ends them.
	maxProjected = 10000
	obliqueTol   = 1e-10
	// maxProjectedHalvings bounds the steps tried for one direction.
	maxProjectedHalvings = 30
	// betterMinimum is the share of the first minimum by which a second one must be lower to count as different.
	betterMinimum = 1e-6
)

// simplicity returns the value of a criterion of the pattern, p×k, and writes its derivatives there into slope, p×k.
type simplicity func(pattern, slope *mat.Dense) float64

// obliquely rotates to the pattern loadings P (p×k) and the factor correlations Φ (k×k) that minimize the criterion,
//
//	P = A·T⁻ᵀ,  Φ = TᵀT with a diagonal of ones,
//
// for loadings A (p×k), whose rows are not normalized. Each minimum is local. They are found by the projected gradient:
// R. I. Jennrich, "A simple general method for oblique rotation", 2002. The lowest of those from the starts T counts.
type obliquely struct {
	simplicity
	starts func(loadings *mat.Dense) []*mat.Dense
}

func (by *obliquely) rotate(loadings *mat.Dense) (pattern, phi *mat.Dense) {
	best := by.best(loadings)
	return best.pattern, best.phi()
}

func (by *obliquely) best(loadings *mat.Dense) (best *oblique) {
	for _, axes := range by.starts(loadings) {
		if other := by.from(loadings, axes); best == nil || other.objective < best.objective*(1-betterMinimum) {
			best = other
		}
	}
	return best
}

// plainStarts begin at the loadings as they are, like other programs, and at their varimax rotation: factors of equal
// size have no unique principal axes to start from.
func plainStarts(loadings *mat.Dense) []*mat.Dense {
	_, k := loadings.Dims()
	_, rotation := Varimax(loadings)
	return []*mat.Dense{linalg.Identity(k), rotation}
}

// Oblimin minimizes direct quartimin, which is oblimin with γ = 0: R. I. Jennrich and P. F. Sampson, "Rotation for
// simple loadings", 1966,
//
//	Σ_{s<t} Σⱼ p_js²·p_jt²/2.
//
// It returns P, p×k, and Φ, k×k, for loadings A, p×k, that are not normalized: P = A·T⁻ᵀ, Φ = TᵀT.
func Oblimin(loadings *mat.Dense) (pattern, phi *mat.Dense) { return oblimin.rotate(loadings) }

var oblimin = &obliquely{quartimin, plainStarts}

func quartimin(pattern, slope *mat.Dense) (value float64) {
	p, _ := pattern.Dims()
	for i := range p {
		var squares, fourth float64
		for _, v := range pattern.RawRowView(i) {
			squares += v * v
			fourth += v * v * v * v
		}
		value += (squares*squares - fourth) / 4
		for t, v := range pattern.RawRowView(i) {
			slope.Set(i, t, v*(squares-v*v))
		}
	}
	return value
}

// geomin is Σⱼ Π_t (p_jt² + 0.01)^(1/k): A. Yates, "Multivariate exploratory data analysis", 1987, with the constant of
// M. W. Browne, "An overview of analytic rotation in exploratory factor analysis", 2001.
func geomin(pattern, slope *mat.Dense) (value float64) {
	const shift = .01
	p, k := pattern.Dims()
	for i := range p {
		mean := 1.
		for _, v := range pattern.RawRowView(i) {
			mean *= math.Pow(v*v+shift, 1/float64(k))
		}
		value += mean
		for t, v := range pattern.RawRowView(i) {
			slope.Set(i, t, 2/float64(k)*mean*v/(v*v+shift))
		}
	}
	return value
}

// manyStarts are plainStarts and ten random ones, since geomin has many minima.
func manyStarts(loadings *mat.Dense) []*mat.Dense {
	_, k := loadings.Dims()
	starts, random := plainStarts(loadings), rand.New(rand.NewPCG(1, 0))
	for range 10 {
		var qr mat.QR
		qr.Factorize(mat.NewDense(k, k, lists.Make(k*k, func(int) float64 { return random.NormFloat64() })))
		axes := new(mat.Dense)
		qr.QTo(axes)
		starts = append(starts, axes)
	}
	return starts
}

// towards returns the rotation to a target, p×k with NaN for a loading that is free: the squares of the differences
// from the others are minimized. It starts where column t of T⁻ᵀ alone is best, up to its length: M. W. Browne,
// "Oblique rotation to a partially specified target", 1972.
func towards(target *mat.Dense) *obliquely {
	return &obliquely{func(pattern, slope *mat.Dense) (value float64) {
		slope.Apply(func(i, t int, v float64) float64 {
			d := v - target.At(i, t)
			if d != d {
				return 0
			}
			value += d * d
			return 2 * d
		}, pattern)
		return value
	}, func(loadings *mat.Dense) []*mat.Dense {
		p, k := loadings.Dims()
		columns, axes := mat.NewDense(k, k, nil), new(mat.Dense)
		for t := range k {
			const ridge = 1e-8 // for fewer targets than factors
			gram := symmetric(mat.NewDense(k, k, nil), lists.Make(k, func(int) float64 { return ridge }))
			moments, best := mat.NewVecDense(k, nil), new(mat.VecDense)
			for i := range p {
				if v := target.At(i, t); v == v {
					gram.SymRankOne(gram, 1, loadings.RowView(i))
					moments.AddScaledVec(moments, v, loadings.RowView(i))
				}
			}
			if _, vectors, ok := linalg.Eigen(gram); mat.Norm(moments, 2) == 0 && ok {
				var along mat.VecDense
				along.MulVec(loadings, vectors.ColView(0))
				best.ScaleVec(math.Copysign(1, mat.Sum(&along)), vectors.ColView(0))
			} else {
				_ = best.SolveVec(gram, moments) // nearly singular at worst
			}
			columns.SetCol(t, best.RawVector().Data)
		}
		if axes.Inverse(columns.T()) != nil {
			return plainStarts(loadings)
		}
		return []*mat.Dense{unitColumns(axes)}
	}}
}

// unitColumns scales the columns to length 1.
func unitColumns(axes *mat.Dense) *mat.Dense {
	lengths := linalg.ColumnSquares(axes)
	for t, v := range lengths {
		lengths[t] = 1 / math.Sqrt(v)
	}
	linalg.ScaleColumns(axes, axes, lengths)
	return axes
}

// from returns the minimum to which the projected gradient leads from these axes.
func (by *obliquely) from(loadings, axes *mat.Dense) *oblique {
	at := by.at(loadings, axes)
	length := 1.0
	for range maxProjected {
		direction, steepness := at.direction()
		if steepness <= obliqueTol {
			break
		}
		length *= 2
		var next *oblique
		for range maxProjectedHalvings {
			var turned mat.Dense
			turned.Scale(-length, direction)
			turned.Add(at.axes, &turned)
			if there := by.at(loadings, unitColumns(&turned)); there != nil &&
				there.objective < at.objective-length*steepness*steepness/2 {
				next = there
				break
			}
			length /= 2
		}
		if next == nil { // the remaining gain is below rounding
			break
		}
		at = next
	}
	return at
}

// oblique is a criterion at axes T.
type oblique struct {
	axes, inverse, pattern, slope *mat.Dense
	objective                     float64
}

// at returns nil if T has no inverse.
func (by *obliquely) at(loadings, axes *mat.Dense) *oblique {
	o := &oblique{axes: axes, inverse: new(mat.Dense), pattern: new(mat.Dense), slope: linalg.NewLike(loadings)}
	if o.inverse.Inverse(axes) != nil {
		return nil
	}
	o.pattern.Mul(loadings, o.inverse.T())
	o.objective = by.simplicity(o.pattern, o.slope)
	return o
}

// phi returns the correlations of the factors.
func (o *oblique) phi() *mat.Dense {
	phi := new(mat.Dense)
	phi.Mul(o.axes.T(), o.axes)
	for t := range phi.RawMatrix().Rows {
		phi.Set(t, t, 1)
	}
	return phi
}

// direction returns the gradient with respect to T, projected on the tangents of the unit columns, and its norm.
//
//	∂f/∂T = −(Pᵀ·∂f/∂P·T⁻¹)ᵀ
func (o *oblique) direction() (direction *mat.Dense, steepness float64) {
	_, k := o.pattern.Dims()
	var product, gradient mat.Dense
	product.Mul(o.pattern.T(), o.slope)
	gradient.Mul(&product, o.inverse)
	direction = mat.NewDense(k, k, nil)
	for t := range k {
		var along float64
		for s := range k {
			along -= o.axes.At(s, t) * gradient.At(t, s)
		}
		for s := range k {
			direction.Set(s, t, -gradient.At(t, s)-o.axes.At(s, t)*along)
		}
	}
	return direction, mat.Norm(direction, 2)
}
