package textproc

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// measure is a kind of number that notes hold, a line of concepts/measures.tsv. Its values become one term for each
// range, "hr:111-130".
type measure struct {
	name     string
	spoken   string  // before the number, for people; "" if they do not say the number
	least    float64 // plausible values; others are dropped
	most     float64
	limits   []float64 // range i holds values less than limits[i], the last one the rest
	ranges   []string
	normal   int     // the range of a healthy adult: of two values the one farther from it counts
	child    bool    // the ranges are those of adults; a child's get a term of their own
	vital    bool    // stands in a row of vital signs
	first    int     // number of its first term
	step     float64 // between two values: over 10 is read as 10 plus a step
	keys     string
	concepts bool // the key keeps its own concept: "fever 103"
}

const worstPain = 10

var measures, measureTerms = readMeasures()

var (
	heartRate     = measureNamed("hr")
	breathing     = measureNamed("rr")
	systolic      = measureNamed("sbp")
	diastolic     = measureNamed("dbp")
	temperature   = measureNamed("temp")
	saturation    = measureNamed("spo2")
	coma          = measureNamed("gcs")
	glucose       = measureNamed("glucose")
	painScore     = measureNamed("pain")
	potassium     = measureNamed("k")
	lactate       = measureNamed("lactate")
	sodium        = measureNamed("na")
	hemoglobin    = measureNamed("hb")
	protein       = measureNamed("crp")
	troponinLevel = measureNamed("trop")
	refill        = measureNamed("crt")
	orientation   = measureNamed("orient")
	duration      = measureNamed("dur")
	count         = measureNamed("count")
	gestation     = measureNamed("ga")
	oxygen        = measureNamed("o2")
	height        = measureNamed("height")
	speed         = measureNamed("speed")
	age           = measureNamed("age")
	sex           = measureNamed("sex")
	spine         = measureNamed("spine")
	dose          = measureNamed("dose")
	ob            = measureNamed("ob")
)

// readMeasures reads the table of measures, and numbers their terms.
func readMeasures() (measures []*measure, terms int) {
	builtinLines("measures.tsv", 8, func(f []string) error {
		m := &measure{name: f[0], spoken: f[1], ranges: strings.Fields(f[4]), keys: f[7], first: terms, step: 1}
		least, most, _ := strings.Cut(f[2], "..")
		for i, limit := range append([]string{least, most}, strings.Fields(f[3])...) {
			x, err := strconv.ParseFloat(limit, 64)
			switch {
			case err != nil:
				return err
			case i == 0:
				m.least = x
			case i == 1:
				m.most = x
			default:
				m.limits = append(m.limits, x)
			}
		}
		if m.normal, _ = strconv.Atoi(f[5]); m.normal >= len(m.ranges) || len(m.ranges) <= len(m.limits) {
			return errors.New("a measure needs a range for each limit, and one more")
		}
		m.vital, m.child = strings.Contains(f[6], "vital"), strings.Contains(f[6], "child")
		m.concepts = strings.Contains(f[6], "concepts")
		for i, r := range m.ranges {
			if strings.Contains(r, ".") {
				m.step = .1
			}
			m.ranges[i] = strings.TrimPrefix(r, "-")
		}
		terms += len(m.ranges)
		if m.child {
			terms += len(m.ranges)
		}
		measures = append(measures, m)
		return nil
	})
	return measures, terms
}

func measureNamed(name string) *measure {
	return measures[slices.IndexFunc(measures, func(m *measure) bool { return m.name == name })]
}

// SpokenMeasure returns the words spoken before the number in a term of this kind, as in "hr:51-90"; "" for no number.
func SpokenMeasure(kind string) string {
	if i := slices.IndexFunc(measures, func(m *measure) bool { return m.name == kind }); i >= 0 {
		return measures[i].spoken
	}
	return ""
}

// rangeOf returns the number of the range that holds x, or -1 if x is implausible.
func (m *measure) rangeOf(x float64) int {
	if !(x >= m.least && x <= m.most) {
		return -1
	}
	for i, limit := range m.limits {
		if x < limit {
			return i
		}
	}
	return len(m.limits)
}

// worse returns the range of the value farther from normal.
func (m *measure) worse(x, y float64) int {
	a, b := m.rangeOf(x), m.rangeOf(y)
	if a < 0 || b < 0 || max(a-m.normal, m.normal-a) >= max(b-m.normal, m.normal-b) {
		return a
	}
	return b
}

// celsius returns x in degrees Celsius, to a tenth: values that only Fahrenheit can have are converted.
func celsius(x float64) float64 {
	if x >= 77 && x <= 113 {
		x = (x - 32) / 1.8
	}
	return math.Round(x*10) / 10
}
