// Command asm writes the assembly of the kernels of solver/linalg; `go generate` runs it. It is a module of its own, so
// that avo is not a dependency of the product.
package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build" //nolint:revive // avo programs read as assembly
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is an instruction set. Every kernel masks the last vector of a row, so that no width is special.
type level struct {
	name   string
	lanes  int // float64s in a vector
	vector func() reg.VecVirtual
	mask   reg.Register // of AVX-512
	masks  operand.Mem  // of AVX2: the mask of the last vector
	labels int
}

func main() {
	ConstraintExpr("!purego")
	avx2Masks := GLOBL("avx2Masks", attr.RODATA|attr.NOPTR)
	for i := range 8 {
		DATA(8*i, operand.U64(^uint64(0)*uint64((7-i)/4)))
	}
	for _, l := range []*level{
		{name: "AVX512", lanes: 8, vector: ZMM},
		{name: "AVX2", lanes: 4, vector: YMM, masks: avx2Masks},
	} {
		l.product()
		l.sparse()
		l.logistic()
		l.box()
		l.surrogate()
	}
	Generate()
}

// kernel begins a kernel of these parameters; doc continues its name.
func (l *level) kernel(name, signature, doc string) {
	TEXT(name+l.name, attr.NOSPLIT, signature)
	Pragma("noescape")
	Doc(strings.Split(name+l.name+" "+doc, "\n")...)
}

// choose writes a body for each value of a parameter, one of these, each of which must return.
func (l *level) choose(parameter string, values []int, body func(v int)) {
	given := Load(Param(parameter), GP64())
	last := len(values) - 1
	for _, v := range values[:last] {
		other := l.label(parameter)
		CMPQ(given, operand.U8(v))
		JNE(operand.LabelRef(other))
		body(v)
		Label(other)
	}
	body(values[last])
}

// label returns a label that no other body has.
func (l *level) label(name string) string {
	l.labels++
	return fmt.Sprintf("%s%d", name, l.labels)
}

// powers returns 1, 2, 4 … up to the lanes.
func (l *level) powers() (out []int) {
	for v := 1; v <= l.lanes; v *= 2 {
		out = append(out, v)
	}
	return out
}

// setMask makes the mask of the last vector from the number of its lanes that count.
func (l *level) setMask() {
	lanes := param("lanes")
	if l.lanes == 8 {
		l.mask = reg.K1
		all := GP64()
		MOVQ(operand.U32(255), all)
		BZHIQ(lanes, all, all)
		KMOVB(all.As32(), reg.K1)
		return
	}
	table := GP64()
	LEAQ(operand.Mem{Symbol: l.masks.Symbol, Base: reg.StaticBase}, table)
	NEGQ(lanes)
	LEAQ(operand.Mem{Base: table, Index: lanes, Scale: 8, Disp: 32}, table)
	l.masks.Base = nil
	l.mask = table
}

// move loads or stores vector i of a row of v vectors; spare is a register that AVX2 may use for the mask.
func (l *level) move(i, v int, from, to operand.Op, spare reg.VecVirtual) {
	_, load := from.(operand.Mem)
	switch {
	case i < v-1:
		VMOVUPD(from, to)
	case l.lanes == 4:
		VMOVUPD(operand.Mem{Base: l.mask}, spare)
		VMASKMOVPD(from, spare, to)
	case load:
		VMOVUPD_Z(from, reg.K1, to)
	default:
		VMOVUPD(from, reg.K1, to)
	}
}

func (l *level) vectors(n int) []reg.VecVirtual {
	out := make([]reg.VecVirtual, n)
	for i := range out {
		out[i] = l.vector()
	}
	return out
}

func (l *level) zero(v reg.VecVirtual) {
	if l.lanes == 8 {
		VPXORQ(v, v, v)
	} else {
		VXORPD(v, v, v)
	}
}

func param(name string) reg.Register { return Load(Param(name), GP64()) }

// bytes loads a stride in elements and makes it one in bytes.
func bytes(name string) reg.Register {
	r := param(name)
	SHLQ(operand.U8(3), r)
	return r
}

// address returns that of vector j of a row.
func (l *level) address(row reg.Register, j int) operand.Mem {
	return operand.Mem{Base: row, Disp: 8 * l.lanes * j}
}

// product writes the kernel that adds A·B to C, or stores it, some rows of C at a time: a tile of rows × vectors stays
// in registers while one column of A meets one row of B.
func (l *level) product() {
	l.kernel("product", "func(rows, vectors, m, k int, a *float64, aRow, aCol int, b *float64, bRow int, c *float64, "+
		"cRow, lanes int, add bool)",
		`stores A·B in C, or adds it, by tiles of 1, 2, 4 … rows, at most the lanes of a vector, and of 1 to 3
vectors, of the last the given lanes. m rows are a positive multiple of those of a tile. Element (i, t) of A is
a[i·aRow + t·aCol]; b and c are row-major; k ≥ 1.`)
	l.setMask()
	m, a := param("m"), param("a")
	aRow, aCol := bytes("aRow"), bytes("aCol")
	b := param("b")
	bRow := bytes("bRow")
	c := param("c")
	cRow := bytes("cRow")
	at, at4, aRow3, bt, k := GP64(), GP64(), GP64(), GP64(), GP64()
	// element returns the address of element i of the column of A that begins at at.
	element := func(i int) operand.Mem {
		e := []operand.Mem{{}, {Index: aRow, Scale: 1}, {Index: aRow, Scale: 2}, {Index: aRow3, Scale: 1}}[i%4]
		if e.Base = at; i >= 4 {
			e.Base = at4
		}
		return e
	}
	tile := func(rows, v int) {
		if rows >= 4 {
			LEAQ(operand.Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)
		}
		sums, right, left := l.vectors(rows*v), l.vectors(v), l.vector()
		next, add, multiply, step := l.label("tile"), l.label("add"), l.label("multiply"), l.label("step")
		Label(next)
		flag := Load(Param("add"), GP8())
		TESTB(flag, flag)
		JNZ(operand.LabelRef(add))
		for _, sum := range sums {
			l.zero(sum)
		}
		JMP(operand.LabelRef(multiply))
		Label(add)
		MOVQ(c, at)
		for i, sum := range sums {
			l.move(i%v, v, l.address(at, i%v), sum, left)
			if i%v == v-1 {
				ADDQ(cRow, at)
			}
		}
		Label(multiply)
		MOVQ(a, at)
		if rows > 4 {
			LEAQ(operand.Mem{Base: a, Index: aRow, Scale: 4}, at4)
		}
		MOVQ(b, bt)
		Load(Param("k"), k)

		Label(step)
		for j := range v {
			l.move(j, v, l.address(bt, j), right[j], left)
		}
		for i, sum := range sums {
			switch {
			case l.lanes == 8 && v == 1:
				VFMADD231PD_BCST(element(i), right[0], sum)
				continue
			case i%v == 0:
				VBROADCASTSD(element(i/v), left)
			}
			VFMADD231PD(left, right[i%v], sum)
		}
		ADDQ(aCol, at)
		if rows > 4 {
			ADDQ(aCol, at4)
		}
		ADDQ(bRow, bt)
		DECQ(k)
		JNZ(operand.LabelRef(step))

		for i, sum := range sums {
			l.move(i%v, v, sum, l.address(c, i%v), left)
			if i%v == v-1 {
				ADDQ(cRow, c)
			}
		}
		LEAQ(operand.Mem{Base: a, Index: aRow, Scale: uint8(rows)}, a)
		SUBQ(operand.U8(rows), m)
		JNZ(operand.LabelRef(next))
		VZEROUPPER()
		RET()
	}
	l.choose("rows", l.powers(), func(rows int) {
		l.choose("vectors", []int{1, 2, 3}, func(v int) { tile(rows, v) })
	})
}

// sparse writes the kernel for rows of a sparse matrix: the vectors of a row of the result stay in registers while its
// entries pass.
func (l *level) sparse() {
	l.kernel("sparse", "func(vectors, rows int, indptr *int, indices *int32, values, d *float64, dRow int, dst "+
		"*float64, dstRow, lanes int)",
		`stores X·D in dst for the given number ≥ 1 of rows of X and of 1 to 10 vectors, of the last the given lanes.
indptr points at the start of the first row; indices and values at the entries of the whole matrix.`)
	l.setMask()
	rows, indptr, indices, values, d := param("rows"), param("indptr"), param("indices"), param("values"), param("d")
	dRow := bytes("dRow")
	dst := param("dst")
	dstRow := bytes("dstRow")
	entry, end, from := GP64(), GP64(), GP64()
	MOVQ(operand.Mem{Base: indptr}, entry)
	l.choose("vectors", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, func(v int) {
		sums, last, spare, value := l.vectors(v), l.vector(), l.vector(), l.vector()
		row, next, store := l.label("row"), l.label("entry"), l.label("store")
		Label(row)
		for j := range v {
			l.zero(sums[j])
		}
		MOVQ(operand.Mem{Base: indptr, Disp: 8}, end)
		CMPQ(entry, end)
		JGE(operand.LabelRef(store))
		Label(next)
		MOVLQSX(operand.Mem{Base: indices, Index: entry, Scale: 4}, from)
		IMULQ(dRow, from)
		ADDQ(d, from)
		VBROADCASTSD(operand.Mem{Base: values, Index: entry, Scale: 8}, value)
		for j := range v {
			at := l.address(from, j)
			if j < v-1 {
				VFMADD231PD(at, value, sums[j])
				continue
			}
			l.move(j, v, at, last, spare)
			VFMADD231PD(last, value, sums[j])
		}
		INCQ(entry)
		CMPQ(entry, end)
		JLT(operand.LabelRef(next))

		Label(store)
		for j := range v {
			l.move(j, v, sums[j], l.address(dst, j), spare)
		}
		ADDQ(dstRow, dst)
		ADDQ(operand.U8(8), indptr)
		DECQ(rows)
		JNZ(operand.LabelRef(row))
		VZEROUPPER()
		RET()
	})
}
