package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/watch"
)

const (
	// labelRate is how many predictions, and how many outcomes, are read per second at most, so that a million of them
	// takes no processor from the scorer. Labels are late by hours; a reader that lags by minutes loses nothing.
	labelRate = 2000
	// labelInterval is how often the calibration is measured, or seldomer so that it takes at most one labelShare-th of
	// the time.
	labelInterval = 5 * time.Second
	labelShare    = 100
)

// newLabels returns the tasks that join the predictions of all scorers with the outcomes of their visits, from those of
// the last days on. They read the KafkaTopics as anybody could; the scorer knows nothing of them.
func newLabels(client *ingest.Client, o *Options) ([]task, error) {
	labels := watch.NewLabels(time.Now)
	if err := o.Registry.Register(labels); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	log := o.Logger.With("component", "labels")
	follow := func(topic string, each func([]byte, time.Time)) func(context.Context) error {
		return func(ctx context.Context) error {
			f := ingest.Follow{Topic: topic, From: time.Now().Add(-watch.Horizon), Rate: labelRate, Logger: log}
			return client.Follow(ctx, f, func(r *ingest.Record) {
				if len(r.Value) > 0 {
					each(r.Value, r.Time)
				}
			})
		}
	}
	measure := func(ctx context.Context) error {
		for {
			began := time.Now()
			labels.Measure()
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(max(cmp.Or(o.labelInterval, labelInterval), labelShare*time.Since(began))):
			}
		}
	}
	const without = "the calibration is not watched"
	topics := o.Config.Kafka.Topics
	return []task{
		{name: "late labels", without: without, run: follow(topics.Outcomes, labels.Outcome)},
		{name: "predictions to be labelled", without: without, run: follow(topics.Predictions, labels.Prediction)},
		{name: "calibration", without: without, run: measure},
	}, nil
}
