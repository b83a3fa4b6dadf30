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
	found = append([]*kernels{avx2()}, found...)
	if !x86.HasAVX512F || !x86.HasAVX512DQ || !x86.HasAVX512VL || !x86.HasBMI2 {
		return found
	}
	return append([]*kernels{avx512()}, found...)
}

func avx512() *kernels {
	return &kernels{
		name: "avx512", lanes: 8,
		product: [][]productKernel{
			{product1x1AVX512, product1x2AVX512, product1x3AVX512},
			{product2x1AVX512, product2x2AVX512, product2x3AVX512},
			{product4x1AVX512, product4x2AVX512, product4x3AVX512},
			{product8x1AVX512, product8x2AVX512, product8x3AVX512},
		},
		sparse: []sparseKernel{
			sparse1AVX512, sparse2AVX512, sparse3AVX512, sparse4AVX512, sparse5AVX512,
			sparse6AVX512, sparse7AVX512, sparse8AVX512, sparse9AVX512, sparse10AVX512,
		},
		logistic: logisticAVX512,
		box:      []boxKernel{box1AVX512, box2AVX512, box4AVX512, box8AVX512}, surrogate: surrogateAVX512,
	}
}

func avx2() *kernels {
	return &kernels{
		name: "avx2", lanes: 4,
		product: [][]productKernel{
			{product1x1AVX2, product1x2AVX2, product1x3AVX2},
			{product2x1AVX2, product2x2AVX2, product2x3AVX2},
			{product4x1AVX2, product4x2AVX2, product4x3AVX2},
		},
		sparse: []sparseKernel{
			sparse1AVX2, sparse2AVX2, sparse3AVX2, sparse4AVX2, sparse5AVX2,
			sparse6AVX2, sparse7AVX2, sparse8AVX2, sparse9AVX2, sparse10AVX2,
		},
		logistic: logisticAVX2,
		box:      []boxKernel{box1AVX2, box2AVX2, box4AVX2}, surrogate: surrogateAVX2,
	}
}
