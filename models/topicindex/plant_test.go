package topicindex

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// day0 is when the first version of a test was made.
var day0 = time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)

// planted is a version of a model with known topics.
type planted struct {
	model, complaint string
	day              int
	notes            []string             // that its vocabulary is read from
	topics           []map[string]float64 // weights by term
	beta             []float64            // coefficients of the topics
}

// learned keeps what was learned from notes, since learning it takes longer than all the rest.
var learned sync.Map

// someConcepts are those that the notes of the tests speak of: compiling the whole table takes longer than all the
// rest.
var someConcepts = sync.OnceValue(func() *textproc.Concepts {
	some := &textproc.Concepts{Triggers: []textproc.Trigger{{Surface: "denies", Effect: "denies"}}}
	for _, c := range textproc.Builtin().Concepts {
		switch c.Name {
		case "chest_pain":
			c.Surfaces = c.Surfaces[:1] // others need senses
			fallthrough
		case "dyspnea", "cough", "wheezing", "fracture", "laceration", "sutures", "pain", "rash", "fall", "finger":
			some.Concepts = append(some.Concepts, c)
		}
	}
	return some
})

func vectorizerOf(notes []string) (*textproc.Vectorizer, error) {
	key := strings.Join(notes, "\n")
	if v, ok := learned.Load(key); ok {
		return v.(*textproc.Vectorizer), nil //nolint:forcetypeassert // nothing else is stored
	}
	docs := make([]textproc.Document, len(notes))
	for i, n := range notes {
		docs[i] = textproc.Document{Text: n}
	}
	settings := textproc.DefaultSettings()
	settings.MinDF, settings.MaxDF, settings.NGrams = 1, 1, 1
	settings.Concepts = someConcepts()
	v, _, err := textproc.Fit(docs, settings)
	learned.Store(key, v)
	return v, err
}

// bundle returns the version as training saves it.
func (p *planted) bundle() (*bundle.Bundle, error) {
	v, err := vectorizerOf(p.notes)
	if err != nil {
		return nil, err
	}
	columns := map[string]int{}
	for j, t := range v.Vocabulary() {
		columns[t.Text] = j
	}
	topics := mat.NewDense(len(columns), len(p.topics), nil)
	for t, ws := range p.topics {
		for term, w := range ws {
			j, ok := columns[term]
			if !ok {
				return nil, fmt.Errorf("no term %q among %v", term, columns)
			}
			topics.Set(j, t, w)
		}
	}
	beta := p.beta
	if beta == nil {
		beta = make([]float64, len(p.topics))
	}
	parts := classifier.Parts{
		Info: msg.Model{Method: "sonmf"}, Vectorizer: v, Topics: topics,
		Heads:       []classifier.Head{{Beta: beta, Gamma: []float64{}}},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
	}
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{Name: p.model, Complaint: p.complaint, CreatedAt: day0.AddDate(0, 0, p.day)},
	}
	return b, parts.ToBundle(b)
}

// add serves versions as one generation. It returns their names.
func add(tb testing.TB, s *models.Store, all ...planted) []string {
	tb.Helper()
	names, err := serveNamed(tb.Context(), s, all...)
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

func serve(ctx context.Context, s *models.Store, all ...planted) error {
	_, err := serveNamed(ctx, s, all...)
	return err
}

// serveNamed saves versions and serves them as one generation. It returns their names.
func serveNamed(ctx context.Context, s *models.Store, all ...planted) (names []string, err error) {
	before := ""
	switch served, err := s.Champion(ctx); {
	case err == nil:
		before = served.Name
	case !errors.Is(err, models.ErrNotFound):
		return nil, err
	}
	g := &models.Generation{CreatedAt: day0.AddDate(0, 0, all[0].day), By: "test", Models: map[string]models.Member{}}
	for _, p := range all {
		b, err := p.bundle()
		if err != nil {
			return nil, err
		}
		name, err := s.Save(ctx, b)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		g.Models[p.model] = models.Member{Complaint: p.complaint, Version: name}
	}
	if err := s.AddGeneration(ctx, g); err != nil {
		return nil, err
	}
	return names, s.Promote(ctx, models.Change{From: before, To: g.Name, By: "test"})
}

// many returns versions with so many topics in all, 25 each, of words drawn from 20,000.
func many(topics int) []*Version {
	r := rand.New(rand.NewPCG(1, 2))
	const perVersion, vocabulary, kept = 25, 4000, 20_000
	dictionary, phrases := make([]string, kept), map[string]string{}
	for i := range dictionary {
		dictionary[i] = pseudoword(r) + fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26%26)
		phrases[dictionary[i]] = dictionary[i] + " " + pseudoword(r)
	}
	var all []*Version
	for v := 0; len(all)*perVersion < topics; v++ {
		version := &Version{Origin: Origin{
			Model: fmt.Sprintf("model-%d", v%20), Complaint: fmt.Sprintf("Complaint %d", v%20), Method: "sonmf",
			Status:    models.SupersededStatus,
			CreatedAt: day0.AddDate(0, 0, v/20),
			Version:   bundle.VersionName(day0.AddDate(0, 0, v/20), fmt.Sprintf("%064x", v*7919)),
		}}
		if v/20 == (topics/perVersion-1)/20 {
			version.Status = models.ChampionStatus
		}
		start := v % 20 * (kept - vocabulary) / 100 // models share most words
		version.Vocabulary = dictionary[start : start+vocabulary]
		for t := range perVersion {
			topic := Topic{Topic: classifier.Topic{
				Topic: t + 1, Direction: classifier.TowardAdmission, Coefficient: r.NormFloat64(),
			}, Length: 1}
			for i := range 2 * indexedTerms {
				word := version.Vocabulary[min(int(r.ExpFloat64()*300), vocabulary-1)]
				topic.Terms = append(topic.Terms, classifier.TopicTerm{
					Term: word, Surface: []string{word, word + "s", phrases[word]}, Status: "affirmed",
					Weight: msg.Round(.6 / float64(i+1)),
				})
			}
			topic.Label = topic.Terms[0].Term + ", " + topic.Terms[1].Term + ", " + topic.Terms[2].Term
			version.Topics = append(version.Topics, topic)
		}
		all = append(all, version)
	}
	return all
}

func pseudoword(r *rand.Rand) string {
	var b strings.Builder
	for range 2 + r.IntN(2) {
		b.WriteByte("bcdfghjklmnprstvw"[r.IntN(17)])
		b.WriteByte("aeiou"[r.IntN(5)])
	}
	return b.String()
}
