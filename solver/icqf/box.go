package icqf

import "gonum.org/v1/gonum/mat"

// box is the problem of a row of W or of B: minimize over the first free entries of x, each in [0, upper] (no bound for 0),
//
//	½ xᵀGx − cᵀx + linear·Σx + ½·ridge·‖x‖².
type box struct {
	gram          *mat.Dense // free×e
	linear, ridge float64
	upper         float64
	free          int
}

const maxSweeps = 4

// minimize improves x for the cross products c, which it overwrites.
func (b *box) minimize(x, c []float64) {
	raw := b.gram.RawMatrix()
	g := c[:b.free]
	// g becomes the negative gradient.
	for t := range g {
		row := raw.Data[t*raw.Stride : t*raw.Stride+raw.Cols]
		sum := g[t] - b.linear - b.ridge*x[t]
		for s, v := range x[:len(row)] {
			sum -= row[s] * v
		}
		g[t] = sum
	}
	for range maxSweeps {
		var moved float64
		for t := range g {
			row := raw.Data[t*raw.Stride : t*raw.Stride+b.free]
			d := row[t] + b.ridge
			old := x[t]
			if d <= 0 || old == 0 && g[t] <= 0 {
				continue
			}
			v := max(0, old+g[t]/d)
			if b.upper > 0 {
				v = min(v, b.upper)
			}
			step := v - old
			if step == 0 {
				continue
			}
			x[t] = v
			moved = max(moved, step*step*d)
			for s, q := range row[:len(g)] {
				g[s] -= step * q
			}
			g[t] -= step * b.ridge
		}
		if moved == 0 {
			return
		}
	}
}
