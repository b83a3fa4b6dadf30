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

// Renew loads the models that have changed of what NewResponseHandler returned.
func Renew(ctx context.Context, h ingest.Handler) (changed bool, errs []error) {
	return h.(*questionnaires).renew(ctx)
}
