package app_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// readAxe returns the script of axe-core that WARDCAST_AXE names, "" for none.
func readAxe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("WARDCAST_AXE")
	if path == "" {
		return ""
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// Rules of axe-core. Beyond those that are on by default, text is held to a contrast of 7:1, which leaves nothing to
// say for color-contrast, what is touched to a size of 24 px, and names to what is seen of them.
const (
	allRules = `rules: {"color-contrast": {enabled: false}, "color-contrast-enhanced": {enabled: true}, ` + beyond
	// Those of colours take two thirds of the time.
	colourRules = `runOnly: ["color-contrast-enhanced", "link-in-text-block"]`
	layoutRules = `rules: {"color-contrast": {enabled: false}, "link-in-text-block": {enabled: false}, ` + beyond
	beyond      = `"target-size": {enabled: true}, "label-content-name-mismatch": {enabled: true}}`
)

// violations runs axe-core with rules and returns a line for each element that breaks one.
const violations = `axe.run(document, {resultTypes: ["violations"], %s})
.then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + " at " + n.target.join(" ") + ": " + v.help + ": " + (n.failureSummary || "").replace(/\s+/g, " "))))`

// accessible fails for each element of what is open that breaks one of these rules of axe-core.
func (b *browser) accessible(name, rules string) {
	b.Helper()
	if b.axe == "" {
		return
	}
	if b.is("typeof axe") == "undefined" {
		b.run(chromedp.Evaluate[chromedp.Void](b.axe + "; undefined"))
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](fmt.Sprintf(violations, rules), chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("axe-core on %s: %v", name, err)
	}
	for _, rule := range found {
		if !slices.Contains(b.broken, rule) {
			b.broken = append(b.broken, rule)
			b.Errorf("%s breaks a rule of accessibility, and the next may too: %s", name, rule)
		}
	}
}
