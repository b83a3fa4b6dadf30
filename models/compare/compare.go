// Package compare reports what differs between two generations of models: which came, went or were replaced, how
// each did, and which words entered or left the most important ones.
package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/models"
)

// TopWords is how many words of a model are compared.
const TopWords = 30

// Kind says what happened to a model from one generation to another.
type Kind string

// The kinds.
const (
	Same     Kind = "same"
	Replaced Kind = "replaced"
	New      Kind = "new"
	Gone     Kind = "gone" // the model of all complaints answers its notes
)

// Side is a model in one generation, with the measures of its own training, possibly on different notes.
type Side struct {
	Version string   `json:"version"`
	Notes   int      `json:"notes"`
	Events  int      `json:"events"` // admissions among the notes
	LogLoss *float64 `json:"log_loss"`
	AUROC   *float64 `json:"auroc"`

	words []string
}

// Model is one model in two generations.
type Model struct {
	Model string `json:"model"`
	Kind  Kind   `json:"change"`
	From  *Side  `json:"from"` // nil if New
	To    *Side  `json:"to"`   // nil if Gone
	// Entered and Left are the words that only one of the two has among its TopWords.
	Entered []string `json:"entered,omitempty"`
	Left    []string `json:"left,omitempty"`
}

// Generations compares from and to, by the name of the model. It loads all models that differ.
func Generations(ctx context.Context, store *models.Store, from, to *models.Generation) ([]Model, error) {
	names := map[string]models.Member{}
	maps.Copy(names, from.Models)
	maps.Copy(names, to.Models)
	all := []Model{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := from.Models[name].Version, to.Models[name].Version
		m := Model{Model: name, Kind: Replaced}
		switch "" {
		case a:
			m.Kind = New
		case b:
			m.Kind = Gone
		}
		var err error
		if m.From, err = side(ctx, store, name, a); err != nil {
			return nil, err
		}
		if m.To = m.From; a != b {
			if m.To, err = side(ctx, store, name, b); err != nil {
				return nil, err
			}
		}
		switch {
		case a == b:
			m.Kind = Same
		case m.Kind == Replaced:
			m.Entered, m.Left = without(m.To.words, m.From.words), without(m.From.words, m.To.words)
		}
		all = append(all, m)
	}
	return all, nil
}

func without(words, others []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(others, w) })
}

func side(ctx context.Context, store *models.Store, name, version string) (*Side, error) {
	if version == "" {
		return nil, nil
	}
	b, err := store.Load(ctx, name, version)
	if err != nil {
		return nil, err
	}
	model, err := classifier.Load(b)
	if err != nil {
		return nil, err
	}
	s := &Side{words: model.Words(TopWords)}
	if b.Manifest.Metrics != nil {
		if err := json.Unmarshal(b.Manifest.Metrics, s); err != nil {
			return nil, fmt.Errorf("reading the metrics of model %q, version %q: %w", name, version, err)
		}
	}
	s.Version, s.Notes, s.Events = version, b.Manifest.Training.Documents, b.Manifest.Training.Positives
	return s, nil
}
