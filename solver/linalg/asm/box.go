package main

import (
	. "github.com/mmcloughlin/avo/build" //nolint:revive // avo programs read as assembly
	"github.com/mmcloughlin/avo/operand"
)

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
