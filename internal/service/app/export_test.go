package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// Hasten shortens what a test would wait for.
func (o *Options) Hasten() { o.labelInterval = 20 * time.Millisecond }

// ShortenShadow bounds how long the writing of shadow predictions may take.
func (o *Options) ShortenShadow(timeout time.Duration) { o.shadowTimeout = timeout }

// VerifyOften has the files of the models in use read again after moments.
func (o *Options) VerifyOften() { o.verifyEvery = 20 * time.Millisecond }

// NewResponseHandler returns what answers responses.
func NewResponseHandler(ctx context.Context, c *config.Config, r *prometheus.Registry) (ingest.Handler, error) {
	return newQuestionnaires(ctx, c, r)
}

// Renew loads the models that have changed of what NewResponseHandler returned.
func Renew(ctx context.Context, h ingest.Handler) (changed bool, errs []error) {
	return h.(*questionnaires).renew(ctx)
}
