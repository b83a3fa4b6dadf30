package chart

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed style.css
var style string

// SVG returns the chart as an element of a page that has the Style.
func (c *Chart) SVG() template.HTML {
	return template.HTML(c.element("", "", 0)) //nolint:gosec // all texts in it are escaped
}

// Document returns the chart as a file that needs nothing else, on a ground of its own.
func (c *Chart) Document() []byte {
	palette, rules, _ := strings.Cut(style, "/* Charts")
	light, _, _ := strings.Cut(palette, "@media")
	rules, _, _ = strings.Cut(rules, "@media")
	_, rules, _ = strings.Cut(rules, "*/")
	var pairs []string
	for _, m := range regexp.MustCompile(`(--[\w-]+):([^;}]+)`).FindAllStringSubmatch(light, -1) {
		pairs = append(pairs, "var("+m[1]+")", m[2])
	}
	rules = strings.NewReplacer(append(pairs, ".ch ", "", "\n", "")...).Replace(rules)
	const rim = 8
	ground := fmt.Sprintf(`<style>%s</style><path class="hole" d="M-8 -8h%sv%sH-8Z"/>`, rules, pixel(c.Width+2*rim), pixel(c.Height+2*rim))
	return []byte(c.element(` xmlns="http://www.w3.org/2000/svg"`, ground, rim) + "\n")
}

func (c *Chart) element(attributes, head string, rim float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg%s class="%s" viewBox="%[3]s %[3]s %[4]s %[5]s" width="%[4]s" height="%[5]s"`,
		attributes, strings.TrimSpace("ch "+c.Class), pixel(-rim), pixel(c.Width+2*rim), pixel(c.Height+2*rim))
	role := "img"
	for i := range c.Parts {
		if c.Parts[i].Href != "" {
			role = "group"
		}
	}
	if c.Title == "" {
		b.WriteString(` aria-hidden="true"`)
	} else {
		fmt.Fprintf(&b, ` role="%s" aria-label="%s"`, role, escape(strings.TrimSpace(c.Title+". "+c.Desc)))
	}
	if strings.Contains(c.Class, "stretch") {
		b.WriteString(` preserveAspectRatio="none"`)
	}
	b.WriteString(">" + head)
	for i := range c.Parts {
		c.Parts[i].write(&b)
	}
	b.WriteString("</svg>")
	return b.String()
}

func (p *Part) write(b *strings.Builder) {
	tag := func(name string) {
		b.WriteString("<" + name)
		attribute(b, "class", p.Class)
	}
	switch {
	case p.Href != "":
		tag("a")
		attribute(b, "href", p.Href)
		attribute(b, "aria-label", p.Text)
		b.WriteString(">")
		for i := range p.Parts {
			p.Parts[i].write(b)
		}
		b.WriteString("</a>")
	case p.Radius > 0:
		tag("circle")
		fmt.Fprintf(b, ` cx="%s" cy="%s" r="%s"/>`, pixel(p.Points[0].X), pixel(p.Points[0].Y), pixel(p.Radius))
	case p.Text != "":
		tag("text")
		x, y := pixel(p.Points[0].X), pixel(p.Points[0].Y)
		fmt.Fprintf(b, ` x="%s" y="%s"`, x, y)
		if p.Upright {
			attribute(b, "transform", "rotate(-90 "+x+" "+y+")")
		}
		b.WriteString(">" + escape(p.Text) + "</text>")
	default:
		tag("path")
		if p.Opacity > 0 {
			attribute(b, "fill-opacity", strconv.FormatFloat(p.Opacity, 'f', 2, 64))
		}
		attribute(b, "d", p.path())
		b.WriteString("/>")
	}
}

// path returns the line through the points, in as few letters as it takes.
func (p *Part) path() string {
	var b strings.Builder
	var before [2]string
	for i, at := range p.Points {
		x, y := pixel(at.X), pixel(at.Y)
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case y == before[1]:
			b.WriteString("H" + x)
		case x == before[0]:
			b.WriteString("V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
		before = [2]string{x, y}
	}
	if p.Filled {
		b.WriteString("Z")
	}
	return b.String()
}

func attribute(b *strings.Builder, name, value string) {
	if value != "" {
		b.WriteString(" " + name + `="` + escape(value) + `"`)
	}
}

func pixel(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // + 0: without the sign of −0
}

// escape returns a text as SVG may hold it. Letters that XML forbids are replaced.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r
	}, text))
}
