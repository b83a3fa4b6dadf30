package hl7

import (
	"strings"
	"time"
)

// layouts of a time by its number of digits: the precision that the sender has.
var layouts = map[int]string{
	4: "2006", 6: "200601", 8: "20060102", 10: "2006010215", 12: "200601021504", 14: "20060102150405",
}

// Time returns the value as a time, YYYY[MM[DD[HH[MM[SS[.S]]]]]][+/-ZZZZ], and its precision in digits, of which type
// TS has a component of its own until 2.5. A time without an offset is one of zone. ok is false if it is not a time.
func (v Value) Time(zone *time.Location) (t time.Time, digits int, ok bool) {
	clock, offset, layout := strings.TrimSpace(v.Component(1).Subcomponent(1).raw), "", ""
	if i := strings.IndexAny(clock, "+-"); i > 0 {
		clock, offset, layout = clock[:i], clock[i:], "-0700"
	}
	whole, fraction, _ := strings.Cut(clock, ".")
	digits = len(whole)
	if layouts[digits] == "" || strings.Trim(fraction, "0123456789") != "" || len(fraction) > 9 ||
		fraction != "" && digits < 14 {
		return time.Time{}, 0, false
	}
	if fraction != "" {
		whole += "." + fraction // which time.Parse takes after the seconds
	}
	t, err := time.ParseInLocation(layouts[digits]+layout, whole+offset, zone)
	if err != nil {
		return time.Time{}, 0, false
	}
	return t, digits, true
}

// timeLayout is that of the times that this package writes.
const timeLayout = "20060102150405-0700"

// FormatTime returns a time as a value of type TS or DTM, to the second, with its offset.
func FormatTime(t time.Time) string { return t.Format(timeLayout) }
