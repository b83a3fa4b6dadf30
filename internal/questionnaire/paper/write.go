package paper

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
)

// CSV returns the table with a header, numbers in full, and an empty cell for each that is not shown.
func (t *Table) CSV() []byte {
	rows := [][]string{t.names()}
	rows = append(rows, lists.Map(t.Rows, func(r Row) []string { return model.Cells(r.Words, r.Numbers...) })...)
	return model.CSV(rows)
}

func (t *Table) names() (names []string) {
	return lists.Map(t.Columns, func(c Column) string { return c.Name })
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
		values := lists.Map(r.Words, func(w string) any { return w })
		values = append(values, lists.Map(r.Numbers, func(v float64) any { return questionnaire.Figure(v) })...)
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

// markup writes words and numbers without markup of their own.
type markup struct {
	words *strings.Replacer
	minus string
}

// inMarkdown and inLaTeX escape markup. In LaTeX, [ or * after the end of a row is markup, and pdfLaTeX lacks
// characters.
var (
	inMarkdown = markup{strings.NewReplacer(`\`, `\\`, `|`, `\|`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `\<`,
		`[`, `\[`, `~`, `\~`, `$`, `\$`), "-"}
	inLaTeX = markup{strings.NewReplacer(`\`, `\textbackslash{}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`,
		`{`, `\{`, `}`, `\}`, `~`, `\textasciitilde{}`,
		`^`, `\textasciicircum{}`, "`", `\textasciigrave{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `[`, `{[}`,
		`*`, `{*}`, `≤`, `$\leq$`, `≥`, `$\geq$`, `≠`, `$\neq$`, `≈`, `$\approx$`, `−`, `$-$`, `ℓ`, `$\ell$`), "$-$"}
)

// text writes words on one line, with composed letters, which pdfLaTeX needs.
func (m markup) text(s string) string {
	return m.words.Replace(strings.Map(func(r rune) rune {
		const zeroWidth = '\u200b'
		switch {
		case r == zeroWidth:
			return -1
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		}
		return r
	}, norm.NFC.String(s)))
}

func (m markup) number(v float64, digits int) string {
	return strings.Replace(wording.Fixed(v, digits), wording.Minus, m.minus, 1)
}

// Markdown returns the table in the Markdown of GitHub and Pandoc, with numbers to two digits.
func (t *Table) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", inMarkdown.text(t.Caption))
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.titles(inMarkdown, func(c Column) string { return c.Title }))
	line(lists.Map(t.Columns, func(c Column) string {
		if c.Words {
			return ":---"
		}
		return "---:"
	}))
	for _, cells := range t.printed(inMarkdown) {
		line(cells)
	}
	if len(t.Notes) > 0 {
		fmt.Fprintf(&b, "\n*Note.* %s\n", inMarkdown.text(strings.Join(t.Notes, " ")))
	}
	return b.Bytes()
}

// LaTeX returns the table as a longtable, which may break over pages, with numbers to two digits. It needs the packages
// array, booktabs and longtable, and the encoding T1 for quotation marks and letters such as „ and đ.
func (t *Table) LaTeX() []byte {
	var b bytes.Buffer
	cells := t.printed(inLaTeX)
	line := func(cells []string) { fmt.Fprintf(&b, "%s \\\\\n", strings.Join(cells, " & ")) }
	titles := t.titles(inLaTeX, func(c Column) string { return cmp.Or(c.Short, c.Title) })
	fmt.Fprintf(&b, "%% needs \\usepackage[T1]{fontenc} and \\usepackage{array,booktabs,longtable}\n"+
		"{\\small\\setlength{\\tabcolsep}{3pt}\n\\begin{longtable}{%s}\n\\caption{%s}\\\\\n\\toprule\n", t.alignment(),
		inLaTeX.text(t.Caption))
	line(titles)
	b.WriteString("\\midrule\n\\endfirsthead\n\\toprule\n")
	line(titles)
	b.WriteString("\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n")
	for i, row := range cells {
		if i == len(t.Rows) {
			b.WriteString("\\midrule\n")
		}
		line(row)
	}
	b.WriteString("\\end{longtable}\n")
	if len(t.Notes) > 0 {
		fmt.Fprintf(&b, "\\noindent\\textit{Note.} %s\\par\n", inLaTeX.text(strings.Join(t.Notes, " ")))
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// Shares of the width of a line in LaTeX's article: of a letter and of a column of numbers. Texts get what is left.
const (
	letterWidth           = 0.016
	numberWidth           = 0.092
	leastWidth, mostWidth = 0.25, 0.6
)

// alignment returns the column specification of a longtable. Texts wrap.
func (t *Table) alignment() string {
	longest, numbers := 0, 0
	for _, r := range slices.Concat(t.Rows, t.Foot) {
		longest, numbers = max(longest, utf8.RuneCountInString(r.Words[0])), len(r.Numbers)
	}
	width := min(max(1-letterWidth*float64(longest)-numberWidth*float64(numbers), leastWidth), mostWidth)
	var b strings.Builder
	for i, c := range t.Columns {
		switch {
		case !c.Words:
			b.WriteByte('r')
		case i == 0:
			b.WriteByte('l')
		default:
			fmt.Fprintf(&b, `>{\raggedright}p{%.2f\linewidth}`, width)
		}
	}
	return b.String()
}

func (t *Table) titles(m markup, title func(Column) string) (titles []string) {
	return lists.Map(t.Columns, func(c Column) string { return m.text(title(c)) })
}

// printedDigits is the number of digits behind the point in a paper.
const printedDigits = 2

// printed returns the cells of rows and foot for a paper. Columns of whole numbers have no digits behind the point.
func (t *Table) printed(m markup) (all [][]string) {
	rows, digits := slices.Concat(t.Rows, t.Foot), make([]int, len(t.Columns))
	for _, r := range rows {
		for c, v := range r.Numbers {
			if v != math.Trunc(v) && !math.IsNaN(v) {
				digits[c] = printedDigits
			}
		}
	}
	for _, r := range rows {
		cells := lists.Map(r.Words, m.text)
		for c, v := range r.Numbers {
			cell := ""
			if !math.IsNaN(v) {
				cell = m.number(v, digits[c])
			}
			cells = append(cells, cell)
		}
		all = append(all, cells)
	}
	return all
}
