package linalg_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver/linalg"
)

// TestSVDOfText checks the accuracy that SVDSettings states.
func TestSVDOfText(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	words, err := matrixio.Read(filepath.Join(shared, "cases", "text", "tfidf_words_by_docs.mtx.gz"))
	if err != nil {
		t.Fatal(err)
	}
	documents := linalg.OperatorOf(matrixio.Transposed(words), 0)
	want := readNumbers(t, filepath.Join("testdata", "tfidf_singular_values.txt"))
	for _, test := range []struct {
		rank, iterations int
		tol              float64
	}{{10, 0, 1e-3}, {50, 0, 1e-3}, {150, 0, 1e-3}, {50, 4, 3e-2}} {
		t.Run(fmt.Sprintf("k=%d/iterations=%d", test.rank, test.iterations), func(t *testing.T) {
			t.Parallel()
			got, err := linalg.SVD(documents, linalg.SVDSettings{Rank: test.rank, PowerIterations: test.iterations})
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range got.S {
				if e := math.Abs(s/want[i] - 1); e > test.tol {
					t.Errorf("σ[%d] = %g, want %g: off by %g", i, s, want[i], e)
				}
			}
		})
	}
}

// readNumbers returns the numbers of a file with one in each line.
func readNumbers(t *testing.T, path string) []float64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var numbers []float64
	for lines := bufio.NewScanner(file); lines.Scan(); {
		v, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, v)
	}
	return numbers
}
