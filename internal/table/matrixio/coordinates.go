package matrixio

import (
	"sort"

	"github.com/wardcast/wardcast/solver/matrix"
)

// coordinates holds the entries of a sparse matrix in file order, rows and columns from 0.
type coordinates struct {
	rows, columns []int32
	values        []float64
	lines         []lineOffset
}

// lineOffset says that entry e stands in line e + offset, for e ≥ from up to the next lineOffset's.
type lineOffset struct{ from, offset int }

// add appends an entry that stands in the given line.
func (c *coordinates) add(i, j int, v float64, line int) {
	e := len(c.values)
	if len(c.lines) == 0 || line-e != c.lines[len(c.lines)-1].offset {
		c.lines = append(c.lines, lineOffset{e, line - e})
	}
	c.rows = append(c.rows, int32(i))
	c.columns = append(c.columns, int32(j))
	c.values = append(c.values, v)
}

// mirror adds the entry (j, i) for every (i, j) off the diagonal.
func (c *coordinates) mirror() {
	for e, i := range c.rows {
		if j := c.columns[e]; i != j {
			c.rows = append(c.rows, j)
			c.columns = append(c.columns, i)
			c.values = append(c.values, c.values[e])
		}
	}
}

// csr returns the n×p matrix of the entries, or an error with the line of the first that is a repeat. It sorts by
// counting, on columns and then on rows, at O(n + p + nnz).
func (c *coordinates) csr(n, p int) (*matrix.CSR, error) {
	next := starts(c.columns, p)
	order := make([]int, len(c.values)) // the entries by column
	for e, j := range c.columns {
		order[next[j]] = e
		next[j]++
	}
	indptr := starts(c.rows, n)
	next = append(next[:0], indptr...)
	indices, values := make([]int32, len(c.values)), make([]float64, len(c.values))
	for _, e := range order {
		i, j := c.rows[e], c.columns[e]
		to := next[i]
		if to > indptr[i] && indices[to-1] == j {
			return nil, malformed(c.line(e), 0, "row %d, column %d for the second time", i+1, j+1)
		}
		indices[to], values[to] = j, c.values[e]
		next[i]++
	}
	return matrix.NewCSR(n, p, indptr, indices, values)
}

// line returns the line of entry e.
func (c *coordinates) line(e int) int {
	l := sort.Search(len(c.lines), func(l int) bool { return c.lines[l].from > e }) - 1
	return e + c.lines[l].offset
}

// starts returns where each of n keys begins when the keys are sorted, and their number at the end.
func starts(keys []int32, n int) []int {
	s := make([]int, n+1)
	for _, k := range keys {
		s[k+1]++
	}
	for i := range n {
		s[i+1] += s[i]
	}
	return s
}
