package beds

import (
	"errors"
	"fmt"
	"time"
)

// Visit is a visit of the past, with what was known at triage and what became of it.
type Visit struct {
	Arrived   time.Time
	Decided   time.Time // zero if it is not known that the visit was decided
	Admitted  bool
	Ward      string  // of the admitted, "" if unknown
	P         float64 // calibrated probability of admission at triage, in [0,1]
	Complaint string
	Age       float64 // years, negative if unknown
}

// Patient is a patient who waits for a decision.
type Patient struct {
	Arrived   time.Time
	P         float64 // calibrated probability of admission at triage, in [0,1]
	Complaint string
	Age       float64 // years, negative if unknown
	// Wards are probabilities of the wards by a model of several outcomes; empty without one. They need not sum to 1.
	Wards []WardShare
}

// WardShare is the probability of a ward.
type WardShare struct {
	Ward  string
	Share float64
}

// All is the name of all wards together.
const All = "_all"

// Errors of the input, wrapped with what is to blame.
var (
	ErrProbability = errors.New("probability is not in [0,1]")
	ErrArgument    = errors.New("argument is out of range")
)

// ageBand groups ages for the shares of wards: children, adults, the old, and the unknown.
func ageBand(age float64) int {
	switch {
	case age < 0:
		return 3
	case age < childhood:
		return 0
	case age < oldAge:
		return 1
	}
	return 2
}

const (
	ageBands  = 4
	childhood = 16
	oldAge    = 65
)

// Bounds of the night, hours of the wall clock.
const (
	nightEnd   = 7
	nightStart = 22
)

func atNight(local time.Time) bool { return local.Hour() >= nightStart || local.Hour() < nightEnd }

// dayBand groups the hours of arrival: from 0, 7, 12, 17 and 22 h.
func dayBand(local time.Time) (band int) {
	for _, start := range [dayBands - 1]int{nightEnd, 12, 17, nightStart} {
		if local.Hour() >= start {
			band++
		}
	}
	return band
}

const dayBands = 5

// location returns the time zone of the wall clock; "" is UTC.
func location(zone string) (*time.Location, error) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("%w: time zone %q", ErrArgument, zone)
	}
	return loc, nil
}
