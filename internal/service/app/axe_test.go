package app_test

import (
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

// violations runs axe-core and returns a line for each element that breaks a rule. Beyond the rules that are on by
// default it holds text to a contrast of 7:1, what is touched to a size of 24 px, and names to what is seen of them.
const violations = `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}, "color-contrast-enhanced": {enabled: true}, "label-content-name-mismatch": {enabled: true}}})
.then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + " at " + n.target.join(" ") + ": " + v.help + ": " + (n.failureSummary || "").replace(/\s+/g, " "))))`

// accessible fails for each element of what is open that breaks a rule of axe-core.
func (b *browser) accessible(name string) {
	b.Helper()
	if b.axe == "" {
		return
	}
	if b.is("typeof axe") == "undefined" {
		b.run(chromedp.Evaluate[chromedp.Void](b.axe + "; undefined"))
	}
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](violations, chromedp.EvalAwaitPromise))
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
