package classifier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/textproc"
)

// benchNotes is how many notes a benchmark goes through in turn.
const benchNotes = 500

// benchModel returns a model of random topics over the vocabulary of generated notes, with the notes.
func benchModel(b *testing.B, rank int) (*Model, []synth.Note) {
	b.Helper()
	g, err := synth.New(synth.Settings{Seed: 1, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		b.Fatal(err)
	}
	notes := make([]synth.Note, benchNotes)
	docs := make([]textproc.Document, benchNotes)
	for i := range notes {
		notes[i] = g.At(i)
		docs[i].Text = notes[i].Text
	}
	v, _, err := textproc.Fit(docs, textproc.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(rank)))
	normal := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = random.NormFloat64()
		}
		return v
	}
	p := len(v.Vocabulary())
	parts := Parts{
		Vectorizer: v,
		Aux: []bundle.AuxColumn{
			{Name: "age", Kind: bundle.Numeric, Mean: []float64{50}},
			{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "M"}, Mean: []float64{0.5, 0.5}},
		},
		Heads:       []Head{{Words: normal(p), Gamma: normal(3)}},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1}, Threshold: 0.5,
	}
	if rank > 0 {
		parts.Topics, parts.Heads[0].Beta = mat.NewDense(p, rank, normal(p*rank)), normal(rank)
	}
	return newModel(b, parts), notes
}

func BenchmarkScore(b *testing.B) {
	for _, rank := range []int{0, 25, 50, 200} {
		for _, limits := range []Limits{{}, {Topics: 3, Terms: 5, Words: 10}} {
			b.Run(fmt.Sprintf("k=%d/shown=%d,%d,%d", rank, limits.Topics, limits.Terms, limits.Words),
				func(b *testing.B) {
					m, notes := benchModel(b, rank)
					s := m.Scorer(Options{Limits: limits})
					var p msg.Prediction
					eachNote(b, notes, func(text string, aux []msg.Value) { s.Score(text, aux, &p) })
				})
		}
	}
}

func BenchmarkScoreClasses(b *testing.B) {
	for _, classes := range []int{3, 10} {
		b.Run(fmt.Sprintf("k=25/classes=%d", classes), func(b *testing.B) {
			m, notes := benchModel(b, 25)
			parts := m.parts
			parts.Topics = mat.NewDense(len(m.terms), m.rank, m.topics)
			parts.Admission, parts.Calibration = make([]bool, classes), bundle.Calibration{Kind: bundle.Uncalibrated}
			parts.Admission[1] = true
			for c := range classes {
				parts.Classes = append(parts.Classes, fmt.Sprint("class ", c))
			}
			for range classes - 2 {
				parts.Heads = append(parts.Heads, parts.Heads[0])
			}
			s := newModel(b, parts).Scorer(Options{Limits: Limits{Topics: 3, Terms: 5, Words: 10}})
			var p msg.Prediction
			eachNote(b, notes, func(text string, aux []msg.Value) { s.Score(text, aux, &p) })
		})
	}
}

func BenchmarkProbability(b *testing.B) {
	for _, rank := range []int{0, 25, 50, 200} {
		b.Run(fmt.Sprintf("k=%d", rank), func(b *testing.B) {
			m, notes := benchModel(b, rank)
			s := m.Scorer(Options{})
			eachNote(b, notes, func(text string, aux []msg.Value) { s.Probability(text, aux) })
		})
	}
}

// eachNote measures do on one note after the other, from a second round on: the first fills the token cache.
func eachNote(b *testing.B, notes []synth.Note, do func(text string, aux []msg.Value)) {
	b.Helper()
	aux := make([]msg.Value, 2)
	at := 0
	next := func() {
		n := &notes[at%len(notes)]
		at++
		aux[0], aux[1] = msg.Number(n.Age.Value), msg.Text(n.Sex)
		do(n.Text, aux)
	}
	for range notes {
		next()
	}
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
}
