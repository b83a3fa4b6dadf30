package table

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
)

// What is counted while a table is read.
const (
	blankLeftOut = iota
	commasRead
	headersLeftOut
)

type event struct{ count, first int }

func (r *Reader) count(kind, line int) {
	e := &r.told[kind]
	if e.count++; e.count == 1 {
		e.first = line
	}
}

// tell reports what was counted, once.
func (r *Reader) tell() {
	for kind, message := range [...]string{
		blankLeftOut:   "rows whose cells are all empty are left out",
		commasRead:     "numbers with a decimal comma are read as numbers, since semicolons separate the cells",
		headersLeftOut: "the two further header rows of Qualtrics are left out",
	} {
		if e := r.told[kind]; e.count > 0 && r.warn != nil {
			r.warn(message, "file", r.File, "count", e.count, "first_line", e.first)
		}
		r.told[kind] = event{}
	}
}

// nameless is the header of a column of row names or of an index: nothing in CSV, and what pandas and R make of that.
var nameless = regexp.MustCompile(`^(|Unnamed: \d+|__index_level_\d+__|\.\.\.\d+)$`)

// Named returns the columns that have a name. It reports how many have none.
func (r *Reader) Named() []int {
	columns := lists.Where(len(r.Header), func(i int) bool { return !nameless.MatchString(r.Header[i]) })
	if left := len(r.Header) - len(columns); left > 0 && r.warn != nil {
		r.warn("columns without a name are left out: they hold row names or an index", "file", r.File, "columns", left)
	}
	return columns
}

// decimalComma is a number of a program whose language has decimal commas; it then separates cells by semicolons. One
// of the form thousands may be a whole number, and so may one with a point beside decimal commas.
var (
	decimalComma = regexp.MustCompile(`^\s*[+-]?\d*,\d+\s*$`)
	thousands    = regexp.MustCompile(`^\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*$`)
)

// tabs reads cells that tabs separate. A quotation mark is part of a cell, as most exports write it, unless marks
// enclose the cell and those in it are doubled, as Excel writes it. Such a cell may hold line ends, but then no tabs.
func (s *separated) tabs() (cells []string, line int, err error) {
	text := ""
	for text == "" {
		if text, err = s.textLine(); err != nil {
			return nil, 0, err
		}
	}
	line = s.line
	for more := true; more; {
		var cell, rest string
		if cell, rest, more = strings.Cut(text, "\t"); strings.HasPrefix(text, `"`) {
			if inner, after, ok := s.quoted(text[1:]); ok {
				cell = inner
				_, rest, more = strings.Cut(after, "\t")
			}
		}
		cells, text = append(cells, cell), rest
	}
	return cells, line, nil
}

// quoted returns the cell that begins behind a quotation mark, and what follows the closing one: a tab, or nothing. ok
// is false if there is no such mark.
func (s *separated) quoted(text string) (cell, after string, ok bool) {
	const mostLines = 1000
	var lines []string // after the first
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '"')
		if at += max(0, i); i >= 0 && strings.HasPrefix(text[at:], `""`) {
			at += 2
			continue
		}
		if i >= 0 {
			cell, after = text[:at], text[at+1:]
			ok = (after == "" || after[0] == '\t') && (lines == nil || !strings.Contains(cell, "\t"))
		}
		if i < 0 && len(lines) < mostLines && !strings.Contains(text, "\t") {
			if next, err := s.textLine(); err == nil {
				lines, at, text = append(lines, next), len(text), text+"\n"+next
				continue
			}
		}
		if !ok {
			s.again, s.line = append(lines, s.again...), s.line-len(lines)
		}
		return strings.ReplaceAll(cell, `""`, `"`), after, ok
	}
}

// textLine returns the next line without its end.
func (s *separated) textLine() (string, error) {
	s.line++
	if len(s.again) > 0 {
		text := s.again[0]
		s.again = s.again[1:]
		return text, nil
	}
	text, err := s.in.ReadString('\n')
	if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
		s.line--
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), nil
}
