package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

// The index lies among the user's caches, and in a temporary folder if that is not possible.
func TestCacheOf(t *testing.T) {
	caches := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", caches)
	of := func(store string, questionnaires ...string) string {
		c := config.Default()
		c.Models.Store, c.Questionnaires.Models = store, map[string]string{}
		for _, q := range questionnaires {
			c.Questionnaires.Models[q] = q
		}
		return cacheOf(&c)
	}
	folder := of("models")
	if relative, err := filepath.Rel(caches, folder); err != nil || !filepath.IsLocal(relative) ||
		folder == of("others") || folder == of("models", "mood") {
		t.Errorf("the folder is %s in %s", folder, caches)
	}
	file := filepath.Join(caches, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	if folder := of("models"); folder != "" {
		t.Errorf("the folder is %s, want a temporary one", folder)
	}
}

// An index that is damaged while notes are scored is made again at once, and the process lives.
func TestDamagedIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	store := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	if err := store.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "index")
	factors := func(context.Context) ([]*topicindex.Version, error) {
		topic := classifier.Topic{
			Topic: 1, Label: "hip", Direction: classifier.TowardAdmission,
			Terms: []classifier.TopicTerm{{Term: "hip", Surface: []string{"hip"}, Weight: 1}},
		}
		origin := topicindex.Origin{Model: "fall", Version: "1", Status: models.ChampionStatus}
		return []*topicindex.Version{{Origin: origin, Topics: []topicindex.Topic{{Topic: topic, Length: 1}}}}, nil
	}
	s := &topicSearch{
		Index: topicindex.New(topicindex.Config{Store: store, Factors: factors, Folder: folder}), every: time.Hour,
		changed: make(chan struct{}, 1), log: slog.New(slog.DiscardHandler),
	}
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.run(ctx) }()
	defer func() { cancel(); <-ended }()
	failed := 0
	for range 2 {
		if r, err := s.Search(ctx, topicindex.Query{Text: "hip"}); err != nil || r.Total != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*", "store", "*.zap"))
		if err != nil || len(files) == 0 {
			t.Fatalf("segments %v, %v", files, err)
		}
		for _, file := range files {
			if err := os.Truncate(file, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Search(ctx, topicindex.Query{Text: "hip"}); err != nil {
			failed++
		}
	}
	if failed != 2 {
		t.Errorf("%d searches of a damaged index failed, want 2", failed)
	}
	if r, err := s.Search(ctx, topicindex.Query{Text: "hip"}); err != nil || r.Total != 1 {
		t.Errorf("after the damage: %+v, %v", r, err)
	}
}
