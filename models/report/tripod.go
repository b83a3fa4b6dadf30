package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Item answers one item of TRIPOD+AI.
type Item struct {
	Number string `json:"item"`
	Topic  string `json:"topic"`
	Answer string `json:"answer"`
}

// items returns the items of TRIPOD+AI that a program can answer, by number.
func (r *Report) items() (all []Item, err error) {
	text, err := r.Say("items")
	for item := range slices.Chunk(strings.Split(text, "\x00")[1:], 3) {
		all = append(all, Item{Number: item[0], Topic: item[1], Answer: item[2]})
	}
	return all, err
}

// settings returns the plain values of a JSON object by name, lists and objects by their lengths.
func settings(raw json.RawMessage) string {
	var all map[string]any
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return "not on record"
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name].(type) {
		case nil:
		case map[string]any:
			out = append(out, fmt.Sprintf("%s: %d entries", name, len(v)))
		case []any:
			out = append(out, fmt.Sprintf("%s: %d entries", name, len(v)))
		default:
			out = append(out, fmt.Sprintf("%s %v", name, v))
		}
	}
	return strings.Join(out, ", ")
}
