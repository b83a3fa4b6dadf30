package app

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/questionnaire/factors"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

// topicsEvery is how often the index looks for versions that are not served, unless models.poll is longer.
const topicsEvery = time.Minute

// topicSearch keeps the index of topics up to date while notes are scored.
type topicSearch struct {
	*topicindex.Index
	every   time.Duration
	changed chan struct{} // gets a token when new models are in use; holds one
	log     *slog.Logger
}

// newTopicSearch returns an index, filled by run, of the topics of a store and the factors of questionnaires in use.
func newTopicSearch(o *Options, store *models.Store, inUse func() []*responses.Instrument) *topicSearch {
	folder, log := o.TopicIndex, o.Logger.With("component", "topics")
	if folder == "" {
		folder = cacheOf(o.Config)
	}
	described := func(context.Context) (all []*topicindex.Version, _ error) {
		for _, q := range inUse() {
			all = append(all, factors.Describe(q.Info.Name, q.Model))
		}
		return all, nil
	}
	return &topicSearch{
		Index: topicindex.New(topicindex.Config{Store: store, Factors: described, Folder: folder, Logger: log}),
		every: max(o.Config.Models.Poll, topicsEvery), changed: make(chan struct{}, 1), log: log,
	}
}

// cacheOf returns the folder in the user's cache for the index of a store and of questionnaires; "", for a temporary
// one, if it cannot be created: a service may have no home.
func cacheOf(c *config.Config) string {
	folder := topicindex.CacheFolder(c.Models.Store, slices.Sorted(maps.Values(c.Questionnaires.Models))...)
	if folder != "" && os.MkdirAll(folder, 0o700) != nil {
		return ""
	}
	return folder
}

// run refreshes the index until ctx ends: when new models are in use, when it is damaged, and periodically. It logs a
// failure once while it is the same; searches then use the previous index.
func (t *topicSearch) run(ctx context.Context) {
	tick := time.Tick(t.every)
	for before := ""; ; {
		now := ""
		if err := guarded(func() error { return t.Refresh(ctx) }); err != nil {
			now = err.Error()
		}
		if ctx.Err() != nil {
			return
		}
		if now != "" && now != before {
			t.log.WarnContext(ctx, "the index of topics is not complete", "err", now)
		}
		before = now
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-t.changed:
		case <-t.Damaged():
		}
	}
}

func (t *topicSearch) close() {
	if err := guarded(t.Close); err != nil {
		t.log.Warn("closing the index of topics", "err", err)
	}
}
