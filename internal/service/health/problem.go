package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/internal/wording"
)

// Level is how bad a problem is.
type Level int

// The levels.
const (
	Warning Level = iota // something is late or was refused
	// Failure: notes are not being answered, or were lost.
	Failure
)

// Problem is something that needs attention.
type Problem struct {
	Level Level
	Text  string
	Since time.Time // when it was first seen, up to a minute late, or when it began according to a metric
}

// problemKey names a kind of problem of a stream.
type problemKey struct{ stream, kind string }

const (
	// lateAfter and stuckAfter bound the age of the oldest note in progress.
	lateAfter, stuckAfter = time.Minute, 5 * time.Minute
	manyWaiting           = 100 // lag above which WardcastNotesWait alerts (deploy/prometheus/wardcast.rules.yml)
	outage                = 3   // more failed requests than a change of a partition's leader causes
)

// problems returns the problems, the worst first; lasting ones keep their beginning. before is 30 to 90 seconds old.
func (m *Monitor) problems(now, before *reading) []Problem {
	var all []Problem
	hour := m.before(time.Time{}) // the oldest, which is at most an hour old
	seen := map[problemKey]bool{}
	for i := range m.streams {
		s := &m.streams[i]
		for _, f := range s.findings(now.of(s.Name), before.of(s.Name), hour.of(s.Name)) {
			key := problemKey{s.Name, f.kind}
			if m.since[key].IsZero() {
				m.since[key] = now.at
				if !f.at.IsZero() && f.at.Before(now.at) {
					m.since[key] = f.at
				}
			}
			seen[key] = true
			all = append(all, Problem{f.level, f.text, m.since[key]})
		}
	}
	for key := range m.since {
		if !seen[key] {
			delete(m.since, key)
		}
	}
	slices.SortStableFunc(all,
		func(a, b Problem) int { return cmp.Or(cmp.Compare(b.Level, a.Level), a.Since.Compare(b.Since)) })
	return all
}

type finding struct {
	kind, text string
	level      Level
	at         time.Time // when it began, zero if that is not known
}

// findings returns the problems of a stream. The earlier values may be nil.
func (s *Stream) findings(now, before, hour *streamValues) (all []finding) {
	empty := newStreamValues(now.at)
	before, hour = cmp.Or(before, empty), cmp.Or(hour, empty)
	add := func(level Level, kind, format string, values ...any) *finding {
		all = append(all, finding{kind: kind, text: fmt.Sprintf(format, values...), level: level})
		return &all[len(all)-1]
	}
	nouns := wording.Plural(s.Noun)
	since, away := s.Away()
	if err := s.Ready(); away != nil {
		add(Failure, "away", "Kafka does not answer: no %s are read from %s, and none are answered. %v.", nouns,
			s.Input, away).at = since
	} else if err != nil {
		add(Failure, "ready", "No %s are being read from %s: %v.", nouns, s.Input, err)
	}
	if n := now.failed - before.failed; n >= outage && away == nil {
		add(Failure, "broker", "Kafka failed or refused %s for %s from %s in the last minute.",
			wording.Count(int(n), "request"), nouns, s.Input)
	}
	if now.silent > 0 && away == nil {
		add(Warning, "silent", "No %s has come for %s, over three times the usual gap.", s.Noun,
			wording.Count(int(now.silent.Minutes()), "minute")).at = now.lastAnswer
	}
	if now.blocked > 0 {
		add(Failure, "blocked", "%s until the cause in the log is fixed: Kafka refuses requests.",
			wording.Count(int(now.blocked), "partition of "+s.Input+" is blocked",
				"partitions of "+s.Input+" are blocked"))
	}
	if n := now.lost - hour.lost; n > 0 {
		add(Failure, "lost", "%s in the last hour before they were read. Raise the retention of the topic.",
			wording.Count(int(n), "record was deleted by Kafka", "records were deleted by Kafka"))
	}
	p := now.since(nil)
	if age := time.Duration(p.Age * float64(time.Second)); age >= lateAfter {
		level := Warning
		if age >= stuckAfter {
			level = Failure
		}
		add(level, "late", "The oldest %s in hand has waited for %s.", s.Noun,
			wording.Count(int(age.Minutes()), "minute"))
	}
	if p.Lag > manyWaiting {
		add(Warning, "lag", "%s wait for an answer.", wording.Count(int(p.Lag), s.Noun))
	}
	if n := now.stalls - hour.stalls; n > 0 {
		add(Warning, "stalls", "Reading stalled %s in the last hour, and began again.", wording.Count(int(n), "time"))
	}
	if n := now.panics - hour.panics; n > 0 {
		add(Warning, "panics", "%s in the last hour met a fault of the program and became dead letters. The log has "+
			"where.", wording.Count(int(n), s.Noun))
	}
	if why := s.Refused(); why != "" {
		add(Warning, "refused", "%s", why)
	}
	for i, remark := range s.Remarks {
		if what := remark(); what != "" {
			add(Warning, fmt.Sprint("remark ", i), "%s", what)
		}
	}
	if reasons, n, there := newLetters(now, hour); n > 0 {
		add(Warning, "letters", "%s in the last hour: %s.", wording.Count(int(n), "dead letter"), reasons).at = there
	}
	return all
}

// newLetters returns the reasons, the most frequent first, and number of the dead letters since an earlier reading, and
// a time at which one of them surely existed: the earliest of the newest of each reason.
func newLetters(now, before *streamValues) (reasons string, n float64, there time.Time) {
	var list []string
	for _, reason := range slices.SortedFunc(maps.Keys(now.letters), func(a, b string) int {
		return cmp.Or(cmp.Compare(now.letters[b], now.letters[a]), cmp.Compare(a, b))
	}) {
		if d := now.letters[reason] - before.letters[reason]; d > 0 {
			list = append(list, strings.ReplaceAll(reason, "_", " "))
			n += d
			if newest := now.newest[reason]; there.IsZero() || newest.Before(there) {
				there = newest
			}
		}
	}
	return strings.Join(list, ", "), n, there
}
