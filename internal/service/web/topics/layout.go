package topics

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/mds"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
)

const (
	mapWidth, mapHeight = 640, 540
	circleShare         = 0.2 // the share of the map that circles cover
	leastRadius         = 18  // holds a coefficient
	mostRadius          = 46
	circleGap           = 5
	labelHeight         = 17  // of a word below its circle
	letter              = 6.4 // width of one, on average
	longestWord         = 12
	lineHeight          = 13
	valueWidth          = 5 * letter
	pushes              = 300
	epsilon             = 1e-9
	defaultRadiusShare  = 0.02 // of a topic whose share of notes is unknown
)

// place is where a topic lies on the map: its circle, and the word in it or below it.
type place struct {
	x, y, r float64
	word    string
	inside  bool // the word fits into the circle
}

// width and height are those of the circle with its word.
func (p *place) width() float64 {
	if p.inside {
		return 2 * p.r
	}
	return max(2*p.r, p.wordWidth())
}

func (p *place) wordWidth() float64 { return letter * float64(utf8.RuneCountInString(p.word)) }

func (p *place) height() float64 {
	if p.inside {
		return 2 * p.r
	}
	return 2*p.r + labelHeight
}

type cache struct {
	mu     sync.Mutex
	set    *scoring.Set
	topics map[*classifier.Model]*drawnTopics
}

type drawnTopics struct {
	topics  []classifier.Topic
	places  []place
	pushes  chart.Span          // of all words
	holders map[string][]string // the topics that hold a term among the words that the page shows of them
}

// of returns the topics of a model of a set.
func (c *cache) of(set *scoring.Set, m *classifier.Model) *drawnTopics {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set != set {
		c.set, c.topics = set, map[*classifier.Model]*drawnTopics{}
	}
	if c.topics[m] == nil {
		d := &drawnTopics{topics: m.Topics(keptWords), holders: map[string][]string{}}
		pushes := []float64{0}
		for i := range d.topics {
			t := &d.topics[i]
			for _, x := range heaviest(t) {
				pushes = append(pushes, x.Weight*t.Coefficient)
				d.holders[x.Term] = append(d.holders[x.Term], strconv.Itoa(t.Topic))
			}
		}
		d.pushes = chart.Cover(pushes...)
		if len(d.topics) > 0 {
			d.places = layout(distances(m.Parts().Topics), d.topics)
		}
		c.topics[m] = d
	}
	return c.topics[m]
}

// distances returns the k×k Hellinger distances between k topics, p×k, whose squared weights are distributions over
// words. Topics that are orthogonal by sign alone are near.
func distances(topics mat.Matrix) *mat.SymDense {
	_, k := topics.Dims()
	columns, d := make([][]float64, k), mat.NewSymDense(k, nil)
	for t := range columns {
		columns[t] = lists.Map(mat.Col(nil, t, topics), math.Abs)
		if n := floats.Norm(columns[t], 2); n > 0 {
			floats.Scale(1/n, columns[t])
		}
		for other := range t {
			d.SetSym(t, other, math.Sqrt(max(0, 1-floats.Dot(columns[t], columns[other]))))
		}
	}
	return d
}

// layout returns where topics lie: their principal coordinates (Gower 1966, Biometrika 53), stretched over the map,
// with overlaps pushed apart. The same model has the same map.
func layout(distances *mat.SymDense, topics []classifier.Topic) []place {
	k := len(topics)
	places := make([]place, k)
	x, y := coordinates(distances)
	stretch(x, mapWidth)
	stretch(y, mapHeight)
	var total float64
	for t := range topics {
		share := defaultRadiusShare
		if p := topics[t].Prevalence; p != nil {
			share = *p
		}
		places[t] = place{x: x[t], y: y[t], r: math.Sqrt(share)}
		total += places[t].r * places[t].r
	}
	scale := math.Sqrt(circleShare * mapWidth * mapHeight / (math.Pi * max(total, epsilon)))
	for t := range places {
		p := &places[t]
		p.r, p.word = min(max(p.r*scale, leastRadius), mostRadius), mapWord(topics[t].Label)
		chord := math.Sqrt(max(0, p.r*p.r-lineHeight*lineHeight))
		p.inside = max(p.wordWidth(), valueWidth)/2 < chord
	}
	for range pushes {
		if !push(places) {
			break
		}
	}
	return places
}

// coordinates returns the first two principal coordinates of things at these distances, a row if there are not two.
func coordinates(distances *mat.SymDense) (x, y []float64) {
	k := distances.SymmetricDim()
	x, y = lists.Make(k, func(i int) float64 { return float64(i) }), make([]float64, k)
	var at mat.Dense
	if n, _ := mds.TorgersonScaling(&at, nil, distances); k < 3 || n < 2 {
		return x, y
	}
	for n, to := range [][]float64{x, y} {
		mat.Col(to, n, &at)
		// The sign is arbitrary.
		if slices.MaxFunc(to, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) }) < 0 {
			floats.Scale(-1, to)
		}
	}
	return x, y
}

// stretch spreads values over the inner part of a length, by value and by rank, so that outliers do not crowd the rest.
func stretch(v []float64, length float64) {
	low, high := floats.Min(v), floats.Max(v)
	order := make([]int, len(v))
	floats.Argsort(slices.Clone(v), order)
	place := make([]float64, len(v))
	for rank, i := range order {
		place[i] = 0.5
		if high-low > epsilon {
			place[i] = 0.35*(v[i]-low)/(high-low) + 0.65*float64(rank)/float64(max(1, len(v)-1))
		}
	}
	for i := range v {
		v[i] = length * (0.08 + 0.84*place[i])
	}
}

// mapWord returns the first word of a topic's label, short enough for the map.
func mapWord(label string) string {
	word, _, _ := strings.Cut(label, ", ")
	word, status, tagged := strings.Cut(word, " (")
	word = prediction.Spoken(word)
	if tagged && strings.HasPrefix(status, "denied") {
		word = "no " + word
	}
	return chart.Shorten(word, longestWord)
}

// push moves what overlaps apart, where it overlaps less, and all into the map; it reports whether any moved.
func push(places []place) bool {
	moved := false
	for i := range places {
		for j := range i {
			a, b := &places[i], &places[j]
			dx, dy := a.x-b.x, (a.y-a.r+a.height()/2)-(b.y-b.r+b.height()/2)
			overX := (a.width()+b.width())/2 + circleGap - math.Abs(dx)
			overY := (a.height()+b.height())/2 + circleGap - math.Abs(dy)
			if overX <= 0 || overY <= 0 {
				continue
			}
			moved = true
			if overX < overY {
				shift := math.Copysign(overX/2, dx)
				a.x, b.x = a.x+shift, b.x-shift
			} else {
				shift := math.Copysign(overY/2, dy)
				a.y, b.y = a.y+shift, b.y-shift
			}
		}
	}
	for i := range places {
		p := &places[i]
		p.x = min(max(p.x, p.width()/2+circleGap), mapWidth-p.width()/2-circleGap)
		p.y = min(max(p.y, p.r+circleGap), mapHeight-p.height()+p.r-circleGap)
	}
	return moved
}
