package app_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// benchRecords is how many different records a benchmark of a worker handles by turns.
const benchRecords = 64

// benchHandle is the rate of one worker, from message to message on one core. The headers' storage, which ingest uses
// again, is allocated anew here.
func benchHandle(b *testing.B, h ingest.Handler, values [][]byte) {
	w := h.NewWorker()
	var out ingest.Output
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out = ingest.Output{Value: out.Value[:0], Headers: out.Headers[:0]}
		if err := w.Handle(&ingest.Record{Value: values[n%len(values)]}, &out); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkHandleNote(b *testing.B) {
	trained, err := trained()
	if err != nil {
		b.Fatal(err)
	}
	store := models.OpenDir(b.TempDir())
	storetest.Serve(b, store, trained.Bundles...)
	set, err := scoring.Load(b.Context(), store, nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := newGenerator()
	if err != nil {
		b.Fatal(err)
	}
	var values [][]byte
	for i := range benchRecords {
		n := g.At(trainingNotes + i).Note
		values = append(values, n.AppendJSON(nil))
	}
	benchHandle(b, app.NewHandler(set, classifier.Options{Limits: classifier.Limits{Topics: 3, Terms: 4, Words: 5}},
		"/wardcast"), values)
}

// BenchmarkHandleResponse scores responses to 25 items by five factors.
func BenchmarkHandleResponse(b *testing.B) {
	f, err := fitAnswers(1, []string{"*_1", "*_2", "*_3", "*_4", "*_5"})
	if err != nil {
		b.Fatal(err)
	}
	c := config.Default()
	c.Questionnaires.Models = map[string]string{mind: b.TempDir()}
	if err := folder.Write(b.Context(), c.Questionnaires.Models[mind], f); err != nil {
		b.Fatal(err)
	}
	h, err := app.NewResponseHandler(b.Context(), &c, prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	records, _ := respond(b, mind, 2, benchRecords)
	var values [][]byte
	for _, r := range records {
		values = append(values, r.Value)
	}
	benchHandle(b, h, values)
}
