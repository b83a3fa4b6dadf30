package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestProgress draws bars of a known and of an unknown total.
func TestProgress(t *testing.T) {
	t.Parallel()
	var known, unknown bytes.Buffer // a bar is drawn again and again
	NewBar(&known, "versions").Set(3, 4)
	if got := known.String(); !strings.Contains(got, "versions") || !strings.Contains(got, "3/4") {
		t.Errorf("3 of 4 versions are drawn as %q", got)
	}
	bar := NewBar(&unknown, "predictions")
	for i := range 100 { // more than a bar is wide
		bar.Set(i+1, 0)
	}
	if got := unknown.String(); !strings.Contains(got, "predictions (100/-)") {
		t.Errorf("100 predictions are drawn as %q", got)
	}
	(&Progress{}).Set(1, 2) // nothing to draw on
}
