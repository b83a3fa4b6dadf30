package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

func Example() {
	var file bytes.Buffer
	err := safetensors.Write(&file, safetensors.Tensors{"topics": {Shape: []int{2, 1}, Data: []float64{0.6, 0.8}}},
		map[string]string{"seed": "7"})
	fmt.Println(err)
	tensors, metadata, err := safetensors.Read(file.Bytes())
	fmt.Println(tensors["topics"].Shape, tensors["topics"].Data, metadata["seed"], err)

	_, _, err = safetensors.Read(file.Bytes()[:file.Len()-1])
	fmt.Println(err)
	// Output:
	// <nil>
	// [2 1] [0.6 0.8] 7 <nil>
	// malformed safetensors: tensor "topics": offsets [0 16] in 15 bytes
}
