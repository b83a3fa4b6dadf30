package config

import (
	"fmt"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/gate"
)

// Retrain says how `wardcast retrain` learns from the past, and by which rule the gate lets its models through. These
// are plain numbers: packages retrain and train, which follow them, link every solver, and serve reads this section
// too.
type Retrain struct {
	// Site is the file of what the site says of its models, as package report reads it, for their cards; "" for none.
	Site       string `yaml:"site"`
	WindowDays int    `yaml:"window_days"` // before the cut-off, whose notes count
	// share of the notes, the latest ones, that the gate judges by
	Judged       float64           `yaml:"judged"`
	Admission    []msg.Disposition `yaml:"admission"`     // dispositions that count as admitted
	Rank         int               `yaml:"rank"`          // topics
	MinDocuments int               `yaml:"min_documents"` // notes that a complaint needs for a separate model
	MinEvents    int               `yaml:"min_events"`    // notes of each outcome that it needs
	Gate         gate.Settings     `yaml:"gate"`
}

func defaultRetrain() Retrain {
	return Retrain{
		WindowDays:   365,
		Judged:       0.25,
		Admission:    []msg.Disposition{msg.Admitted},
		Rank:         50,
		MinDocuments: 200,
		MinEvents:    50,
		Gate:         gate.Default(),
	}
}

const (
	// maxWindowDays is a century: the longest time.Duration is not much longer.
	maxWindowDays = 36500
	// leastEvents lets each fold of a cross-validation hold some.
	leastEvents = 10
)

// Check returns what is wrong with the section, each with its key. The limits are those of packages retrain and train,
// but that 0 and an empty list are their defaults there.
func (r *Retrain) Check() (errs []error) {
	bad := func(broken bool, key, format string, args ...any) {
		if broken {
			errs = append(errs, fmt.Errorf("retrain."+key+": "+format, args...))
		}
	}
	bad(r.WindowDays < 1, "window_days", "%d is less than 1", r.WindowDays)
	bad(r.WindowDays > maxWindowDays, "window_days", "%d is more than %d", r.WindowDays, maxWindowDays)
	bad(r.Judged == 0, "judged", "is 0: it takes notes to judge by")
	bad(r.Judged != 0 && !(r.Judged > 0 && r.Judged < 1), "judged",
		"bad settings: the share of judged notes, %v, is not between 0 and 1", r.Judged)
	bad(len(r.Admission) == 0, "admission", "is empty: name the dispositions that count as admitted")
	if err := msg.CheckAdmission(r.Admission); err != nil {
		bad(true, "admission", "bad settings: %w", err)
	}
	bad(r.Rank < 1, "rank", "settings out of range: rank %d is less than 1", r.Rank)
	bad(r.MinDocuments < 1, "min_documents", "settings out of range: min documents %d is less than 1", r.MinDocuments)
	bad(r.MinEvents < leastEvents, "min_events",
		"settings out of range: min events %d is less than %d, for each fold must hold some", r.MinEvents, leastEvents)
	if err := r.Gate.Check(); err != nil {
		bad(true, "gate", "%w", err)
	}
	return errs
}
