package chart

import (
	"math"
	"strconv"
	"strings"
)

// Span is a range of data. It may be descending: From is at the left or at the bottom.
type Span struct{ From, To float64 }

// Unit is the span of shares and probabilities.
var Unit = Span{0, 1}

// Cover returns the span of the finite values, widened by 1 on both sides if they are all the same.
func Cover(values ...float64) Span {
	s := Span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s = Span{min(s.From, v), max(s.To, v)}
		}
	}
	switch {
	case s.From > s.To:
		return Span{-1, 1}
	case s.From == s.To:
		return Span{s.From - 1, s.To + 1}
	}
	return s
}

// Pad returns the span with a share of it added at both ends.
func (s Span) Pad(share float64) Span {
	room := share * (s.To - s.From)
	return Span{s.From - room, s.To + room}
}

// Round returns the span widened to multiples of the step of about n ticks.
func (s Span) Round(n float64) Span {
	step := s.step(n, 0)
	return Span{step * math.Floor(s.From/step), step * math.Ceil(s.To/step)}
}

// share returns how far along the span a value lies, between 0 and 1.
func (s Span) share(v float64) float64 { return min(max((v-s.From)/(s.To-s.From), 0), 1) }

// Tick is a place on an axis with its label.
type Tick struct {
	At    float64
	Label string
}

// Ticks returns about n ticks at multiples of 1, 2 or 5 times a power of ten, which is at least the least.
func (s Span) Ticks(n, least float64) (ticks []Tick) {
	const slack, most = 1e-9, 100 // share of a step lost by rounding; ticks of a span that is not finite
	step := s.step(n, least)
	decimals := max(0, int(-math.Floor(math.Log10(step)+slack)))
	first := math.Ceil(s.From/step - slack)
	for i := range most {
		at := (first + float64(i)) * step
		if !(at <= s.To+slack*step) {
			break
		}
		label := strconv.FormatFloat(at+0, 'f', decimals, 64) // + 0: without the sign of −0
		ticks = append(ticks, Tick{at, strings.Replace(label, "-", "−", 1)})
	}
	return ticks
}

// step returns the step of about n ticks, at least the least.
func (s Span) step(n, least float64) float64 {
	raw := max((s.To-s.From)/n, least)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Shares returns ticks of percent on Unit.
func Shares() []Tick {
	return []Tick{{0, "0 %"}, {0.2, "20 %"}, {0.4, "40 %"}, {0.6, "60 %"}, {0.8, "80 %"}, {1, "100 %"}}
}
