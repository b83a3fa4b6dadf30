package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// TestBedDemandSurvives: a forecast for a moment that has passed has the same bytes before and after SIGKILL of scorer
// and broker.
func TestBedDemandSurvives(t *testing.T) {
	t.Parallel()
	folder, broker, api := filepath.Join(t.TempDir(), "broker"), ingesttest.FreeAddress(t), ingesttest.FreeAddress(t)
	config := clitest.File(t, "wardcast.yaml",
		fmt.Sprintf("kafka: {brokers: [%q]}\nmodels: {store: %s}\nhttp: {listen: %q}\n", broker, trained(t), api))
	serve := func(how func(*testing.T, ...string) *running) *running {
		return how(t, "serve", "--config", config, "--embedded-broker", folder, "--create-topics").ready()
	}
	ask := func(query string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+api+"/v1/bed-demand?window=4h"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", response.StatusCode, body, err)
		}
		return string(body)
	}
	first := serve(start)
	var notes []*kgo.Record
	for i := range 20 {
		n := msg.Note{VisitID: fmt.Sprint(secret, i), ArrivedAt: time.Now().Add(-time.Duration(i) * time.Minute).UTC().
			Format(time.RFC3339), Complaint: "Fall", Text: "fell at home"}
		notes = append(notes, &kgo.Record{Topic: "triage.notes", Key: []byte(n.VisitID), Value: n.AppendJSON(nil)})
	}
	if err := ingesttest.Reader(t, []string{broker}).ProduceSync(t.Context(), notes...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ingesttest.Await(t, "all patients", func() bool {
		var got struct{ Forecasts []msg.BedDemand }
		return json.Unmarshal([]byte(ask("")), &got) == nil && len(got.Forecasts) == 1 &&
			got.Forecasts[0].Waiting.Patients == len(notes)
	})
	at := "&at=" + time.Now().UTC().Format(time.RFC3339)
	before := ask(at)
	first.kill()
	again := serve(launch)
	if after := ask(at); after != before {
		t.Errorf("before SIGKILL:\n%s\nafter:\n%s", before, after)
	}
	again.stop()
}
