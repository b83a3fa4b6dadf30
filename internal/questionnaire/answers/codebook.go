package answers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

// Codebook describes items.
type Codebook struct {
	Items []questionnaire.Item
	// ID is the first field of a data dictionary, which REDCap takes for the ids; "" if it has a usual name.
	ID string
	// Ignored are columns that no codebook has, NoItems the fields of a data dictionary that are not items. Mixed are
	// those of NoItems whose choices are numbers only in part.
	Ignored, NoItems, Mixed []string
	// Doubtful are choices that look like codes of missing answers, each once. They do not count as answers.
	Doubtful []questionnaire.Choice
}

// codebookItem is the required column of a codebook.
const codebookItem = "item"

// ReadCodebook reads the description of items from one of three kinds of files.
//
//   - A table that package table reads: a row for each item with the columns item (its name in the answers), text,
//     subscale, min and max (the range of its answers; both or none) and reverse (1, yes or true for an item that is
//     scored from the other end). NA, NaN and a dot are empty cells, except as a name. Other columns are ignored. It is
//     an error if an ignored column looks like a missing one: one name begins with the other, as reversed does with
//     reverse.
//   - A data dictionary of REDCap, which has a column "Variable / Field Name" or field_name. Its fields with numbered
//     choices and its sliders are items; the range is that of the choices without the codes of missing entries. A
//     checkbox is one item of 0 and 1 for each choice, as in field___1. The form is the subscale.
//   - The keys of R's package psych as JSON: an object with a list of items, or the one item, for each scale. A name
//     behind a hyphen is a reversed item. The first of several scales of an item is its subscale, and it counts in all
//     of them.
//
// The error is a *table.Error.
func ReadCodebook(path string, missing []string) (*Codebook, error) {
	if ext, _ := table.Extensions(path); ext == ".json" {
		if b, err := readKeys(path); b != nil || err != nil {
			return b, err
		}
	}
	src, err := open(path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	b, at, named := &Codebook{}, dictionaryColumns(src.Header), map[string]bool{}
	codes := questionnaire.NewMissing(missing)
	describeRow := func(cells map[string]string) ([]questionnaire.Item, error) {
		usual := func(name string) bool { return strings.EqualFold(name, cells[codebookItem]) }
		if len(b.Items)+len(b.NoItems) == 0 && cells["type"] == "text" && !slices.ContainsFunc(usualIDs, usual) {
			b.ID = cells[codebookItem]
		}
		return b.describeField(cells, codes), nil
	}
	if at == nil {
		describeRow = describe
		if at, b.Ignored, err = codebookColumns(src.Header); err != nil {
			return nil, src.at(src.HeaderLine, err)
		}
	}
	blank := &questionnaire.Missing{}
	for row, err := range src.Rows() {
		if err != nil {
			return nil, err
		}
		cells := map[string]string{}
		for name, i := range at {
			if c := clean(row.Cells[i]); name == codebookItem || !blank.Cell(c) {
				cells[name] = c
			}
		}
		if cells[codebookItem] == "" {
			return nil, src.at(row.Line, inColumn(codebookItem, errors.New("an item without a name")))
		}
		items, err := describeRow(cells)
		if err == nil {
			err = b.add(items, named)
		}
		if err != nil {
			return nil, src.at(row.Line, err)
		}
		if len(items) == 0 {
			b.NoItems = append(b.NoItems, cells[codebookItem])
		}
	}
	return b, nil
}

// mostDescribed bounds the items of a codebook: as many as a table has columns.
const mostDescribed = 100_000

// add adds items, each of which may come once; named are those that came.
func (b *Codebook) add(items []questionnaire.Item, named map[string]bool) error {
	for _, item := range items {
		switch {
		case named[item.Name]:
			return inColumn(codebookItem, fmt.Errorf("item %q is listed twice", item.Name))
		case len(b.Items) == mostDescribed:
			return inColumn(codebookItem, fmt.Errorf("more than %d items", mostDescribed))
		}
		named[item.Name] = true
		b.Items = append(b.Items, item)
	}
	return nil
}

// codebookColumns finds the columns of a codebook, and names all others.
func codebookColumns(header []string) (at map[string]int, ignored []string, err error) {
	known := []string{codebookItem, "text", "subscale", "min", "max", "reverse"}
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
		return nil, nil, inColumn(codebookItem, fmt.Errorf("%w: a codebook has the column item and may have text, "+
			"subscale, min, max and reverse; or it is a data dictionary of REDCap, or a .json file with keys of psych",
			table.ErrNoColumn))
	}
	const shortest = 3 // letters at the beginning that identify a name
	for _, name := range ignored {
		lower := strings.ToLower(name)
		for _, k := range known {
			if _, there := at[k]; !there &&
				(strings.HasPrefix(lower, k) || len(lower) >= shortest && strings.HasPrefix(k, lower)) {
				return nil, nil, inColumn(name, fmt.Errorf("not a column of a codebook: is it %q", k))
			}
		}
	}
	return at, ignored, nil
}

// describe returns the item in a row of a codebook.
func describe(cells map[string]string) (items []questionnaire.Item, err error) {
	item := questionnaire.Item{Name: cells[codebookItem], Text: cells["text"], Subscale: cells["subscale"]}
	if low, high := cells["min"], cells["max"]; low != "" || high != "" {
		if item.Range, err = questionnaire.NewRange(low, high); err != nil {
			return nil, inColumn("min", err)
		}
	}
	switch strings.ToLower(cells["reverse"]) {
	case "", "0", "no", "false":
	case "1", "yes", "true":
		item.Reversed = true
	default:
		return nil, inColumn("reverse", errors.New("must be 0, 1, no, yes, false or true"))
	}
	return []questionnaire.Item{item}, nil
}

// dictionaryNames are the columns of a data dictionary of REDCap, as its web page and its API name them.
var dictionaryNames = map[string]string{
	"variable / field name": codebookItem, "field_name": codebookItem,
	"form name": "subscale", "form_name": "subscale",
	"field type": "type", "field_type": "type",
	"field label": "text", "field_label": "text",
	"choices, calculations, or slider labels": "choices", "select_choices_or_calculations": "choices",
	"text validation min": "min", "text_validation_min": "min",
	"text validation max": "max", "text_validation_max": "max",
}

// dictionaryColumns finds the columns of a data dictionary; nil if the file is not a data dictionary.
func dictionaryColumns(header []string) map[string]int {
	at := map[string]int{}
	for i, name := range header {
		if role, ok := dictionaryNames[strings.ToLower(name)]; ok {
			at[role] = i
		}
	}
	_, hasItem := at[codebookItem]
	if _, hasType := at["type"]; !hasItem || !hasType {
		return nil
	}
	return at
}

// tag is an element of HTML, which labels of REDCap may hold.
var tag = regexp.MustCompile(`<[^<>]*>`)

// plain returns a label without HTML, its spaces joined.
func plain(label string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(label, " "))), " ")
}

// describeField returns the items of a field in a data dictionary, if its kind has any.
func (b *Codebook) describeField(cells map[string]string, missing *questionnaire.Missing) []questionnaire.Item {
	item := questionnaire.Item{Name: cells[codebookItem], Text: plain(cells["text"]), Subscale: cells["subscale"]}
	choices := splitChoices(cells["choices"])
	setTwo := func(one, zero string) {
		item.Range = &questionnaire.Range{Low: 0, High: 1}
		item.Choices = []questionnaire.Choice{{Code: "1", Label: one}, {Code: "0", Label: zero}}
	}
	switch strings.ToLower(cells["type"]) {
	case "radio", "dropdown":
		item.Choices = choices
		var doubtful []questionnaire.Choice
		item.Range, doubtful = scale(choices, missing)
		b.Doubtful = lists.Union(b.Doubtful, doubtful)
		numbers := lists.Count(choices, func(c questionnaire.Choice) bool {
			_, err := missing.Value(c.Code)
			return err == nil
		})
		if item.Range == nil && numbers > 0 && numbers < len(choices) {
			b.Mixed = append(b.Mixed, item.Name)
		}
	case "yesno":
		setTwo("Yes", "No")
	case "truefalse":
		setTwo("True", "False")
	case "slider":
		item.Range = &questionnaire.Range{Low: 0, High: 100} // REDCap's, unless the limits are given
		if r, err := questionnaire.NewRange(cells["min"], cells["max"]); err == nil {
			item.Range = r
		}
	case "checkbox":
		setTwo("Checked", "Unchecked")
		item.Status = item.Subscale + "_complete"
		return lists.Map(choices, func(choice questionnaire.Choice) questionnaire.Item {
			box := item
			box.Name += boxSign + unnamed.ReplaceAllString(strings.ToLower(choice.Code), "_")
			box.Text = strings.TrimPrefix(item.Text+": "+choice.Label, ": ")
			return box
		})
	}
	if item.Range == nil {
		return nil
	}
	return []questionnaire.Item{item}
}

// splitChoices reads "1, Never | 2, Often". A label may hold the sign itself: what does not begin with a code and a
// comma, and is not a number, belongs to the label before.
func splitChoices(cell string) (all []questionnaire.Choice) {
	for part := range strings.SplitSeq(cell, "|") {
		code, label, _ := strings.Cut(part, ",")
		code = strings.TrimSpace(code)
		switch _, err := questionnaire.Number(code); {
		case code == "" && strings.TrimSpace(label) == "":
		case len(all) > 0 && err != nil && (code == "" || label == "" || strings.ContainsAny(code, " \t")):
			all[len(all)-1].Label += "|" + part
		default:
			all = append(all, questionnaire.Choice{Code: code, Label: label})
		}
	}
	for i := range all {
		all[i].Label = plain(all[i].Label)
	}
	return all
}

// boxSign stands in the name of a column of REDCap between the name of a checkbox and a choice.
const boxSign = "___"

// unnamed is what REDCap writes as _ where the code of a choice is part of a column's name.
var unnamed = regexp.MustCompile(`[^a-z0-9]`)

// Bounds of a file of keys: its bytes, and the further scales of one item.
const maxKeys, maxScales = 1 << 20, 1000

// readKeys reads the keys of psych; nil for any other JSON.
func readKeys(path string) (*Codebook, error) {
	data, err := files.Read(path, maxKeys)
	switch {
	case errors.Is(err, files.ErrTooLarge): // a table may be larger
		return nil, nil
	case err != nil:
		return nil, &table.Error{File: path, Err: table.Cause(err)}
	case !utf8.Valid(data):
		return nil, &table.Error{File: path, Err: table.ErrEncoding}
	}
	var scales map[string]json.RawMessage
	areKeys := json.Unmarshal(data, &scales) == nil && scales[codebookItem] == nil // which a row of a table has
	lists := 0
	for _, items := range scales {
		if bytes.HasPrefix(items, []byte("[")) {
			lists++
		} else if !bytes.HasPrefix(items, []byte(`"`)) { // R writes a scale of one item so
			areKeys = false
		}
	}
	if !areKeys || lists == 0 {
		return nil, nil
	}
	fail := func(scale string, err error) (*Codebook, error) {
		return nil, &table.Error{File: path, Err: fmt.Errorf("scale %q: %w", scale, err)}
	}
	b, places := &Codebook{}, map[string]int{}  // of the items
	d := json.NewDecoder(bytes.NewReader(data)) // a second time, since a map has no order
	for _, err = d.Token(); err == nil && d.More(); {
		token, _ := d.Token()
		scale, _ := token.(string)
		var raw json.RawMessage
		names := make([]string, 1)
		if err := d.Decode(&raw); err != nil || json.Unmarshal(raw, &names[0]) != nil &&
			json.Unmarshal(raw, &names) != nil {
			return fail(scale, errors.New("must be a list of the names of items"))
		}
		if scales[scale] == nil {
			return fail(scale, errors.New("the file has this scale twice"))
		}
		delete(scales, scale)
		for _, name := range names {
			bare, reversed := strings.CutPrefix(strings.TrimSpace(name), "-")
			item := questionnaire.Item{Name: strings.TrimSpace(bare), Subscale: scale, Reversed: reversed}
			first, known := places[item.Name]
			switch {
			case item.Name == "":
				return fail(scale, errors.New("an item without a name"))
			case !known:
				places[item.Name] = len(b.Items)
				b.Items = append(b.Items, item)
			case len(b.Items[first].Others) == maxScales:
				return fail(scale, fmt.Errorf("item %q is in more than %d scales", item.Name, maxScales))
			case b.Items[first].Reversed != item.Reversed:
				return fail(scale, fmt.Errorf("item %q is reversed in one scale and not in another", item.Name))
			case !slices.Contains(b.Items[first].Scales(""), scale):
				b.Items[first].Others = append(b.Items[first].Others, scale)
			}
		}
	}
	return b, nil
}
