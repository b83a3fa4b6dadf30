package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// TestBedDemand: notes that a scorer answers wait in its forecasts until their outcomes come, and the forecasts are
// published.
func TestBedDemand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	store := models.OpenDir(s.config.Models.Store)
	damaged, err := store.SaveBeds(t.Context(), time.Now(), []byte(`{"zone":"Nowhere"}`))
	if err != nil {
		t.Fatal(err)
	}
	champion, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := &models.Generation{CreatedAt: champion.CreatedAt.Add(time.Second), Models: champion.Models, Beds: damaged}
	if err := store.AddGeneration(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: g.Name, From: champion.Name}); err != nil {
		t.Fatal(err)
	}
	s.start().ready()
	waiting := func() int {
		status, body := s.get("/v1/bed-demand?window=4h&include=waiting")
		var got struct{ Forecasts []msg.BedDemand }
		if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil ||
			len(got.Forecasts) != 1 || got.Forecasts[0].Ward != beds.All {
			t.Fatalf("%d %s %v", status, body, err)
		}
		return got.Forecasts[0].Waiting.Patients
	}
	var sent []*kgo.Record
	for i := range 12 {
		n := note(t, i)
		n.ArrivedAt = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		sent = append(sent, record(n))
	}
	c := s.stream()
	c.send(sent...)
	s.await("twelve patients", func() bool { return waiting() == 12 })
	var decided []*kgo.Record
	for i := range 5 {
		o := msg.Outcome{VisitID: note(t, i).VisitID, Disposition: msg.Discharged}
		decided = append(decided,
			&kgo.Record{Topic: s.config.Kafka.Topics.Outcomes, Key: []byte(o.VisitID), Value: o.AppendJSON(nil)})
	}
	if err := c.ProduceSync(t.Context(), decided...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s.await("seven patients", func() bool { return waiting() == 7 })
	if status, body := s.get("/readyz"); status != http.StatusOK || !strings.Contains(body, damaged) ||
		!strings.Contains(body, "rests on no history") {
		t.Errorf("a damaged fit is reported as %d %s", status, body)
	}
	published := ingesttest.Reader(t, s.config.Kafka.Brokers, s.config.Kafka.Topics.BedDemand)
	keys := map[string]bool{}
	s.await("three horizons", func() bool {
		published.PollRecords(t.Context(), 10).EachRecord(func(r *kgo.Record) { keys[string(r.Key)] = true })
		return keys["_all|_all|4"] && keys["_all|_all|8"] && keys["_all|_all|24"]
	})
	if log := s.log.String(); strings.Contains(log, fmt.Sprintf("%q", note(t, 1).VisitID)) {
		t.Error("a visit is in the log")
	}
}
