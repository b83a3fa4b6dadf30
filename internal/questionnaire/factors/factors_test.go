package factors

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
	"github.com/wardcast/wardcast/solver/icqf"
)

// A factor is found by a word of its heaviest item, next to the topics of a store.
func TestFactorsAreFound(t *testing.T) {
	t.Parallel()
	m := &model.Model{
		Items: []questionnaire.Item{
			{Name: "q1", Text: "I have trouble sleeping"}, {Name: "q2", Text: "I worry a lot"}, {Name: "q3"},
		},
		ICQF:      icqf.Model{Loadings: mat.NewDense(3, 2, []float64{.1, 1, .9, 0, .2, .3})},
		CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		SHA256:    strings.Repeat("ab", 32), Summary: model.Summary{Method: "icqf"},
	}
	store := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	if err := store.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := topicindex.New(topicindex.Config{Store: store, Factors: func(context.Context) ([]*topicindex.Version, error) {
		return []*topicindex.Version{Describe("mood", m)}, nil
	}})
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"sleeps": 2, "worry": 1, "q2": 1} {
		r, err := x.Search(t.Context(), topicindex.Query{Text: text})
		if err != nil || len(r.Results) == 0 || r.Results[0].Model != "mood" || r.Results[0].Topic.Topic != want {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestUnreadableFoldersAreNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "model.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Source([]string{folder})(t.Context())
	if len(all) != 0 || err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("%v, %v", all, err)
	}
}
