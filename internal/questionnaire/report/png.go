package report

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/wardcast/wardcast/internal/chart"
)

// inks are the light colours of the classes in a heat map.
var inks = map[string]color.NRGBA{
	"heat": {13, 79, 134, 255}, "ax": {122, 131, 142, 255}, "minus": {20, 24, 29, 255}, "pale": {255, 255, 255, 255},
}

// zoom is the number of dots of an image for a pixel of a chart, and fontSize that of texts in pixels.
const zoom, fontSize = 2, 12

// rasterize returns a heat map as PNG: boxes, lines that run along an axis, and texts.
func rasterize(c *chart.Chart) ([]byte, error) {
	size := image.Rect(0, 0, int(math.Ceil(c.Width*zoom)), int(math.Ceil(c.Height*zoom)))
	picture := image.NewRGBA(size)
	draw.Draw(picture, size, image.White, image.Point{}, draw.Src)
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: fontSize * zoom, DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	for _, p := range c.Parts {
		if p.Text != "" {
			write(picture, face, &p)
			continue
		}
		ink, first, last := inks[p.Class], p.Points[0], p.Points[len(p.Points)-1]
		if p.Filled {
			last = p.Points[2]
		} else { // as thick as a pixel of the chart
			first, last = chart.At(first.X-0.5, first.Y-0.5), chart.At(last.X+0.5, last.Y+0.5)
		}
		if p.Opacity > 0 {
			ink.A = uint8(math.Round(255 * p.Opacity))
		}
		box := image.Rect(dot(first.X), dot(first.Y), dot(last.X), dot(last.Y))
		draw.Draw(picture, box, image.NewUniform(ink), image.Point{}, draw.Over)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("writing the image: %w", err)
	}
	return b.Bytes(), nil
}

func dot(pixel float64) int { return int(math.Round(pixel * zoom)) }

// write writes a text, from below to above if it is upright.
func write(picture draw.Image, face font.Face, p *chart.Part) {
	const above, below = 2 * fontSize * zoom, fontSize * zoom // of the base of letters
	width := font.MeasureString(face, p.Text).Ceil()
	start := map[string]int{"end": -width, "mid": -width / 2}[p.Class]
	line := image.NewAlpha(image.Rect(0, -above, width, below))
	d := font.Drawer{Dst: line, Src: image.Opaque, Face: face, Dot: fixed.P(0, 0)}
	d.DrawString(p.Text)
	x, y := dot(p.Points[0].X), dot(p.Points[0].Y)
	if !p.Upright {
		draw.DrawMask(picture, line.Rect.Add(image.Pt(x+start, y)), image.Black, image.Point{}, line, line.Rect.Min, draw.Over)
		return
	}
	turned := image.NewAlpha(image.Rect(-above, -width, below, 0))
	for i := range width {
		for j := -above; j < below; j++ {
			turned.SetAlpha(j, -1-i, line.AlphaAt(i, j))
		}
	}
	draw.DrawMask(picture, turned.Rect.Add(image.Pt(x, y-start)), image.Black, image.Point{}, turned, turned.Rect.Min, draw.Over)
}
