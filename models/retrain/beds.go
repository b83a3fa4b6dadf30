package retrain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/train"
)

// Beds say of which site, and by which clock, forecasts of beds are fitted.
type Beds struct {
	Site     string // notes that name another one are left out; "" takes all
	Zone     string // of the wall clock, as in beds.History
	Holidays []string
	// Available are the configuration's beds by ward: these wards are named, however few patients they had.
	Available map[string]int
}

// BedsFit is what was learned for forecasts of beds.
type BedsFit struct {
	Version string `json:"version"` // in the store; "" if nothing was learned, and Reason says why
	Reason  string `json:"reason,omitempty"`
	Visits  int    `json:"visits"` // of which times and wards were learned
	Wards   int    `json:"wards"`
	Days    int    `json:"days"`
}

// lastArrival is how long after the last arrival the history ends: days without any mean a silent interface.
const lastArrival = time.Hour

// fitBeds learns what forecasts of beds need from all visits of the past, and adds it to the store. Notes that were
// trained on have their probabilities out of fold. A history that is too short is not an error but the Reason.
func (j *Job) fitBeds(ctx context.Context, past *Past, aux []train.Aux, rows []train.Row,
	trained *train.Trained,
) (*BedsFit, error) {
	h, err := j.history(past, aux, rows, trained)
	if err != nil {
		return nil, err
	}
	r := &BedsFit{Days: int(h.AsOf.Sub(h.From) / (24 * time.Hour))}
	timed := lists.Count(h.Visits, func(v beds.Visit) bool { return !v.Decided.IsZero() })
	if r.Days < beds.LeastDays || timed < beds.LeastVisits {
		r.Reason = fmt.Sprintf("%d days with %d visits whose decision has a time; at least %d and %d are needed",
			r.Days, timed, beds.LeastDays, beds.LeastVisits)
		j.logger().InfoContext(ctx, "bed demand not learned: too little history", "why", r.Reason)
		return r, nil
	}
	fit, err := beds.Learn(h)
	if err != nil {
		return r, fmt.Errorf("learning the bed demand: %w", err)
	}
	data, err := json.Marshal(fit)
	if err != nil {
		return r, fmt.Errorf("writing the fit of beds: %w", err)
	}
	r.Visits, r.Wards = fit.Visits, len(fit.Wards.Names)
	if r.Version, err = j.Gatekeeper.Store.SaveBeds(ctx, j.Gatekeeper.Created, data); err != nil {
		return r, err
	}
	j.logger().InfoContext(ctx, "bed demand learned", "beds_version", r.Version, "visits", r.Visits, "wards",
		r.Wards, "days", r.Days)
	return r, nil
}

func (j *Job) history(past *Past, aux []train.Aux, rows []train.Row, trained *train.Trained) (*beds.History, error) {
	p, err := trained.Probabilities(train.Data{Rows: rows, Aux: aux, Intake: j.Settings.Intake, Pooled: true})
	if err != nil {
		return nil, fmt.Errorf("scoring the past: %w", err)
	}
	if len(trained.OutOfFold) == len(past.Split.Train) {
		for i, row := range past.Split.Train {
			p[row] = trained.OutOfFold[i]
		}
	}
	h := &beds.History{From: past.Counts.AsOf, Zone: j.Beds.Zone, Holidays: j.Beds.Holidays}
	add := func(v beds.Visit, site string) {
		if j.Beds.Site != "" && site != "" && site != j.Beds.Site {
			return
		}
		if v.Arrived.Before(h.From) {
			h.From = v.Arrived
		}
		if end := v.Arrived.Add(lastArrival); end.After(h.AsOf) {
			h.AsOf = end
		}
		h.Visits = append(h.Visits, v)
	}
	named := j.wards(past, rows)
	complaints := lists.Map(rows, func(r train.Row) string { return beds.Complaint(r.Complaint) })
	intake.HideRare(complaints, lists.Map(rows, person))
	age := slices.IndexFunc(aux, func(a train.Aux) bool { return a.Name == "age" })
	for i := range rows {
		row, d := &rows[i], &past.Decisions[i]
		v := beds.Visit{
			Arrived: row.Arrived, Decided: d.At, Admitted: d.Admitted, P: p[i],
			Complaint: complaints[i], Age: -1,
		}
		if named[d.Ward] {
			v.Ward = d.Ward
		}
		if age >= 0 {
			if years, known := row.Aux[age].Number(); known {
				v.Age = years
			}
		}
		add(v, row.Site)
	}
	mean := meanProbability(h.Visits)
	for _, u := range past.Undecided {
		add(beds.Visit{Arrived: u.Arrived, P: mean, Age: -1}, u.Site)
	}
	if h.AsOf.After(past.Counts.AsOf) || len(h.Visits) == 0 {
		h.AsOf = past.Counts.AsOf
	}
	return h, nil
}

// wards returns the wards that a fit may name: those that are configured, and those of enough patients.
func (j *Job) wards(past *Past, rows []train.Row) map[string]bool {
	wards := intake.Tally{}
	for i := range rows {
		wards.Add(past.Decisions[i].Ward, person(rows[i]))
	}
	named := wards.Many()
	for ward := range j.Beds.Available {
		named[ward] = true
	}
	return named
}

// person returns who a row is about, the visit if the patient is not known.
func person(r train.Row) string { return cmp.Or(r.Patient, r.Visit) }

// meanProbability returns that of the visits. Visits without an outcome get it: a scorer counts them among those who
// wait, so without them forecasts of the past would seem better than a scorer's.
func meanProbability(visits []beds.Visit) float64 {
	sum := 0.0
	for i := range visits {
		sum += visits[i].P
	}
	return sum / float64(max(len(visits), 1))
}
