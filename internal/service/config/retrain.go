package config

import (
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
func (r *Retrain) Check() []error {
	var bad faults
	bad.add(r.WindowDays < 1, "retrain.window_days", "%d is less than 1", r.WindowDays)
	bad.add(r.WindowDays > maxWindowDays, "retrain.window_days", "%d is more than %d", r.WindowDays, maxWindowDays)
	bad.add(r.Judged == 0, "retrain.judged", "is 0: it takes notes to judge by")
	bad.add(r.Judged != 0 && !(r.Judged > 0 && r.Judged < 1), "retrain.judged",
		"bad settings: the share of judged notes, %v, is not between 0 and 1", r.Judged)
	bad.add(len(r.Admission) == 0, "retrain.admission", "is empty: name the dispositions that count as admitted")
	err := msg.CheckAdmission(r.Admission)
	bad.add(err != nil, "retrain.admission", "bad settings: %w", err)
	bad.add(r.Rank < 1, "retrain.rank", "settings out of range: rank %d is less than 1", r.Rank)
	bad.add(r.MinDocuments < 1, "retrain.min_documents",
		"settings out of range: min documents %d is less than 1", r.MinDocuments)
	bad.add(r.MinEvents < leastEvents, "retrain.min_events",
		"settings out of range: min events %d is less than %d, for each fold must hold some", r.MinEvents, leastEvents)
	err = r.Gate.Check()
	bad.add(err != nil, "retrain.gate", "%w", err)
	return bad
}
