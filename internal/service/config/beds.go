package config

import (
	"maps"
	"slices"
	"time"
)

// Beds says of what site bed demand is forecast.
type Beds struct {
	// Site names the department in forecasts; predictions and notes that name another one are left out. "" takes all of
	// them.
	Site     string `yaml:"site"`
	TimeZone string `yaml:"time_zone"` // of the wall clock, such as Europe/London
	// Holidays are days such as 2026-12-25, past and to come, that have fewer or more arrivals than their weekday.
	Holidays []string `yaml:"holidays"`
	// Available are beds by ward, "_all" for all of them: forecasts report the probability that more are needed.
	Available map[string]int `yaml:"available"`
}

// check returns what is wrong with the section, each with its key.
func (b *Beds) check() []error {
	var bad faults
	_, err := time.LoadLocation(b.TimeZone)
	bad.add(err != nil || b.TimeZone == "Local", "beds.time_zone", "%q is no time zone such as Europe/London",
		b.TimeZone)
	for _, day := range b.Holidays {
		_, err := time.Parse(time.DateOnly, day)
		bad.add(err != nil, "beds.holidays", "%q is no day such as 2026-12-25", day)
	}
	for _, ward := range slices.Sorted(maps.Keys(b.Available)) {
		n := b.Available[ward]
		bad.add(n < 0 || n > maxBeds, "beds.available."+ward, "%d is not between 0 and %d", n, maxBeds)
	}
	return bad
}

// maxBeds is more than a hospital has.
const maxBeds = 10_000
