package classifier

import (
	"encoding/json"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/textproc"
)

// The tensors of a model, all float64.
const (
	tensorIDF       = "idf"               // [p]
	tensorTopics    = "topics"            // [p,k], absent without topics
	tensorBeta      = "coefficients"      // [κ,k], absent without topics
	tensorWords     = "word_coefficients" // [p] for κ = 1, [κ,p] otherwise; absent without words
	tensorGrams     = "gram_coefficients" // [g] for κ = 1, [κ,g] otherwise; absent without pieces of words
	tensorGramIDF   = "gram_idf"          // [g]
	tensorGamma     = "aux_coefficients"  // [κ,q]
	tensorIntercept = "intercept"         // [κ]
	tensorShares    = "topic_prevalence"  // [1,k], absent without topics
)

// ToBundle stores the parts in b: vocabulary, tensors, and the fields of the manifest that Load needs.
func (p *Parts) ToBundle(b *bundle.Bundle) error {
	if err := p.checkClasses(); err != nil {
		return err
	}
	text := textJSON{Settings: p.Vectorizer.Settings()}
	var gramIDF, grams []float64
	for _, g := range p.Vectorizer.Pieces() {
		text.Grams = append(text.Grams, g.Text)
		gramIDF = append(gramIDF, g.IDF)
	}
	settings, err := json.Marshal(text)
	if err != nil {
		return fmt.Errorf("writing text settings: %w", err)
	}
	vocabulary := p.Vectorizer.Vocabulary()
	b.Vocabulary = lists.Map(vocabulary, func(t textproc.Term) bundle.Term { return bundle.Term(t) })
	m := &b.Manifest
	m.Text, m.Weighting = settings, string(p.Vectorizer.Settings().Weighting)
	m.Method, m.Calibration, m.Threshold, m.Aux = p.Info.Method, p.Calibration, p.Threshold, p.Aux
	m.Classes, m.AdmissionClasses = p.Classes, p.admissionClasses()
	b.Tensors = bundle.Tensors{}
	put := func(name string, data []float64, shape ...int) {
		b.Tensors[name] = bundle.Tensor{Shape: shape, Data: data}
	}
	beta, words, gamma, intercept := []float64{}, []float64{}, []float64{}, []float64{}
	for _, h := range p.Heads {
		beta, words, grams = append(beta, h.Beta...), append(words, h.Words...), append(grams, h.Grams...)
		gamma, intercept = append(gamma, h.Gamma...), append(intercept, h.Intercept)
	}
	kappa := len(p.Heads)
	put(tensorIDF, p.Vectorizer.IDF(), len(vocabulary))
	m.Rank = 0
	if p.Topics != nil {
		rows, k := p.Topics.Dims()
		m.Rank = k
		put(tensorTopics, mat.DenseCopyOf(p.Topics).RawMatrix().Data, rows, k)
		put(tensorBeta, beta, kappa, k)
		if p.Prevalence != nil {
			put(tensorShares, p.Prevalence, 1, k)
		}
	}
	if p.Heads[0].Words != nil {
		put(tensorWords, words, wordShape(kappa, len(vocabulary))...)
	}
	if p.Heads[0].Grams != nil {
		put(tensorGramIDF, gramIDF, len(gramIDF))
		put(tensorGrams, grams, wordShape(kappa, len(gramIDF))...)
	}
	put(tensorGamma, gamma, kappa, len(gamma)/kappa)
	put(tensorIntercept, intercept, kappa)
	return nil
}

type textJSON struct {
	textproc.Settings
	Grams []string `json:"grams,omitempty"` // pieces of words, in the order of their coefficients
}

// wordShape is the shape of the word coefficients of p terms.
func wordShape(kappa, p int) []int {
	if kappa == 1 {
		return []int{p}
	}
	return []int{kappa, p}
}

// BundleTopics returns the topics F (p×k) of a bundle, nil if it has none. They alias its tensor.
func BundleTopics(b *bundle.Bundle) (*mat.Dense, error) {
	p, k := len(b.Vocabulary), b.Manifest.Rank
	if k == 0 {
		return nil, nil
	}
	topics, err := b.Tensors.Float64(tensorTopics, p, k)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(p, k, topics), nil
}

// Load returns the model of a bundle. The error wraps ErrModel or ErrVersion, or is one of textproc or models.
func Load(b *bundle.Bundle) (*Model, error) {
	m := &b.Manifest
	fail := func(err error) (*Model, error) {
		return nil, fmt.Errorf("loading model %q, version %q: %w", m.Name, b.Version, err)
	}
	var text textJSON
	if err := json.Unmarshal(m.Text, &text); err != nil {
		return fail(fmt.Errorf("reading text settings: %w", err))
	}
	if text.Tokenizer != textproc.Tokenizer {
		return fail(fmt.Errorf("%w: it reads notes as %q does, this program as %q: train it again with wardcast "+
			"train --force --why TEXT", ErrVersion, text.Tokenizer, textproc.Tokenizer))
	}
	vocabulary := lists.Map(b.Vocabulary, func(t bundle.Term) textproc.Term { return textproc.Term(t) })
	if m.Classes != nil || m.AdmissionClasses != nil {
		if err := bundle.CheckAdmission(m.Classes, m.AdmissionClasses); err != nil {
			return fail(fmt.Errorf("%w: %w", ErrModel, err))
		}
	}
	p, k := len(vocabulary), m.Rank
	parts := Parts{
		Info: msg.Model{Name: m.Name, Version: b.Version, Method: m.Method, SHA256: b.SHA256}, Aux: m.Aux,
		Calibration: m.Calibration, Threshold: m.Threshold,
	}
	var err error
	read := func(name string, shape ...int) []float64 {
		if err != nil {
			return nil
		}
		var v []float64
		v, err = b.Tensors.Float64(name, shape...)
		return slices.Clip(v)
	}
	idf := read(tensorIDF, p)
	if err == nil {
		parts.Topics, err = BundleTopics(b)
	}
	if m.Classes != nil {
		parts.Classes, parts.Admission = m.Classes, make([]bool, len(m.Classes))
		for i, c := range m.Classes {
			parts.Admission[i] = slices.Contains(m.AdmissionClasses, c)
		}
	}
	kappa := max(len(m.Classes)-1, 1)
	var beta, words, gramIDF, grams []float64
	if k > 0 {
		beta = read(tensorBeta, kappa, k)
	}
	if _, ok := b.Tensors[tensorShares]; ok {
		parts.Prevalence = read(tensorShares, 1, k)
	}
	if _, ok := b.Tensors[tensorWords]; ok {
		words = read(tensorWords, wordShape(kappa, p)...)
	}
	if text.Grams != nil {
		gramIDF, grams = read(tensorGramIDF, len(text.Grams)), read(tensorGrams, wordShape(kappa, len(text.Grams))...)
	}
	gamma, intercept := read(tensorGamma, kappa, -1), read(tensorIntercept, kappa)
	if err != nil {
		return fail(err)
	}
	parts.Heads = make([]Head, kappa)
	for c := range parts.Heads {
		parts.Heads[c] = Head{
			Beta: rowOf(beta, c, kappa), Words: rowOf(words, c, kappa), Grams: rowOf(grams, c, kappa),
			Gamma: rowOf(gamma, c, kappa), Intercept: intercept[c],
		}
	}
	pieces := lists.Make(len(text.Grams), func(i int) textproc.Piece {
		return textproc.Piece{Text: text.Grams[i], IDF: gramIDF[i]}
	})
	if parts.Vectorizer, err = textproc.New(text.Settings, vocabulary, idf, pieces...); err != nil {
		return fail(err)
	}
	model, err := New(parts)
	if err != nil {
		return fail(err)
	}
	return model, nil
}

// rowOf returns row i of a matrix of n rows, nil of nil.
func rowOf(data []float64, i, n int) []float64 {
	width := len(data) / n
	return slices.Clip(data[i*width : (i+1)*width])
}
