package matrixio_test

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
)

func ExampleRead() {
	dir, err := os.MkdirTemp("", "matrixio")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "terms-by-documents.mtx")
	const file = "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 0.5\n2 2 1.25\n3 1 2\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	x, err := matrixio.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	documents, terms := matrixio.Transposed(x).Dims()
	fmt.Println(documents, "documents,", terms, "terms, sum", mat.Sum(x))
	// Output: 2 documents, 3 terms, sum 3.75
}
