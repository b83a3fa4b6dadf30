package web

import (
	"html/template"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// healthPage is the page Health.
type healthPage struct {
	At       time.Time
	Problems []problemView
	Streams  []streamView
	Operator bool
	Replayed string // how many dead letters were just sent back, "" for no replay
}

type problemView struct {
	Tone, Word, Text string
	Since            time.Time
}

// streamView is a stream of records.
type streamView struct {
	ID, Title, Noun, Generation, DeadLetters string
	Of                                       string // the flag of `wardcast dlq`, "" for its default
	LastAnswer                               time.Time
	Measures                                 []trend
	Partitions                               []fact // with the records that wait
	Letters                                  []health.Letters
}

// trend is a measure now and in the last hour.
type trend struct {
	Name, Now, Exact, Most string
	Line                   template.HTML
}

// hourSpan is the time that a sparkline spans, and hourGap that between two readings from which it has a gap.
const hourSpan, hourGap = time.Hour, 90 * time.Second

// health shows whether anything is late or lost.
func (p *Pages) health(w http.ResponseWriter, r *http.Request) {
	page := newHealthPage(p.options.Health())
	page.Operator = httpapi.CallerOf(r.Context()).Is(httpapi.Operator)
	if n, err := strconv.Atoi(r.URL.Query().Get("replayed")); err == nil && n >= 0 {
		page.Replayed = plural(n, "dead letter")
	}
	p.write(w, r, view{template: "health", title: "Health", here: "Health", data: page})
}

func newHealthPage(s *health.Snapshot) *healthPage {
	page := &healthPage{At: s.At}
	for _, x := range s.Problems {
		v := problemView{Tone: "warn", Word: "▲ Look", Text: x.Text, Since: x.Since}
		if x.Level == health.Failure {
			v.Tone, v.Word = "bad", "✕ Act"
		}
		page.Problems = append(page.Problems, v)
	}
	for i := range s.Streams {
		page.Streams = append(page.Streams, newStreamView(&s.Streams[i]))
	}
	return page
}

func newStreamView(s *health.Status) streamView {
	v := streamView{
		ID: s.Name, Title: capital(s.Noun) + "s", Noun: s.Noun, Generation: s.Generation(), DeadLetters: s.DeadLetters,
		LastAnswer: s.LastAnswer, Letters: s.Letters,
	}
	for _, p := range s.Partitions {
		v.Partitions = append(v.Partitions, fact{p.ID, grouped(int(p.Lag))})
	}
	if s.Noun == "response" {
		v.Of = "responses"
	}
	add := func(name string, format func(float64) string, of func(*health.Point) float64) {
		history := append(append([]health.Point{}, s.History...), s.Point)
		t := trend{Name: name, Now: format(of(&s.Point)), Exact: exactOrNone(of(&s.Point)), Most: "–"}
		if most := highest(history, of); most >= 0 {
			t.Most, t.Line = format(most), hourline(history, of, most)
		}
		v.Measures = append(v.Measures, t)
	}
	add(v.Title+" that wait", countOrNone, func(p *health.Point) float64 { return p.Lag })
	add("Oldest in hand", age, func(p *health.Point) float64 { return p.Age })
	add("Answers a second", rate, func(p *health.Point) float64 { return p.Rate })
	add("99 % answered within", latency, func(p *health.Point) float64 { return p.P99 })
	return v
}

// unknown stands for a number that is not known.
const unknown = "–"

func countOrNone(v float64) string {
	if math.IsNaN(v) {
		return unknown
	}
	return grouped(int(v))
}

// exactOrNone returns a number with all its digits, "" if it is not known.
func exactOrNone(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return exact(v)
}

// age returns how long ago something was, given in seconds.
func age(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case v == 0:
		return "none"
	case v < 60:
		return strconv.Itoa(int(v)) + " s"
	}
	return grouped(int(v/60)) + " min"
}

// rate returns a number of answers a second.
func rate(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case v < 10:
		return number(v, 1)
	}
	return grouped(int(math.Round(v)))
}

// latency returns a time to answer, given in seconds.
func latency(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case math.IsInf(v, 0):
		return "over a minute"
	case v < 1:
		return number(1000*v, 0) + " ms"
	}
	return number(v, 1) + " s"
}

// highest returns the largest value that is known, -1 if none is.
func highest(points []health.Point, of func(*health.Point) float64) float64 {
	most := -1.0
	for i := range points {
		if v := of(&points[i]); v > most {
			most = v
		}
	}
	return most
}

// hourline draws the values in the last hour before the last point, from 0 to most. What is not known leaves a gap.
func hourline(points []health.Point, of func(*health.Point) float64, most float64) template.HTML {
	if math.IsInf(most, 1) || most == 0 {
		most = 1
	}
	c := &chart.Chart{
		Class: "stretch", Width: 240, Height: 28, Top: 2, Bottom: 2,
		X: chart.Span{From: -hourSpan.Seconds()}, Y: chart.Span{To: most},
	}
	c.Line("ax", chart.At(c.X.From, 0), chart.At(0, 0))
	var line []chart.Point
	var before time.Time
	for i := range points {
		at, back := points[i].At, points[len(points)-1].At.Sub(points[i].At)
		if at.Sub(before) > hourGap {
			line = append(line, chart.At(0, math.NaN()))
		}
		if v := of(&points[i]); back <= hourSpan {
			line = append(line, chart.At(-back.Seconds(), v))
			if !math.IsNaN(v) {
				before = at
			}
		}
	}
	c.Line("run", line...)
	return c.SVG()
}

// healthCSV answers with the last hour of all streams.
func (p *Pages) healthCSV(w http.ResponseWriter, r *http.Request) {
	out := httpapi.NewCSV("health.csv", "time", "stream", "waiting", "oldest_seconds", "answers_per_second", "p99_seconds")
	for _, s := range p.options.Health().Streams {
		for _, x := range append(append([]health.Point{}, s.History...), s.Point) {
			out.Add(x.At.UTC().Format(time.RFC3339), s.Name, exactOrNone(x.Lag), exactOrNone(x.Age), exactOrNone(x.Rate), exactOrNone(x.P99))
		}
	}
	out.ServeHTTP(w, r)
}
