package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build" //nolint:revive // avo programs read as assembly
	"github.com/mmcloughlin/avo/operand"
)

// box writes a kernel of Box: v vectors of each row of X take all their rounds before the next.
func (l *level) box(v int) {
	name := fmt.Sprintf("box%d%s", v, l.name)
	TEXT(name, attr.NOSPLIT, "func(k, rounds int, x, c *float64, row int, gram, inverse *float64, upper float64)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s makes the given number ≥ 1 of rounds of coordinate descent on %d vectors of each of k ≥ 1 rows of X,", name, v),
		"for those of C. gram is k×k without gaps.")
	rounds := Load(Param("rounds"), GP64())
	x := Load(Param("x"), GP64())
	c := Load(Param("c"), GP64())
	row := bytes("row")
	SUBQ(x, c)
	zero, upper, left := l.vector(), l.vector(), l.vector()
	l.zero(zero)
	bound := Load(Param("upper"), XMM())
	VBROADCASTSD(bound, upper)
	sums, xt, xs, g, inverse, t, s := l.vectors(v), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	at := func(i int, base operand.Mem) operand.Mem {
		base.Disp = 8 * l.lanes * i
		return base
	}

	Label("round")
	MOVQ(x, xt)
	Load(Param("gram"), g)
	Load(Param("inverse"), inverse)
	Load(Param("k"), t)
	Label("row")
	for i := range v {
		VMOVUPD(at(i, operand.Mem{Base: xt, Index: c, Scale: 1}), sums[i])
	}
	MOVQ(x, xs)
	Load(Param("k"), s)
	Label("term")
	VBROADCASTSD(operand.Mem{Base: g}, left)
	for i := range v {
		VFNMADD231PD(at(i, operand.Mem{Base: xs}), left, sums[i])
	}
	ADDQ(row, xs)
	ADDQ(operand.U8(8), g)
	DECQ(s)
	JNZ(operand.LabelRef("term"))
	VBROADCASTSD(operand.Mem{Base: inverse}, left)
	for i := range v {
		VFMADD213PD(at(i, operand.Mem{Base: xt}), left, sums[i])
		VMAXPD(sums[i], zero, sums[i]) // the second source, in Go the first, is what a NaN in either gives
		VMINPD(sums[i], upper, sums[i])
		VMOVUPD(sums[i], at(i, operand.Mem{Base: xt}))
	}
	ADDQ(row, xt)
	ADDQ(operand.U8(8), inverse)
	DECQ(t)
	JNZ(operand.LabelRef("row"))
	DECQ(rounds)
	JNZ(operand.LabelRef("round"))
	VZEROUPPER()
	RET()
}
