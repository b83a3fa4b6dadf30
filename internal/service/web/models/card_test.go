package models

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMarkdown: a card's headings, lists, tables and paragraphs are read; whatever else stands in it is text.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	const card = `# Name

- one
- **Owner**: a &lt;b> \| c

Two lines
of ` + "`text`" + `.
## Uses

| hazard | cause |
| --- | --- |
| a \| b | <script> |
- last`
	text := func(s string) []span { return []span{{Text: s}} }
	want := []block{
		{Items: [][]span{text("one"), {{}, {Text: "Owner", Strong: true}, {Text: ": a <b> | c"}}}},
		{Text: []span{{Text: "Two lines of "}, {Text: "text", Code: true}, {Text: "."}}},
		{Heading: "Uses"},
		{Rows: [][][]span{{text("hazard"), text("cause")}, {text("a | b"), text("<script>")}}},
		{Items: [][]span{text("last")}},
	}
	if d := cmp.Diff(want, readMarkdown(card)); d != "" {
		t.Error(d)
	}
}
