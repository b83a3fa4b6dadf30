package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/wardcast/wardcast/internal/wording"
)

//go:embed card.md.tmpl
var cardTemplate string

var card = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("card").Funcs(functions).Funcs(template.FuncMap{
		"plain": plain, "window": windowRow,
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"field": func(name, text string) string { return fmt.Sprintf("- **%s**: %s", name, orElse(plain(text), missing)) },
	}).Parse(cardTemplate))
})

// Card returns card.md, with the sections of CHAI's applied model card version 0.2.
func (r *Report) Card() (string, error) {
	var b strings.Builder
	if err := card().Execute(&b, r.document()); err != nil {
		return "", fmt.Errorf("writing the card: %w", err)
	}
	return b.String(), nil
}

// plain returns a text on one line that Markdown interprets neither as a table nor as HTML.
func plain(text string) string {
	return strings.NewReplacer("<", "&lt;", "|", `\|`).Replace(strings.Join(strings.Fields(text), " "))
}

func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return wording.Fixed(*v, 3)
}

func windowRow(name string, w Window) string {
	patients := "unknown"
	if w.Patients > 0 {
		patients = grouped(w.Patients)
	}
	share := "–"
	if w.Notes > 0 {
		share = fmt.Sprintf("%s (%s)", grouped(w.Events), wording.Percent(float64(w.Events)/float64(w.Notes)))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", name, orElse(days(w), "unknown"), grouped(w.Notes), share,
		patients)
}

func evaluatedOn(k Kind) string {
	return "evaluation, " + map[Kind]string{
		Later: "later", Latest: "the latest training notes", OutOfFold: "cross-validated",
	}[k]
}

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
