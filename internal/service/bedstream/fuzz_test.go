package bedstream

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// FuzzMessages takes any bytes as a prediction and as an outcome: forecasts can be made afterwards, and one message
// adds no more than one patient.
func FuzzMessages(f *testing.F) {
	const prediction = `{"schema_version":"1","visit_id":"V","arrived_at":"2026-11-20T07:00:00Z","complaint":"Fall",` +
		`"model":{"name":"m","version":"1"},"probability":0.4}`
	for _, seed := range []struct{ prediction, outcome string }{
		{prediction, `{"schema_version":"1","visit_id":"V","disposition":"admitted","ward":"_all",` +
			`"decided_at":"2026-11-20T07:30:00Z"}`},
		{prediction[:40], `{}`},
		{``, ``},
		{prediction, `{"schema_version":"1","visit_id":"V","disposition":"left","decided_at":"9999-12-31T23:59:59Z"}`},
		{`{"schema_version":"1","visit_id":"V","arrived_at":"0000-01-01T00:00:00Z","probability":1,` +
			`"classes":[{"class":"MED","probability":-1}]}`, `null`},
	} {
		f.Add([]byte(seed.prediction), []byte(seed.outcome), int64(1), int64(2))
	}
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, prediction, outcome []byte, scored, decided int64) {
		d, err := New(Config{
			Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
			Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		d.predictions.missing()
		d.outcomes.missing()
		d.notes.missing()
		close(d.looked)
		at := func(ms int64) time.Time { return now.Add(-time.Duration(ms%1e9) * time.Millisecond) }
		d.prediction(&ingest.Record{Key: []byte("V"), Value: prediction, Time: at(scored)}, &msg.Arrival{})
		d.outcome(&ingest.Record{Key: []byte("V"), Value: outcome, Time: at(decided)}, &msg.Outcome{})
		all, err := d.Forecasts(context.Background(),
			&httpapi.DemandQuery{Window: time.Hour, Waiting: true, Coming: true})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if all[0].Waiting.Patients > 1 {
			t.Fatal(all[0])
		}
	})
}
