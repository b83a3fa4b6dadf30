package bedstream

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

// BenchmarkWaiting makes the list of 5,000 who wait, of whom a hundred were corrected since the last one: what comes in
// half a second at 200 notes a second.
func BenchmarkWaiting(b *testing.B) {
	const patients, corrected = 5000, 100
	now := time.Now()
	d, err := New(Config{
		Zone: "UTC", Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		Now: func() time.Time { return now },
	})
	if err != nil {
		b.Fatal(err)
	}
	var a msg.Arrival
	var n msg.Note
	offset := int64(0)
	hear := func(i int) {
		offset++
		id := fmt.Sprint("visit", i)
		p := msg.Prediction{
			SchemaVersion: "1", VisitID: id, ArrivedAt: now.Add(-time.Duration(i) * time.Second).Format(time.RFC3339),
			Complaint: fmt.Sprint("Complaint ", i%40), Probability: float64(i%100) / 100, Threshold: .5,
			Decision: msg.Discharge, Model: msg.Model{Name: "_other", Version: "v", SHA256: fmt.Sprintf("%064d", i)},
		}
		for j := range 8 {
			p.Evidence = append(p.Evidence, msg.Evidence{
				Start: 10 * j, End: 10*j + 8, Text: "pain 123", Status: "affirmed", Contribution: .3,
				Terms: []string{"pain"},
			})
		}
		for j := range 3 {
			p.Topics = append(p.Topics, msg.Topic{Topic: j + 1, Label: "hip, pain, fall", Terms: []msg.Term{
				{Term: "hip", Surface: []string{"hip"}}, {Term: "pain", Surface: []string{"pain"}}, {Term: "other"},
			}})
		}
		r := &ingest.Record{
			Key: []byte(id), Value: p.AppendJSON(nil),
			Time: now.Add(time.Duration(offset) * time.Microsecond), Offset: offset,
		}
		if why := d.prediction(r, &a); why != "" {
			b.Fatal(why)
		}
		note := msg.Note{
			SchemaVersion: "1", VisitID: id, Text: "hip pain", Age: msg.Some(float64(i % 100)), Sex: "F",
			Acuity: msg.Some(3),
		}
		d.note(&ingest.Record{Key: []byte(id), Value: note.AppendJSON(nil), Time: r.Time, Offset: offset}, &n)
	}
	for i := range patients {
		hear(i)
	}
	d.predictions.missing() // nothing more to read
	at := func() *waitlist.List { return d.waitlist(now.Add(time.Hour)) }
	at()
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			for j := range corrected {
				hear((corrected*i + j) % patients)
			}
			now = now.Add(time.Second)
			b.StartTimer()
			l := at()
			if f := l.Find(&waitlist.Query{Limit: 100}); f.Total != patients {
				b.Fatal(f.Total)
			}
		}
	})
	l := at()
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			l.Find(&waitlist.Query{Limit: 100, Words: "pain 40 f", Sort: waitlist.ByWaited})
		}
	})
}
