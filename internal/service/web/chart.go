package web

// Charts are made here as coordinates; the templates draw them as SVG with attributes and classes alone.

// bar is a signed bar in a box 100 wide.
type bar struct{ Class, X, Width, Zero string }

// bars returns the bars of values on one scale, which holds zero.
func bars(values []float64) []bar {
	const edge = 1.5 // free at both ends
	var low, high float64
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	scale := 0.0
	if high > low {
		scale = (100 - 2*edge) / (high - low)
	}
	zero := edge - low*scale
	if scale == 0 {
		zero = 50
	}
	list := make([]bar, len(values))
	for i, v := range values {
		b := bar{Class: "fa", X: geometry(zero), Width: geometry(v * scale), Zero: geometry(zero)}
		if v < 0 {
			b.Class, b.X, b.Width = "fd", geometry(zero+v*scale), geometry(-v*scale)
		}
		list[i] = b
	}
	return list
}

// barRow is a row of a table of signed bars.
type barRow struct {
	Name, Sub, Tag string
	Denied         bool
	Value, Exact   string
	Bar            bar
	value          float64
}

func newBarRow(name string, v float64) barRow {
	return barRow{Name: name, Value: signed(v), Exact: exact(v), value: v}
}

// draw gives rows of several tables their bars, on one scale.
func draw(tables ...[]barRow) {
	var values []float64
	for _, t := range tables {
		for i := range t {
			values = append(values, t[i].value)
		}
	}
	drawn := bars(values)
	for _, t := range tables {
		for i := range t {
			t[i].Bar, drawn = drawn[0], drawn[1:]
		}
	}
}
