package answers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
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

// ReadCodebook reads the description of items from a file in the form of Read: a row for each item with the columns item
// (its name in the answers), text, subscale, min and max (the range of its answers; both or none) and reverse (1, yes or
// true for an item that is scored from the other end). NA, NaN and a dot are empty cells, except as a name. Other columns are
// ignored, and returned. The error is a *questionnaire.Error, also about an ignored column that looks like a missing one:
// one name begins with the other, as reversed does with reverse.
func ReadCodebook(path string) (items []questionnaire.Item, ignored []string, err error) {
	defer InFile(path, &err)
	records, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer records.Close()
	first, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, &questionnaire.Error{Err: questionnaire.ErrNoCodebook}
	}
	if err != nil {
		return nil, nil, err
	}
	at, ignored, err := codebookColumns(first)
	if err != nil {
		return nil, nil, err
	}
	missing := &questionnaire.Missing{}
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			if len(items) == 0 {
				return nil, nil, &questionnaire.Error{Err: questionnaire.ErrNoCodebook}
			}
			return items, ignored, nil
		}
		if err != nil {
			return nil, nil, err
		}
		item, column, err := describe(func(name string) string {
			i, ok := at[name]
			if !ok {
				return ""
			}
			if c := clean(record[i]); name == codebookItem || !missing.Cell(c) {
				return c
			}
			return ""
		})
		if err == nil && slices.Contains(questionnaire.Names(items), item.Name) {
			column, err = codebookItem, fmt.Errorf("item %q is listed twice", item.Name)
		}
		if err != nil {
			line, _ := records.FieldPos(0)
			return nil, nil, &questionnaire.Error{Line: line, Column: column, Err: err}
		}
		items = append(items, *item)
	}
}

// codebookColumns finds the columns of a codebook, and names all others.
func codebookColumns(first []string) (at map[string]int, ignored []string, err error) {
	known := []string{codebookItem, codebookText, codebookSubscale, codebookMin, codebookMax, codebookReverse}
	names := make(header, len(first))
	for i, name := range first {
		names[i] = strings.ToLower(strings.TrimSpace(name))
	}
	at = map[string]int{}
	for _, name := range known {
		if name != codebookItem && !slices.Contains(names, name) {
			continue
		}
		if at[name], err = names.find(name); err != nil {
			return nil, nil, err
		}
	}
	const shortest = 3 // letters of a name's beginning that tell it
	for i, name := range names {
		if name == "" || slices.Contains(known, name) {
			continue
		}
		ignored = append(ignored, clean(first[i]))
		for _, k := range known {
			if _, there := at[k]; !there && (strings.HasPrefix(name, k) || len(name) >= shortest && strings.HasPrefix(k, name)) {
				return nil, nil, &questionnaire.Error{Line: 1, Column: clean(first[i]), Err: fmt.Errorf("%w: is it %q", questionnaire.ErrCodebookColumn, k)}
			}
		}
	}
	return at, ignored, nil
}

// describe returns the item of a row, or the column at fault.
func describe(cell func(string) string) (item *questionnaire.Item, column string, err error) {
	item = &questionnaire.Item{Name: cell(codebookItem), Text: cell(codebookText), Subscale: cell(codebookSubscale)}
	if item.Name == "" {
		return nil, codebookItem, errors.New("an item without a name")
	}
	if low, high := cell(codebookMin), cell(codebookMax); low != "" || high != "" {
		if item.Range, err = questionnaire.NewRange(low, high); err != nil {
			return nil, codebookMin, err
		}
	}
	switch strings.ToLower(cell(codebookReverse)) {
	case "", "0", "no", "false":
	case "1", "yes", "true":
		item.Reversed = true
	default:
		return nil, codebookReverse, questionnaire.ErrReverse
	}
	return item, "", nil
}
