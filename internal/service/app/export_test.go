package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// NewResponseHandler returns what answers responses.
func NewResponseHandler(ctx context.Context, c *config.Config, r *prometheus.Registry) (ingest.Handler, error) {
	return newQuestionnaires(ctx, c, r)
}
