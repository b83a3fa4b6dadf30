package models

import (
	"regexp"
	"strings"
)

// block is a part of a card: a heading, a paragraph, a list or a table.
type block struct {
	Heading string
	Text    []span
	Items   [][]span
	Rows    [][][]span // the first is the head
}

// span is a piece of a line.
type span struct {
	Text         string
	Strong, Code bool
}

var spans = regexp.MustCompile("\\*\\*(.+?)\\*\\*|`([^`]+)`")

// readMarkdown reads the Markdown of package report's cards, without the title. All else is text.
func readMarkdown(text string) (all []block) {
	var now *block // nil between two blocks
	begin := func(wanted bool) *block {
		if now == nil || !wanted {
			all = append(all, block{})
			now = &all[len(all)-1]
		}
		return now
	}
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			begin(false).Text = readSpans(strings.Join(paragraph, " "))
			paragraph = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(line, "- ")
		heading, isHeading := strings.CutPrefix(line, "## ")
		isRow := strings.HasPrefix(line, "|")
		if isItem || isHeading || isRow || line == "" {
			end()
		}
		switch {
		case line == "":
			now = nil
		case isHeading:
			begin(false).Heading, now = heading, nil
		case isItem:
			b := begin(now != nil && now.Items != nil)
			b.Items = append(b.Items, readSpans(item))
		case isRow && strings.Trim(line, "|- ") == "": // the line below the head
		case isRow:
			b := begin(now != nil && now.Rows != nil)
			b.Rows = append(b.Rows, readCells(line))
		case !strings.HasPrefix(line, "# "):
			paragraph = append(paragraph, line)
		}
	}
	end()
	return all
}

const pipe = "\x00" // stands for one that ends no cell

func readCells(row string) (cells [][]span) {
	row = strings.Trim(strings.ReplaceAll(row, `\|`, pipe), "|")
	for cell := range strings.SplitSeq(row, "|") {
		cells = append(cells, readSpans(strings.TrimSpace(strings.ReplaceAll(cell, pipe, "|"))))
	}
	return cells
}

func readSpans(text string) (all []span) {
	text = strings.NewReplacer("&lt;", "<", `\|`, "|").Replace(text)
	at := 0
	for _, m := range spans.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, span{Text: text[at:m[0]]})
		if m[2] >= 0 {
			all = append(all, span{Text: text[m[2]:m[3]], Strong: true})
		} else {
			all = append(all, span{Text: text[m[4]:m[5]], Code: true})
		}
		at = m[1]
	}
	return append(all, span{Text: text[at:]})
}
