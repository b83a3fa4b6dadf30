package app

import (
	"fmt"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/models"
)

// newBeds returns what forecasts beds, and its tasks. They read the predictions of all scorers and the outcomes of
// their visits.
func newBeds(client *ingest.Client, o *Options, store *models.Store) (*bedstream.Demand, []task, error) {
	b, topics := &o.Config.Beds, &o.Config.Kafka.Topics
	d, err := bedstream.New(bedstream.Config{
		Client: client, Predictions: topics.Predictions, Outcomes: topics.Outcomes,
		Output: topics.BedDemand, Store: store,
		Source: o.Config.Scoring.Source, Site: b.Site, Zone: b.TimeZone, Holidays: b.Holidays, Beds: b.Available,
		Logger: o.Logger, Metrics: o.Registry,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("beds: %w", err)
	}
	return d, []task{
		{name: "patients who wait", without: "the bed demand knows of no patients", run: d.FollowPredictions},
		{
			name: "outcomes for the bed demand", without: "patients count as waiting until they have waited too long",
			run: d.FollowOutcomes,
		},
		{name: "fit of the bed demand", without: "the bed demand rests on no history", run: d.Learn},
		{name: "bed demand", without: "the bed demand is not published", run: d.Publish},
	}, nil
}
