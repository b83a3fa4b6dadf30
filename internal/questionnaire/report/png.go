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
	"heat": {R: 13, G: 79, B: 134, A: 255}, "ax": {R: 122, G: 131, B: 142, A: 255},
	"minus": {R: 20, G: 24, B: 29, A: 255}, "pale": {R: 255, G: 255, B: 255, A: 255},
}

// zoom is the number of dots of an image for a pixel of a chart, and fontSize that of texts in pixels.
const zoom, fontSize = 2, 12

// rasterize returns a heat map as PNG: boxes, lines that run along an axis, and texts.
func rasterize(c *chart.Chart) ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, dot(c.Width), dot(c.Height)))
	draw.Draw(picture, picture.Rect, image.White, image.Point{}, draw.Src)
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: fontSize * zoom, DPI: 72})
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	for _, p := range c.Parts {
		first, last, ink := p.Points[0], p.Points[len(p.Points)-1], inks[p.Class]
		at := image.Pt(dot(first.X), dot(first.Y))
		switch {
		case p.Text != "":
			d := font.Drawer{Dst: picture, Src: image.Black, Face: face, Dot: fixed.P(at.X, at.Y)}
			if p.Upright {
				d.Dst, d.Dot = upright{picture, at}, fixed.P(0, 0)
			}
			d.Dot.X -= map[string]fixed.Int26_6{"end": 2, "mid": 1}[p.Class] * d.MeasureString(p.Text) / 2
			d.DrawString(p.Text)
			continue
		case p.Filled:
			last = p.Points[2]
		default: // as thick as a pixel of the chart
			at = at.Sub(image.Pt(zoom/2, zoom/2))
			last = chart.At(last.X+0.5, last.Y+0.5)
		}
		if p.Opacity > 0 {
			ink.A = uint8(math.Round(255 * p.Opacity))
		}
		box := image.Rectangle{Min: at, Max: image.Pt(dot(last.X), dot(last.Y))}
		draw.Draw(picture, box, image.NewUniform(ink), image.Point{}, draw.Over)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("writing the image: %w", err)
	}
	return b.Bytes(), nil
}

func dot(pixel float64) int { return int(math.Round(pixel * zoom)) }

// upright draws on a picture from a place on, turned to the left.
type upright struct {
	picture draw.Image
	origin  image.Point
}

func (u upright) ColorModel() color.Model       { return u.picture.ColorModel() }
func (u upright) Bounds() image.Rectangle       { return image.Rect(-1e4, -1e4, 1e4, 1e4) }
func (u upright) At(x, y int) color.Color       { return u.picture.At(u.origin.X+y, u.origin.Y-x) }
func (u upright) Set(x, y int, ink color.Color) { u.picture.Set(u.origin.X+y, u.origin.Y-x, ink) }
