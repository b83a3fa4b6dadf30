package beds_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
)

func BenchmarkPoissonBinomial(b *testing.B) {
	run := func(name string, p []float64) {
		b.Run(name, func(b *testing.B) {
			var d beds.Distribution
			b.ReportAllocs()
			for b.Loop() {
				beds.PoissonBinomialTo(&d, p)
			}
			b.ReportMetric(float64(len(d.P)), "width")
		})
	}
	for _, n := range []int{10, 100, 1000, 10000} {
		run(fmt.Sprintf("n=%d", n), probabilities(n))
	}
	run("n=10000/p=0.5", slices.Repeat([]float64{.5}, 10000))
}

// BenchmarkForecast forecasts two wards and all for so many patients, with six weeks of 144 visits a day behind.
func BenchmarkForecast(b *testing.B) {
	h := exponentials(60)
	fit, err := beds.FitHistory(h)
	if err != nil {
		b.Fatal(err)
	}
	f, err := beds.New(fit)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{30, 300, 10000} {
		m := &beds.Moment{At: h.AsOf, Past: h.Visits, Since: h.From}
		for i, p := range probabilities(n) {
			m.Waiting = append(m.Waiting,
				beds.Patient{Arrived: m.At.Add(-time.Duration(i%600) * time.Minute), P: p, Complaint: "Cough", Age: 40})
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Forecast(m, beds.Options{Horizon: 8 * time.Hour}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
