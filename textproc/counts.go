package textproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
)

// Counts is what a vocabulary or its pieces of words are learned from: how many distinct patients have each. Counts of
// documents of other patients, from other processes, add up.
type Counts struct {
	documents, patients int
	tallies             map[string]*tally // by term with its surface forms, or by piece with "" for common words
	words               map[WordUse]struct{}
}

func newCounts() *Counts { return &Counts{tallies: map[string]*tally{}, words: map[WordUse]struct{}{}} }

// CountTerms counts the terms of docs as Learn does.
func CountTerms(docs []Document, s Settings) (*Counts, error) {
	draft, err := newVectorizer(s)
	if err != nil {
		return nil, err
	}
	return gather(docs, draft.countTerms), nil
}

// CountPieces counts the pieces of the words of docs as LearnPieces does.
func (v *Vectorizer) CountPieces(docs []Document) *Counts { return gather(docs, v.countPieces) }

// Add adds counts of other patients, which must not be used afterwards.
func (c *Counts) Add(more *Counts) {
	c.documents, c.patients = c.documents+more.documents, c.patients+more.patients
	merge(c.tallies, more.tallies)
	maps.Copy(c.words, more.words)
}

func merge(all, more map[string]*tally) {
	for key, c := range more {
		if own := all[key]; own != nil {
			own.patients += c.patients
			merge(own.surfaces, c.surfaces)
		} else {
			all[key] = c
		}
	}
}

// Learn is the function Learn of the documents that were counted, with the same settings.
func (c *Counts) Learn(s Settings) (*Vectorizer, error) {
	draft, err := newVectorizer(s)
	if err != nil {
		return nil, err
	}
	return c.learn(draft)
}

func (c *Counts) learn(draft *Vectorizer) (*Vectorizer, error) {
	s := &draft.settings
	vocabulary := draft.choose(c.tallies, c.patients)
	if len(vocabulary) == 0 {
		return nil, fmt.Errorf("%w: of %d terms in %d notes of %d patients none is in at least %d patients "+
			"(%d for common words) and in at most a share of %v of them",
			ErrEmptyVocabulary, len(c.tallies), c.documents, c.patients, s.MinDF, s.MinCommon, s.MaxDF)
	}
	idf := lists.Map(vocabulary, func(t Term) float64 { return s.IDF.value(c.patients, t.DF) })
	return draft, draft.setVocabulary(vocabulary, idf, nil)
}

// LearnPieces is Vectorizer.LearnPieces of the documents whose pieces were counted by v.
func (c *Counts) LearnPieces(v *Vectorizer) (*Vectorizer, *Words, error) {
	var pieces []Piece
	for g, t := range c.tallies {
		if own := t.surfaces[""]; t.patients >= v.settings.MinDF ||
			own != nil && own.patients >= v.settings.least(true) {
			pieces = append(pieces, Piece{g, SmoothIDF.value(c.patients, t.patients)})
		}
	}
	slices.SortFunc(pieces, func(a, b Piece) int { return strings.Compare(a.Text, b.Text) })
	out, err := New(v.settings, v.vocabulary, v.idf, pieces...)
	if err != nil {
		return nil, nil, err
	}
	return out, out.LayWords(slices.Collect(maps.Keys(c.words))), nil
}

// counted is a line of Write.
type counted struct {
	Documents int            `json:"documents,omitempty"`
	Text      *string        `json:"t,omitempty"`
	Patients  int            `json:"n,omitempty"` // with the text, or all
	Surfaces  map[string]int `json:"s,omitempty"`
	Word      *WordUse       `json:"word,omitempty"`
}

// Write writes the counts as JSON lines. Counts that stand one after the other are read as their sum.
func (c *Counts) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(counted{Documents: c.documents, Patients: c.patients}); err != nil {
		return err
	}
	for text, t := range c.tallies {
		line := counted{Text: &text, Patients: t.patients, Surfaces: make(map[string]int, len(t.surfaces))}
		for form, f := range t.surfaces {
			line.Surfaces[form] = f.patients
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	for use := range c.words {
		if err := e.Encode(counted{Word: &use}); err != nil {
			return err
		}
	}
	return nil
}

// ReadCounts reads what Write wrote, once or several times.
func ReadCounts(r io.Reader) (*Counts, error) {
	c, d := newCounts(), json.NewDecoder(r)
	for {
		var line counted
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return c, nil
		case err != nil:
			return nil, fmt.Errorf("reading counts: %w", err)
		case line.Word != nil:
			c.words[*line.Word] = struct{}{}
		case line.Text == nil:
			c.documents, c.patients = c.documents+line.Documents, c.patients+line.Patients
		default:
			t := &tally{patients: line.Patients, surfaces: make(map[string]*tally, len(line.Surfaces))}
			for form, n := range line.Surfaces {
				t.surfaces[form] = &tally{patients: n}
			}
			merge(c.tallies, map[string]*tally{*line.Text: t})
		}
	}
}
