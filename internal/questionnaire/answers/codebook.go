package answers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

// The columns of a codebook. Only the first must be there.
const (
	codebookItem     = "item"
	codebookText     = "text"
	codebookSubscale = "subscale"
	codebookMin      = "min"
	codebookMax      = "max"
	codebookReverse  = "reverse"
)

// ReadCodebook reads the description of items from a file that package table reads: a row for each item with the columns item
// (its name in the answers), text, subscale, min and max (the range of its answers; both or none) and reverse (1, yes or
// true for an item that is scored from the other end). NA, NaN and a dot are empty cells, except as a name. Other columns are
// ignored, and returned. The error is a *table.Error, also about an ignored column that looks like a missing one: one name
// begins with the other, as reversed does with reverse.
func ReadCodebook(path string) (items []questionnaire.Item, ignored []string, err error) {
	src, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	at, ignored, err := codebookColumns(src.Header())
	if err != nil {
		return nil, nil, src.at(src.HeaderLine(), err)
	}
	missing := &questionnaire.Missing{}
	for {
		row, err := src.Next()
		if errors.Is(err, io.EOF) {
			return items, ignored, nil
		}
		if err != nil {
			return nil, nil, err
		}
		cells := map[string]string{}
		for name, i := range at {
			if c := clean(row.Cells[i]); name == codebookItem || !missing.Cell(c) {
				cells[name] = c
			}
		}
		item, err := describe(cells)
		if err == nil && slices.Contains(questionnaire.Names(items), item.Name) {
			err = inColumn(codebookItem, fmt.Errorf("item %q is listed twice", item.Name))
		}
		if err != nil {
			return nil, nil, src.at(row.Line, err)
		}
		items = append(items, *item)
	}
}

// codebookColumns finds the columns of a codebook, and names all others.
func codebookColumns(header []string) (at map[string]int, ignored []string, err error) {
	known := []string{codebookItem, codebookText, codebookSubscale, codebookMin, codebookMax, codebookReverse}
	at = map[string]int{}
	for i, name := range header {
		lower := strings.ToLower(name)
		if _, twice := at[lower]; twice {
			return nil, nil, inColumn(name, table.ErrColumnTwice)
		}
		if slices.Contains(known, lower) {
			at[lower] = i
		} else if name != "" {
			ignored = append(ignored, name)
		}
	}
	if _, ok := at[codebookItem]; !ok {
		return nil, nil, inColumn(codebookItem, table.ErrNoColumn)
	}
	const shortest = 3 // letters of a name's beginning that tell it
	for _, name := range ignored {
		lower := strings.ToLower(name)
		for _, k := range known {
			if _, there := at[k]; !there && (strings.HasPrefix(lower, k) || len(lower) >= shortest && strings.HasPrefix(k, lower)) {
				return nil, nil, inColumn(name, fmt.Errorf("%w: is it %q", questionnaire.ErrCodebookColumn, k))
			}
		}
	}
	return at, ignored, nil
}

// describe returns the item of a row.
func describe(cells map[string]string) (item *questionnaire.Item, err error) {
	item = &questionnaire.Item{Name: cells[codebookItem], Text: cells[codebookText], Subscale: cells[codebookSubscale]}
	if item.Name == "" {
		return nil, inColumn(codebookItem, errors.New("an item without a name"))
	}
	if low, high := cells[codebookMin], cells[codebookMax]; low != "" || high != "" {
		if item.Range, err = questionnaire.NewRange(low, high); err != nil {
			return nil, inColumn(codebookMin, err)
		}
	}
	switch strings.ToLower(cells[codebookReverse]) {
	case "", "0", "no", "false":
	case "1", "yes", "true":
		item.Reversed = true
	default:
		return nil, inColumn(codebookReverse, questionnaire.ErrReverse)
	}
	return item, nil
}
