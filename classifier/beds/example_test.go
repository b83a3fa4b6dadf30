package beds_test

import (
	"fmt"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
)

func ExamplePoissonBinomialTo() {
	var d beds.Distribution
	beds.PoissonBinomialTo(&d, []float64{.9, .5, .2, .05})
	fmt.Printf("mean %.2f, 80 %% between %d and %d, more than 2 beds: %.4f\n", d.Mean(), d.Quantile(.1),
		d.Quantile(.9), d.Exceed(2))
	// Output:
	// mean 1.65, 80 % between 1 and 3, more than 2 beds: 0.1130
}

func ExamplePool() {
	eight := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	fit, err := beds.FitHistory(&beds.History{From: eight, AsOf: eight})
	if err != nil {
		panic(err)
	}
	forecaster, err := beds.New(fit)
	if err != nil {
		panic(err)
	}
	pool := beds.NewPool()
	pool.Score(beds.Scored{
		Order: beds.Order{Seen: eight}, VisitID: "V1", Patient: beds.Patient{Arrived: eight, P: .8, Age: 78},
	})
	pool.Score(beds.Scored{
		Order: beds.Order{Seen: eight}, VisitID: "V2", Patient: beds.Patient{Arrived: eight, P: .3, Age: 41},
	})
	pool.Decide(
		beds.Outcome{Order: beds.Order{Seen: eight.Add(time.Hour)}, VisitID: "V1", Admitted: true, Ward: "ORTHO"})
	for _, at := range []time.Time{eight, eight.Add(2 * time.Hour)} {
		forecasts, err := forecaster.Forecast(pool.Moment(at, fit), beds.Options{Horizon: 8 * time.Hour})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d wait, %.2f admissions by %s\n", at.Format("15:04"), forecasts[0].Patients,
			forecasts[0].Total.Mean(), at.Add(8*time.Hour).Format("15:04"))
	}
	// Output:
	// 08:00: 2 wait, 0.81 admissions by 16:00
	// 10:00: 1 wait, 0.22 admissions by 18:00
}
