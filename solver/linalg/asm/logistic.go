package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // avo programs read as assembly
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// ln2High has 32 trailing zeros, so that its product with an exponent is exact: fdlibm, e_exp.c.
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10

	// underflow is an exponent whose power is 0 and does not leave the range of a float64's scale.
	underflow = -750

	taylor = 13 // 0.35¹⁴/14! < 5e-18

	// split is where log1p takes ln 2 + log((1+e)/2): √2 − 1.
	split = 0.41421356237309503
)

// logCoefficients are the coefficients of (log(1+f) − 2s)/s in s² with s = f/(2+f), |s| ≤ 0.1716, error 2⁻⁵⁸·⁴⁵:
// fdlibm, e_log.c.
var logCoefficients = []float64{
	6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
	1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
}

var constants = map[float64]operand.Mem{}

// constant returns a scalar in read-only memory.
func constant(v float64) operand.Mem {
	if m, ok := constants[v]; ok {
		return m
	}
	// F64 prints 1 as the integer
	m := ConstData(fmt.Sprintf("float%d", len(constants)), operand.U64(math.Float64bits(v)))
	constants[v] = m
	return m
}

// logistic writes the kernel of LogisticTo. Softplus is added to eight sums, by the place of an element in a group of
// eight, at both levels: they give the same bits.
func (l *level) logistic() {
	l.kernel("logistic", "func(n int, dst, m *float64) (softplus float64)",
		"stores σ(m) in dst for n elements, a positive multiple of 8, and returns Σ log(1+eᵐ).")
	n, dst, src := param("n"), param("dst"), param("m")
	sum, other := l.vector(), l.vector() // AVX2 swaps them, AVX-512 needs one
	l.zero(sum)
	if l.lanes == 4 {
		l.zero(other)
	}
	one := l.broadcast(1)

	Label("vector")
	x := l.vector()
	VMOVUPD(operand.Mem{Base: src}, x)
	e := l.expOfNegative(x)
	sigma, softplus := l.log1p(e, one)

	positive := l.vector()
	l.zero(positive)
	VMAXPD(x, positive, positive)
	VADDPD(positive, softplus, softplus)
	if l.lanes == 8 {
		VADDPD(softplus, sum, sum)
	} else {
		VADDPD(softplus, sum, softplus)
		VMOVAPD(other, sum)
		VMOVAPD(softplus, other)
	}

	// σ is 1/(1+e), or e/(1+e) where x < 0.
	VMULPD(sigma, e, e)
	if l.lanes == 8 {
		zero := l.vector()
		l.zero(zero)
		VCMPPD(operand.U8(1), zero, x, reg.K2)
		VMOVAPD(e, reg.K2, sigma)
	} else {
		VBLENDVPD(x, e, sigma, sigma)
	}
	VMOVUPD(sigma, operand.Mem{Base: dst})

	ADDQ(operand.U8(8*l.lanes), src)
	ADDQ(operand.U8(8*l.lanes), dst)
	SUBQ(operand.U8(l.lanes), n)
	JNZ(operand.LabelRef("vector"))

	l.total([]reg.VecVirtual{sum, other})
}

func (l *level) broadcast(v float64) reg.VecVirtual {
	r := l.vector()
	VBROADCASTSD(constant(v), r)
	return r
}

// fma stores a·b + c in a.
func (l *level) fma(a, b reg.VecVirtual, c float64) {
	if l.lanes == 8 {
		VFMADD213PD_BCST(constant(c), b, a)
		return
	}
	VFMADD213PD(l.broadcast(c), b, a)
}

// expOfNegative returns exp(t), t = max(−|x|, underflow), NaN in x passed on: with t = n·log 2 + r it is 2ⁿ·exp(r).
func (l *level) expOfNegative(x reg.VecVirtual) (e reg.VecVirtual) {
	t := l.vector()
	sign := l.broadcast(math.Copysign(0, -1))
	VORPD(sign, x, t)
	VMAXPD(t, l.broadcast(underflow), t)
	power, r := l.vector(), l.vector()
	VMULPD(l.broadcast(math.Log2E), t, power)
	if l.lanes == 8 {
		VRNDSCALEPD(operand.U8(0), power, power)
	} else {
		VROUNDPD(operand.U8(0), power, power)
	}
	VMOVAPD(t, r)
	VFNMADD231PD(l.broadcast(ln2High), power, r)
	VFNMADD231PD(l.broadcast(ln2Low), power, r)
	e = l.broadcast(1 / math.Gamma(taylor+1))
	for i := taylor - 1; i >= 0; i-- {
		l.fma(e, r, 1/math.Gamma(float64(i)+1))
	}
	if l.lanes == 8 {
		VSCALEFPD(power, e, e)
	} else {
		l.scale(e, power)
	}
	return e
}

// log1p returns 1/(1+e) and log(1+e) for 0 ≤ e ≤ 1 by one division,
//
//	q = 1/((1+e)·d), 1/(1+e) = q·d, log1p(e) = log 2·[e > split] + log1p(f), s = f/(2+f) = c·q·(1+e),
//
// where c/d = e/(2+e), or (e−1)/(e+3) above the split, f = e or (e−1)/2.
func (l *level) log1p(e, one reg.VecVirtual) (inverse, log reg.VecVirtual) {
	plus, c, d := l.vector(), l.vector(), l.vector()
	VADDPD(one, e, plus)
	shift := l.vector() // [e > split]
	splitAt := l.broadcast(split)
	if l.lanes == 8 {
		VCMPPD(operand.U8(14), splitAt, e, reg.K2)
		VMOVAPD_Z(one, reg.K2, shift)
	} else {
		VCMPPD(operand.U8(14), splitAt, e, shift)
		VANDPD(one, shift, shift)
	}
	VSUBPD(shift, e, c)
	VADDPD(one, plus, d)
	VADDPD(shift, d, d)

	q, inverse := l.vector(), l.vector()
	VMULPD(plus, d, q)
	VDIVPD(q, one, q)
	VMULPD(q, d, inverse)
	s, z := l.vector(), l.vector()
	VMULPD(plus, q, s)
	VMULPD(c, s, s)
	VMULPD(s, s, z)
	log = l.broadcast(logCoefficients[len(logCoefficients)-1])
	for i := len(logCoefficients) - 2; i >= 0; i-- {
		l.fma(log, z, logCoefficients[i])
	}
	VMULPD(z, log, log)
	VADDPD(s, s, z)
	VFMADD213PD(z, s, log)
	VFMADD231PD(l.broadcast(math.Ln2), shift, log)
	return inverse, log
}

// scale multiplies e by 2ⁿ in two factors, so that a subnormal result is rounded once.
func (l *level) scale(e, power reg.VecVirtual) {
	n, first := XMM(), XMM()
	VCVTPD2DQY(power, n)
	VPSRAD(operand.U8(1), n, first)
	VPSUBD(first, n, n)
	for _, half := range []reg.VecVirtual{first, n} {
		wide, bias := YMM(), YMM()
		VPMOVSXDQ(half, wide)
		VPSLLQ(operand.U8(52), wide, wide)
		VBROADCASTSD(constant(1), bias)
		VPADDQ(bias, wide, wide)
		VMULPD(wide, e, e)
	}
}
