package questionnaire

import (
	"math"
	"slices"
	"strings"
)

// Missing tells which cells are missing entries. In every file these are an empty cell, NA, NaN and a dot; a file may have
// codes of its own.
type Missing struct {
	codes   []string
	numbers []float64 // the codes that are numbers
}

// NewMissing returns the missing entries of a file with these codes.
func NewMissing(codes []string) *Missing {
	m := &Missing{codes: codes}
	for _, code := range codes {
		if v, err := Number(code); err == nil {
			m.numbers = append(m.numbers, v)
		}
	}
	return m
}

// Cell reports whether a trimmed cell is a missing entry as it is spelled.
func (m *Missing) Cell(cell string) bool {
	return cell == "" || cell == "." || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN") || slices.Contains(m.codes, cell)
}

// Number reports whether a number is a code.
func (m *Missing) Number(v float64) bool { return slices.Contains(m.numbers, v) }

// Value returns the number in a cell, NaN for a missing entry.
func (m *Missing) Value(cell string) (float64, error) {
	cell = strings.TrimSpace(cell)
	if m.Cell(cell) {
		return math.NaN(), nil
	}
	v, err := Number(cell)
	if err == nil && m.Number(v) {
		return math.NaN(), nil
	}
	return v, err
}
