package chart

import (
	_ "embed"
	"html"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed style.css
var style string

// Style returns the style sheet: the palette and the rules of charts.
func Style() template.CSS { return template.CSS(style) }

// SVG returns the chart as an element of a page that has the Style.
func (c *Chart) SVG() template.HTML {
	return template.HTML(c.element("", "", 0)) //nolint:gosec // all texts in it are escaped
}

// Colours returns the light colours of the classes.
func Colours() map[string]color.NRGBA {
	all := map[string]color.NRGBA{}
	for _, m := range regexp.MustCompile(`\.([\w-]+)\{(?:fill|stroke):#(\w+)`).FindAllStringSubmatch(rules(), -1) {
		if len(m[2]) == 3 {
			m[2] = string([]byte{m[2][0], m[2][0], m[2][1], m[2][1], m[2][2], m[2][2]})
		}
		v, _ := strconv.ParseUint(m[2], 16, 32) // 0 is black
		//nolint:gosec // one byte each
		all[m[1]] = color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 255}
	}
	return all
}

// rules returns the rules of the classes in the light colours.
func rules() string {
	palette, rules, _ := strings.Cut(style, "/* Charts. */\n")
	light, _, _ := strings.Cut(palette, "@media")
	rules, _, _ = strings.Cut(rules, "@media")
	replace := []string{".ch ", "", "\n", ""}
	for _, m := range regexp.MustCompile(`(--[\w-]+):([^;}]+)`).FindAllStringSubmatch(light, -1) {
		replace = append(replace, "var("+m[1]+")", m[2])
	}
	return strings.NewReplacer(replace...).Replace(rules)
}

// Document returns the chart as a self-contained file with a background and a border.
func (c *Chart) Document() []byte {
	ground := `<path class="hole" d="M-8-8h9999v9999H-8Z"/>`
	return []byte(c.element("http://www.w3.org/2000/svg", "<style>"+rules()+"</style>"+ground, 8) + "\n")
}

func (c *Chart) element(namespace, head string, rim float64) string {
	role, label, hidden, ratio := "img", strings.TrimSpace(c.Title+". "+c.Desc), "", ""
	if slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Href != "" }) {
		role = "group"
	}
	if c.Title == "" {
		role, label, hidden = "", "", "true"
	}
	if strings.Contains(c.Class, "stretch") {
		ratio = "none"
	}
	var b strings.Builder
	x, width, height := pixel(-rim), pixel(c.Width+2*rim), pixel(c.Height+2*rim)
	tag(&b, "svg", ">", "xmlns", namespace, "class", strings.TrimSpace("ch "+c.Class),
		"viewBox", x+" "+x+" "+width+" "+height, "width", width, "height", height,
		"role", role, "aria-label", label, "aria-hidden", hidden, "preserveAspectRatio", ratio)
	b.WriteString(head)
	for i := range c.Parts {
		c.Parts[i].write(&b)
	}
	b.WriteString("</svg>")
	return b.String()
}

func (p *Part) write(b *strings.Builder) {
	x, y, turn, opacity := "", "", "", ""
	if len(p.Points) > 0 {
		x, y = pixel(p.Points[0].X), pixel(p.Points[0].Y)
	}
	if p.Upright {
		turn = "rotate(-90 " + x + " " + y + ")"
	}
	if p.Opacity > 0 {
		opacity = strconv.FormatFloat(p.Opacity, 'f', 2, 64)
	}
	switch {
	case p.Href != "":
		tag(b, "a", ">", "class", p.Class, "href", p.Href, "aria-label", p.Text)
		for i := range p.Parts {
			if i > 0 {
				b.WriteByte(' ') // or its texts were one word to who listens
			}
			p.Parts[i].write(b)
		}
		b.WriteString("</a>")
	case p.Text != "":
		tag(b, "text", ">", "class", p.Class, "x", x, "y", y, "transform", turn)
		b.WriteString(escape(p.Text) + "</text>")
	case p.Radius > 0:
		tag(b, "circle", "/>", "class", p.Class, "cx", x, "cy", y, "r", pixel(p.Radius))
	default:
		tag(b, "path", "/>", "class", p.Class, "fill-opacity", opacity, "d", p.path())
	}
}

// path returns the line through the points in as few characters as possible. Round line ends make a single point a dot.
func (p *Part) path() string {
	var b strings.Builder
	var before [2]string
	length := 0 // of a run of numbers
	end := func() {
		if length == 1 {
			b.WriteString("h0")
		}
		length = 0
	}
	for _, at := range p.Points {
		x, y := pixel(at.X), pixel(at.Y)
		switch {
		case !at.isNumber():
			end()
			continue
		case length == 0:
			b.WriteString("M" + x + " " + y)
		case y == before[1]:
			b.WriteString("H" + x)
		case x == before[0]:
			b.WriteString("V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
		before, length = [2]string{x, y}, length+1
	}
	if end(); p.Filled {
		b.WriteString("Z")
	}
	return b.String()
}

// tag writes a tag with its attributes, pairs of name and value, except the empty ones.
func tag(b *strings.Builder, name, end string, attributes ...string) {
	b.WriteString("<" + name)
	for i := 0; i < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			b.WriteString(" " + attributes[i] + `="` + escape(attributes[i+1]) + `"`)
		}
	}
	b.WriteString(end)
}

func pixel(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) // + 0: without the sign of −0
}

// escape escapes a text for SVG and replaces the characters that XML forbids.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r
	}, text))
}
