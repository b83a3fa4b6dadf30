package bridge

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Days of a year, a month and a week, for ages.
const (
	yearDays  = 365.25
	monthDays = yearDays / 12
	weekDays  = 7
	dayHours  = 24
)

// unit converts a number into that of a note.
type unit struct{ times, plus float64 }

var (
	asIs       = unit{times: 1}
	fahrenheit = unit{5. / 9, -160. / 9}
	kilopascal = unit{times: 7.50062} // in mmHg
)

// The units of each kind of number, in lower case without spaces and brackets: codes of UCUM, and what senders write.
var (
	ageUnits = map[string]unit{
		"a": asIs, "y": asIs, "yr": asIs, "yrs": asIs, "year": asIs, "years": asIs,
		"mo": {times: monthDays / yearDays}, "month": {times: monthDays / yearDays},
		"months": {times: monthDays / yearDays}, "wk": {times: weekDays / yearDays},
		"week": {times: weekDays / yearDays}, "weeks": {times: weekDays / yearDays}, "d": {times: 1 / yearDays},
		"day": {times: 1 / yearDays}, "days": {times: 1 / yearDays}, "h": {times: 1 / yearDays / dayHours},
		"hr": {times: 1 / yearDays / dayHours}, "hour": {times: 1 / yearDays / dayHours},
		"hours": {times: 1 / yearDays / dayHours},
	}
	temperatureUnits = map[string]unit{
		"cel": asIs, "c": asIs, "degc": asIs, "°c": asIs, "celsius": asIs, "centigrade": asIs,
		"degf": fahrenheit, "f": fahrenheit, "°f": fahrenheit, "fahrenheit": fahrenheit, "farenheit": fahrenheit,
		"k": {1, -273.15},
	}
	pressureUnits = map[string]unit{"mmhg": asIs, "kpa": kilopascal}
	rateUnits     = map[string]unit{
		"/min": asIs, "1/min": asIs, "min": asIs, "bpm": asIs, "beats/min": asIs, "breaths/min": asIs,
		"br/min": asIs,
	}
	shareUnits = map[string]unit{"%": asIs, "percent": asIs, "1": {times: 100}}
)

var vitalUnits = map[string]map[string]unit{
	"sbp": pressureUnits, "dbp": pressureUnits, "hr": rateUnits, "rr": rateUnits, "temp_c": temperatureUnits,
	"spo2": shareUnits,
}

// leastFahrenheit is above every temperature of a body in degrees Celsius, and below every one in degrees Fahrenheit
// (msg.VitalSigns: 24 to 46.5 °C, 75 to 116 °F).
const leastFahrenheit = 60

// annotation is a comment in a unit of UCUM, as in %{Oxygen} or {beats}/min.
var annotation = regexp.MustCompile(`\{[^}]*\}`)

var unitMarks = strings.NewReplacer(" ", "", "[", "", "]", "")

// find returns the unit that the code or the text of a unit names.
func find(units map[string]unit, names ...string) (unit, bool) {
	for _, name := range names {
		name = annotation.ReplaceAllString(name, "")
		name = unitMarks.Replace(strings.ToLower(name))
		if u, ok := units[name]; ok && name != "" {
			return u, true
		}
	}
	return unit{}, false
}

// vital returns a vital sign in the unit of a note. Without a unit it is one of the note's, but for a temperature that
// can only be in degrees Fahrenheit. A unit that is unknown makes the number unusable.
func vital(name string, value float64, unitNames ...string) (float64, bool) {
	u, ok := find(vitalUnits[name], unitNames...)
	if strings.Join(unitNames, "") == "" {
		u, ok = asIs, true
		if name == "temp_c" && value >= leastFahrenheit {
			u = fahrenheit
		}
	}
	decimals := 1.
	if name == "temp_c" || u == asIs {
		decimals = 10
	}
	return math.Round((value*u.times+u.plus)*decimals) / decimals, ok
}

// age returns an age in years, to a hundredth. Without a unit it is in years.
func age(value float64, unitNames ...string) (float64, bool) {
	u, ok := find(ageUnits, unitNames...)
	if strings.Join(unitNames, "") == "" {
		u, ok = asIs, true
	}
	return math.Round(value*u.times*100) / 100, ok && value >= 0
}

// number reads a decimal number.
func number(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 20 || strings.Trim(s, "+-.0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// levels are the names of the levels of each scale, from 1 to 5, several separated by a bar.
var levels = map[string][5]string{
	"ESI":  {"resuscitation|immediate", "emergent", "urgent", "less urgent", "nonurgent"},
	"CTAS": {"resuscitation", "emergent", "urgent", "less urgent|semi urgent", "nonurgent"},
	"KTAS": {"resuscitation", "emergency|emergent", "urgency|urgent", "less urgency|less urgent", "nonurgent"},
	"MTS":  {"immediate|red", "very urgent|orange", "urgent|yellow", "standard|green", "nonurgent|blue"},
	"ATS": {
		"immediately life threatening|immediate", "imminently life threatening", "potentially life threatening",
		"potentially serious", "less urgent",
	},
}

// acuityLevels returns what the texts of levels mean, in the spelling of plain.
func acuityLevels(scale string, site map[string]int) map[string]int {
	all := map[string]int{}
	for i := 1; i <= 5; i++ {
		digit := strconv.Itoa(i)
		all[digit], all["level "+digit] = i, i
		for name := range levels {
			all[plain(name)+" "+digit] = i
		}
		for name := range strings.SplitSeq(levels[scale][i-1], "|") {
			if name != "" {
				all[name] = i
			}
		}
	}
	for name, level := range site {
		all[plain(name)] = level
	}
	return all
}

var levelMarks = strings.NewReplacer("-", " ", "_", " ", ":", " ")

// plain returns a name of a level without what spellings differ in.
func plain(s string) string {
	s = levelMarks.Replace(strings.ToLower(s))
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "non urgent", "nonurgent")
}

// acuity returns the level that the first of these texts names which names one.
func (b *Bridge) acuity(texts ...string) (float64, bool) {
	for _, s := range texts {
		if v, ok := number(s); ok && v >= 1 && v <= 5 && v == math.Trunc(v) {
			return v, true
		}
		if level, ok := b.levels[plain(s)]; ok {
			return float64(level), true
		}
	}
	return 0, false
}

// fits reports whether a string other than the text of a note is as short as a note may have it. A message with a
// longer one is refused rather than cut.
func fits(text string) bool { return len(text) <= msg.MaxField }
