package chart_test

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/chart"
)

// TestColours are those of the style sheet: a variable, and one of three digits.
func TestColours(t *testing.T) {
	t.Parallel()
	all := chart.Colours()
	dis, surface := color.NRGBA{R: 13, G: 79, B: 134, A: 255}, color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	if all["heat"] != dis || all["pale"] != surface {
		t.Errorf("heat is %v, want %v; pale is %v, want %v", all["heat"], dis, all["pale"], surface)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	f := func(s chart.Span, n, least float64, want string) {
		t.Helper()
		var labels []string
		for _, tick := range s.Ticks(n, least) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
	f(chart.Span{From: 0, To: 11}, 3, 1, "0 5 10")
	f(chart.Span{From: -0.25, To: 0.31}, 5, 0, "−0.2 0.0 0.2")
	f(chart.Span{From: 0.5, To: 3.5}, 14, 1, "1 2 3")
	f(chart.Span{From: 4.5, To: 5.5}, 14, 1, "5")
	f(chart.Span{From: 1, To: 30}, 14, 1, "5 10 15 20 25 30")
	f(chart.Span{From: 0, To: 0.3}, 3, 0, "0.0 0.1 0.2 0.3")
	f(chart.Span{From: 1e17, To: 1e17 + 64}, 5, 0,
		"100000000000000000 100000000000000016 100000000000000032 100000000000000064")
	f(chart.Span{From: math.Inf(-1), To: math.Inf(1)}, 5, 0, "")
	f(chart.Span{From: math.NaN(), To: 1}, 5, 0, "")
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want chart.Span }{
		"cover":           {chart.Cover(3, math.NaN(), -1, math.Inf(1)), chart.Span{From: -1, To: 3}},
		"cover one value": {chart.Cover(2, 2), chart.Span{From: 1, To: 3}},
		"cover nothing":   {chart.Cover(), chart.Span{From: -1, To: 1}},
		"pad":             {chart.Span{From: 0, To: 10}.Pad(0.1), chart.Span{From: -1, To: 11}},
		"round":           {chart.Span{From: 0.5, To: 9.5}.Round(5), chart.Span{From: 0, To: 10}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// small returns a chart of 100 by 50 with a margin of 10 at the left and below.
func small() *chart.Chart {
	return &chart.Chart{Title: "A", Width: 100, Height: 50, Left: 10, Bottom: 10, X: chart.Unit, Y: chart.Span{To: 10}}
}

// TestParts: each method draws what it says, in the order of the calls.
func TestParts(t *testing.T) {
	t.Parallel()
	f := func(draw func(*chart.Chart), want string) {
		t.Helper()
		c := small()
		draw(c)
		_, got, _ := strings.Cut(string(c.SVG()), ">")
		if d := cmp.Diff(want+"</svg>", got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	at := chart.At
	f(func(c *chart.Chart) { c.Line("l", at(0, 0), at(1, 10)) }, `<path class="l" d="M10 40L100 0"/>`)
	f(func(c *chart.Chart) { c.Line("l", at(0, 0)) }, `<path class="l" d="M10 40h0"/>`)
	f(func(c *chart.Chart) { c.Line("l") }, "")
	none := at(math.NaN(), 0)
	gap := []chart.Point{at(0, 0), none, at(0, 5), at(1, 0)}
	f(func(c *chart.Chart) { c.Line("l", gap...) }, `<path class="l" d="M10 40h0M10 20L100 40"/>`)
	f(func(c *chart.Chart) { c.Area("l", gap...) }, `<path class="l" d="M10 40V20L100 40Z"/>`)
	f(func(c *chart.Chart) { c.Dot("d", none, 3); c.Label("", none, at(1, 1), "x") }, "")
	f(func(c *chart.Chart) {
		c.Curve("b", "l", []chart.Estimate{{X: 0, Y: 5, Low: 0, High: 10}, {X: 1, Y: 5, Low: 5, High: 10}})
	}, `<path class="b" d="M10 0H100V20L10 40Z"/><path class="l" d="M10 20H100"/>`)
	f(func(c *chart.Chart) { c.Line("l", at(-5, 3), at(9, 99)) }, `<path class="l" d="M10 28L100 0"/>`)
	f(func(c *chart.Chart) {
		c.Band("b", []chart.Point{at(0, 8), at(1, 9)}, []chart.Point{at(0, 1), at(1, 2)})
	}, `<path class="b" d="M10 8L100 4V32L10 36Z"/>`)
	f(func(c *chart.Chart) { c.Bar("b", at(0, 0), at(0.5, 5)) }, `<path class="b" d="M10 40H55V20H10Z"/>`)
	f(func(c *chart.Chart) { c.Bar("b", at(0, 0), at(0.5, 0)) }, "")
	f(func(c *chart.Chart) { c.Dot("d", at(1, 0), 3) }, `<circle class="d" cx="100" cy="40" r="3"/>`)
	f(func(c *chart.Chart) { c.Mark("m", 7, at(1, 0), 3) }, `<circle class="m" cx="100" cy="40" r="3"/>`)
	f(func(c *chart.Chart) { c.Mark("m", 3, at(0.5, 5), 4) }, `<path class="m" d="M55 15L60 20L55 25L50 20Z"/>`)
	f(func(c *chart.Chart) { c.Label("end", at(0, 0), at(-1, 2), "a < b") },
		`<text class="end" x="9" y="42">a &lt; b</text>`)
	f(func(c *chart.Chart) {
		c.Link("on", "/a?b&c", `"x"`, func() { c.Dot("", at(0, 0), 1) })
	}, `<a class="on" href="/a?b&amp;c" aria-label="&#34;x&#34;"><circle cx="10" cy="40" r="1"/></a>`)
	f(func(c *chart.Chart) { c.AxisX("n", chart.Tick{At: 1, Label: "one"}) }, `<path class="ax" d="M10 40H100"/>`+
		`<path class="ax" d="M100 40V44"/><text class="mid" x="100" y="58">one</text>`+
		`<text class="mid" x="55" y="76">n</text>`)
	f(func(c *chart.Chart) { c.AxisY("n", chart.Tick{At: 5, Label: "five"}) }, `<path class="gr" d="M10 20H100"/>`+
		`<text class="end" x="2" y="24">five</text><text x="0" y="-14">n</text>`)
	f(func(c *chart.Chart) {
		c.Legend(chart.Key{Text: "one", Line: "l", Mark: "m"}, chart.Key{Text: "two", Mark: "m"})
	}, `<path class="l" d="M10 58H32"/><circle class="m" cx="21" cy="58" r="4"/><text x="38" y="62">one</text>`+
		`<circle class="m" cx="21" cy="76" r="4"/><text x="38" y="80">two</text>`)
}

// TestElement: the elements around the parts, also those for screen readers.
func TestElement(t *testing.T) {
	t.Parallel()
	c := small()
	c.Desc = "B < C."
	f := func(want string) {
		t.Helper()
		if got, _, _ := strings.Cut(string(c.SVG()), ">"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(`<svg class="ch" viewBox="0 0 100 50" width="100" height="50" role="img" aria-label="A. B &lt; C."`)
	c.Link("", "/a", "b", func() {})
	f(`<svg class="ch" viewBox="0 0 100 50" width="100" height="50" role="group" aria-label="A. B &lt; C."`)
	const stretched = ` preserveAspectRatio="none"`
	c.Title, c.Class = "", "stretch"
	f(`<svg class="ch stretch" viewBox="0 0 100 50" width="100" height="50" aria-hidden="true"` + stretched)
	c.Legend(chart.Key{Text: "x"})
	f(`<svg class="ch stretch" viewBox="0 0 100 72" width="100" height="72" aria-hidden="true"` + stretched)
}

// TestSeries: series differ by marks, and all but the first by dashes too, for readers and paper without colour.
func TestSeries(t *testing.T) {
	t.Parallel()
	c := &chart.Chart{Title: "A", Width: 500, Height: 300, Left: 40, Bottom: 40, Top: 20}
	var all []chart.Series
	for i := range 7 {
		y := float64(i)
		all = append(all, chart.Series{Name: "s", Estimates: []chart.Estimate{
			{X: 1, Y: y, Low: y - 1, High: y + 1}, {X: 2, Y: y, Low: y - 1, High: y + 1}, {X: 3, Y: y},
		}})
	}
	c.Legend(c.Plot("x", "y", nil, all...)...)
	if c.Y != (chart.Span{From: -2, To: 8}) || c.X.From >= 1 || c.X.To <= 3 {
		t.Errorf("spans %v and %v", c.X, c.Y)
	}
	svg, style := string(c.SVG()), string(chart.Style())
	shapes, dashes := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`<(path|circle) class="m s\d"[^>]*`).FindAllString(svg, -1) {
		shapes[regexp.MustCompile(`[\d.]+|s\d`).ReplaceAllString(m, "")] = true
	}
	for _, m := range regexp.MustCompile(`\.s\d\{[^}]*?(stroke-dasharray:[^}]*)?\}`).FindAllStringSubmatch(style, -1) {
		dashes[m[1]] = true
	}
	if len(shapes) < 5 || len(dashes) != len(all) {
		t.Errorf("%d shapes and %d dashes", len(shapes), len(dashes))
	}
	if n := strings.Count(svg, `class="w s`); n != 2*len(all) {
		t.Errorf("%d intervals", n)
	}
}

// TestAnything: for any input, a chart is well formed, stays in its frame, and contains no foreign elements.
func TestAnything(t *testing.T) {
	t.Parallel()
	texts := []string{`<script>"'&`, "\x00\x1b\b\ufffe", "קלק مرحبا \u202e 日本", "\xff", strings.Repeat("long ", 99)}
	for _, text := range texts {
		for _, v := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 5e-324} {
			c := small()
			c.Title, c.Desc = text, text
			keys := c.Plot(text, text, nil, chart.Series{Name: text, Estimates: []chart.Estimate{
				{X: v, Y: v, Low: v, High: v}, {X: 1, Y: v, Low: v, High: 1},
			}})
			c.Link("", text, text, func() { c.Text("", chart.At(1, 2), text) })
			c.Legend(keys...)
			for _, document := range []string{string(c.SVG()), string(c.Document())} {
				d := xml.NewDecoder(strings.NewReader(document))
				for {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%q, %v: %v", text, v, err)
					}
				}
				if bad := regexp.MustCompile(`<script|NaN|Inf|="[^"]*\d{5}`).FindString(document); bad != "" {
					t.Errorf("%q, %v: the chart holds %q", text, v, bad)
				}
			}
		}
	}
}

// TestDocument: a file has the rules with the light colours, without features that drawing programs do not support.
func TestDocument(t *testing.T) {
	t.Parallel()
	c := small()
	c.Line("med", chart.At(0, 0), chart.At(1, 1))
	document := string(c.Document())
	for _, want := range []string{
		` xmlns="http://www.w3.org/2000/svg"`, ".med{stroke:#0d4f86;", "text{font:12px -apple-system",
		`viewBox="-8 -8 116 66" width="116" height="66"`, `class="hole" d="M-8-8h`,
	} {
		if !strings.Contains(document, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if bad := regexp.MustCompile(`var\(|@media|--|\.ch |url\(|@import`).FindString(document); bad != "" {
		t.Errorf("the document holds %q", bad)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	if got := chart.Shorten(" two\nlines, too long", 9); got != "two line…" {
		t.Errorf("%q", got)
	}
	if n, w := chart.TextWidth("illicit"), chart.TextWidth("WWWWWWW"); n <= 0 || n >= w/2 {
		t.Errorf("widths %v and %v", n, w)
	}
}
