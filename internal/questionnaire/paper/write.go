package paper

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// CSV returns the table with a header, numbers in full, and an empty cell for each that is not shown.
func (t *Table) CSV() []byte {
	rows := [][]string{t.names()}
	for _, r := range t.Rows {
		row := slices.Clone(r.Words)
		for _, v := range r.Numbers {
			row = append(row, model.Cell(v))
		}
		rows = append(rows, row)
	}
	return model.CSV(rows)
}

func (t *Table) names() (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// JSON returns the table as a list with an object for each row, one on a line; a number that is not shown is null.
func (t *Table) JSON() ([]byte, error) {
	var b bytes.Buffer
	names := t.names()
	b.WriteByte('[')
	for i, r := range t.Rows {
		if i > 0 {
			b.WriteString(",\n")
		}
		values := make([]any, 0, len(names))
		for _, w := range r.Words {
			values = append(values, w)
		}
		for _, v := range r.Numbers {
			if math.IsNaN(v) {
				values = append(values, nil)
			} else {
				values = append(values, v)
			}
		}
		for c, value := range values { // a map would lose the order of the columns
			name, errName := json.Marshal(names[c])
			data, err := json.Marshal(value)
			if err = cmp.Or(errName, err); err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%s%s:%s", []string{"{", ","}[min(c, 1)], name, data)
		}
		b.WriteByte('}')
	}
	b.WriteString("]\n")
	return b.Bytes(), nil
}

// inMarkdown and inLaTeX escape what would be markup in a cell. In LaTeX, [ or * behind the end of a row is markup too.
var (
	inMarkdown = strings.NewReplacer(`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `\<`, `[`, `\[`, `~`, `\~`, `$`, `\$`, "\n", " ", "\r", " ")
	inLaTeX    = strings.NewReplacer(`\`, `\textbackslash{}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`, `{`, `\{`, `}`, `\}`, `~`, `\textasciitilde{}`,
		`^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `[`, `{[}`, `*`, `{*}`, "\n", " ", "\r", " ")
)

// Markdown returns the table in the Markdown of GitHub and Pandoc, with numbers to two digits.
func (t *Table) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", inMarkdown.Replace(t.Caption))
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.titles(inMarkdown))
	var rule []string
	for _, c := range t.Columns {
		if c.Words {
			rule = append(rule, ":---")
		} else {
			rule = append(rule, "---:")
		}
	}
	line(rule)
	for _, cells := range t.printed(inMarkdown) {
		line(cells)
	}
	if len(t.Notes) > 0 {
		fmt.Fprintf(&b, "\n*Note.* %s\n", inMarkdown.Replace(strings.Join(t.Notes, " ")))
	}
	return b.Bytes()
}

// LaTeX returns the table as a longtable, which may break over pages, with numbers to two digits. It needs the packages
// booktabs and longtable.
func (t *Table) LaTeX() []byte {
	var b bytes.Buffer
	var columns strings.Builder
	for i, c := range t.Columns {
		switch {
		case !c.Words:
			columns.WriteByte('r')
		case i == 0:
			columns.WriteByte('l')
		default:
			columns.WriteString(`p{0.4\linewidth}`) // texts wrap
		}
	}
	line := func(cells []string) { fmt.Fprintf(&b, "%s \\\\\n", strings.Join(cells, " & ")) }
	fmt.Fprintf(&b, "%% needs \\usepackage{booktabs,longtable}\n\\begin{longtable}{%s}\n\\caption{%s}\\\\\n\\toprule\n", &columns, inLaTeX.Replace(t.Caption))
	line(t.titles(inLaTeX))
	b.WriteString("\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n")
	for i, cells := range t.printed(inLaTeX) {
		if i == len(t.Rows) {
			b.WriteString("\\midrule\n")
		}
		line(cells)
	}
	b.WriteString("\\end{longtable}\n")
	if len(t.Notes) > 0 {
		fmt.Fprintf(&b, "\\noindent\\textit{Note.} %s\n", inLaTeX.Replace(strings.Join(t.Notes, " ")))
	}
	return b.Bytes()
}

func (t *Table) titles(escape *strings.Replacer) (titles []string) {
	for _, c := range t.Columns {
		titles = append(titles, escape.Replace(c.Title))
	}
	return titles
}

// printedDigits is the number of digits behind the point in a paper.
const printedDigits = 2

// printed returns the cells of the rows and of the foot for a paper. Columns of whole numbers, such as counts, have no digits
// behind the point.
func (t *Table) printed(escape *strings.Replacer) (all [][]string) {
	rows := slices.Concat(t.Rows, t.Foot)
	var digits []int
	for _, r := range rows {
		if digits == nil {
			digits = make([]int, len(r.Numbers))
		}
		for c, v := range r.Numbers {
			if v != math.Trunc(v) && !math.IsNaN(v) {
				digits[c] = printedDigits
			}
		}
	}
	for _, r := range rows {
		var cells []string
		for _, w := range r.Words {
			cells = append(cells, escape.Replace(w))
		}
		for c, v := range r.Numbers {
			cell := ""
			if !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'f', digits[c], 64)
			}
			cells = append(cells, cell)
		}
		all = append(all, cells)
	}
	return all
}
