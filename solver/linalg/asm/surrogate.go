package main

import (
	. "github.com/mmcloughlin/avo/build" //nolint:revive // avo programs read as assembly
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	unordered = 3
	ordered   = 7
)

// surrogate writes the kernel of Surrogate. Squares are added to eight sums, by the place of an element in a group of
// eight, at both levels: they give the same bits.
func (l *level) surrogate() {
	l.kernel("surrogate", "func(n int, answers, fit, multipliers, constants *float64) (squared float64)",
		"makes the step of Surrogate for n elements, a positive multiple of 8. The constants are ρ, 1/(1+ρ), 1/ρ "+
			"and\nthe range.")
	n, answers, fits := param("n"), param("answers"), param("fit")
	multipliers, constants := param("multipliers"), param("constants")
	at := func(i int) reg.VecVirtual {
		v := l.vector()
		VBROADCASTSD(operand.Mem{Base: constants, Disp: 8 * i}, v)
		return v
	}
	rho, seen, unseen, low, high := at(0), at(1), at(2), at(3), at(4)
	sums := l.vectors(8 / l.lanes)
	for _, sum := range sums {
		l.zero(sum)
	}

	Label("elements")
	for i, sum := range sums {
		offset := 8 * l.lanes * i
		m, fit, a, z, d := l.vector(), l.vector(), l.vector(), l.vector(), l.vector()
		VMOVUPD(operand.Mem{Base: answers, Disp: offset}, m)
		VMOVUPD(operand.Mem{Base: fits, Disp: offset}, fit)
		VMOVUPD(operand.Mem{Base: multipliers, Disp: offset}, a)
		VMOVAPD(fit, z)
		VFMSUB213PD(a, rho, z) // ρ·fit − a
		if l.lanes == 8 {
			inverse := l.vector()
			VCMPPD(operand.U8(ordered), m, m, reg.K1)
			VSUBPD_Z(fit, m, reg.K1, d)
			VADDPD(m, z, reg.K1, z)
			VMOVAPD(unseen, inverse)
			VMOVAPD(seen, reg.K1, inverse)
			VMULPD(inverse, z, z)
		} else {
			missing := l.vector()
			VCMPPD(operand.U8(unordered), m, m, missing)
			VSUBPD(fit, m, d)
			VANDNPD(d, missing, d)
			VANDNPD(m, missing, m)
			VADDPD(m, z, z)
			VBLENDVPD(missing, unseen, seen, m)
			VMULPD(m, z, z)
		}
		VFMADD231PD(d, d, sum)
		VMAXPD(z, low, z)
		VMINPD(z, high, z)
		VSUBPD(fit, z, fit)
		VFMADD231PD(fit, rho, a) // a + ρ·(z − fit)
		VMOVUPD(a, operand.Mem{Base: multipliers, Disp: offset})
		VFMADD231PD(a, unseen, z)
		VMOVUPD(z, operand.Mem{Base: fits, Disp: offset})
	}
	for _, p := range []reg.Register{answers, fits, multipliers} {
		ADDQ(operand.U8(64), p)
	}
	SUBQ(operand.U8(8), n)
	JNZ(operand.LabelRef("elements"))

	l.total(sums)
}

// total returns the sum of eight sums, in one order at both levels.
func (l *level) total(sums []reg.VecVirtual) {
	y := sums[0].AsY()
	other := sums[len(sums)-1].AsY()
	if l.lanes == 8 {
		other = YMM()
		VEXTRACTF64X4(operand.U8(1), sums[0], other)
	}
	VADDPD(other, y, y)
	upper, total := XMM(), sums[0].AsX()
	VEXTRACTF128(operand.U8(1), y, upper)
	VADDPD(upper, total, total)
	VHADDPD(total, total, total)
	VZEROUPPER()
	Store(total, ReturnIndex(0))
	RET()
}

// box writes the kernel of Box: some vectors of each row of X get all their rounds before the next vectors.
func (l *level) box() {
	l.kernel("box", "func(vectors, k, rounds int, x, c *float64, row int, gram, inverse *float64, upper float64)",
		`makes the given number ≥ 1 of rounds of coordinate descent on 1, 2, 4 … vectors, at most the lanes of one, of
each of k ≥ 1 rows of X, for those of C. gram is k×k without gaps.`)
	rounds, x, c := param("rounds"), param("x"), param("c")
	row := bytes("row")
	SUBQ(x, c)
	zero, upper, left := l.vector(), l.vector(), l.vector()
	l.zero(zero)
	bound := Load(Param("upper"), XMM())
	VBROADCASTSD(bound, upper)
	xt, xs, g, inverse, t, s := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	l.choose("vectors", l.powers(), func(v int) {
		sums, round, entry, term := l.vectors(v), l.label("round"), l.label("row"), l.label("term")
		Label(round)
		MOVQ(x, xt)
		Load(Param("gram"), g)
		Load(Param("inverse"), inverse)
		Load(Param("k"), t)
		Label(entry)
		for i := range v {
			cross := l.address(xt, i)
			cross.Index, cross.Scale = c, 1
			VMOVUPD(cross, sums[i])
		}
		MOVQ(x, xs)
		Load(Param("k"), s)
		Label(term)
		VBROADCASTSD(operand.Mem{Base: g}, left)
		for i := range v {
			VFNMADD231PD(l.address(xs, i), left, sums[i])
		}
		ADDQ(row, xs)
		ADDQ(operand.U8(8), g)
		DECQ(s)
		JNZ(operand.LabelRef(term))
		VBROADCASTSD(operand.Mem{Base: inverse}, left)
		for i := range v {
			VFMADD213PD(l.address(xt, i), left, sums[i])
			VMAXPD(sums[i], zero, sums[i]) // the second source, in Go the first, is what a NaN in either gives
			VMINPD(sums[i], upper, sums[i])
			VMOVUPD(sums[i], l.address(xt, i))
		}
		ADDQ(row, xt)
		ADDQ(operand.U8(8), inverse)
		DECQ(t)
		JNZ(operand.LabelRef(entry))
		DECQ(rounds)
		JNZ(operand.LabelRef(round))
		VZEROUPPER()
		RET()
	})
}
