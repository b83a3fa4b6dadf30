package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestProgress draws bars of a known and of an unknown total.
func TestProgress(t *testing.T) {
	t.Parallel()
	var known, unknown bytes.Buffer // a bar is drawn again and again
	var lines bytes.Buffer
	NewBar(&known, "versions").Set(3, 4)
	if got := known.String(); !strings.Contains(got, "versions") || !strings.Contains(got, "3/4") {
		t.Errorf("3 of 4 versions are drawn as %q", got)
	}
	bar := NewBar(&unknown, "predictions")
	c := &LineCounter{Writer: &lines, Bar: bar}
	const text = "one\ntwo\n" // more lines than a bar is wide
	for range 50 {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := unknown.String(); !strings.Contains(got, "predictions (100/-)") || lines.String() != strings.Repeat(text, 50) {
		t.Errorf("100 lines are drawn as %q", got)
	}
	(&Progress{}).Set(1, 2) // nothing to draw on
}
