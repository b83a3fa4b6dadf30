//go:build !purego

package linalg

import "golang.org/x/sys/cpu"

//go:generate go -C asm run . -out ../stubs_amd64.s -stubs ../stubs_amd64.go -pkg linalg

// levels returns the kernels that this processor can run, the fastest first. GODEBUG=cpu.avx512f=off leaves AVX2 the
// fastest, cpu.avx2=off Go.
func levels() []*kernels {
	found := []*kernels{{name: "go"}}
	x86 := &cpu.X86
	if !x86.HasAVX2 || !x86.HasFMA {
		return found
	}
	found = append([]*kernels{{
		name: "avx2", lanes: 4, product: productAVX2, sparse: sparseAVX2, logistic: logisticAVX2, box: boxAVX2,
		surrogate: surrogateAVX2,
	}}, found...)
	if !x86.HasAVX512F || !x86.HasAVX512DQ || !x86.HasAVX512VL || !x86.HasBMI2 {
		return found
	}
	return append([]*kernels{{
		name: "avx512", lanes: 8, product: productAVX512, sparse: sparseAVX512, logistic: logisticAVX512,
		box: boxAVX512, surrogate: surrogateAVX512,
	}}, found...)
}
