package config

import (
	"fmt"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

// Retrain says how `wardcast retrain` learns from the past, and by which rule the gate lets its models through.
type Retrain struct {
	// Site is the file of what the site says of its models, as package report reads it, for their cards; "" for none.
	Site         string            `yaml:"site"`
	WindowDays   int               `yaml:"window_days"`   // before the cut-off, whose notes count
	Judged       float64           `yaml:"judged"`        // share of the notes, the latest ones, that the gate judges by
	Admission    []msg.Disposition `yaml:"admission"`     // dispositions that count as admitted
	Rank         int               `yaml:"rank"`          // topics
	MinDocuments int               `yaml:"min_documents"` // notes that a complaint needs for a separate model
	MinEvents    int               `yaml:"min_events"`    // notes of each outcome that it needs
	Gate         gate.Settings     `yaml:"gate"`
}

func defaultRetrain() Retrain {
	fit := retrain.DefaultFit()
	return Retrain{
		WindowDays: int(retrain.DefaultWindow / day), Judged: retrain.DefaultJudged, Admission: []msg.Disposition{msg.Admitted},
		Rank: fit.Rank, MinDocuments: fit.MinDocuments, MinEvents: fit.MinEvents, Gate: gate.Default(),
	}
}

const day = 24 * time.Hour

// Past returns which notes and labels count. The cut-off and the auxiliary features are not in the file.
func (r *Retrain) Past() retrain.Settings {
	return retrain.Settings{Window: time.Duration(r.WindowDays) * day, Judged: r.Judged, Admission: r.Admission}
}

// Fit returns how the models are trained.
func (r *Retrain) Fit() train.Settings {
	fit := retrain.DefaultFit()
	fit.Rank, fit.MinDocuments, fit.MinEvents = r.Rank, r.MinDocuments, r.MinEvents
	return fit
}

// Check returns what is wrong with the section, each with its key.
func (r *Retrain) Check() (errs []error) {
	bad := func(key string, why any) { errs = append(errs, fmt.Errorf("retrain.%s: %v", key, why)) }
	// 0 and an empty list would be the defaults of retrain.Settings.
	if r.WindowDays < 1 {
		bad("window_days", fmt.Sprintf("%d is less than 1", r.WindowDays))
	} else if r.WindowDays > maxWindowDays {
		bad("window_days", fmt.Sprintf("%d is more than %d", r.WindowDays, maxWindowDays))
	}
	if r.Judged == 0 {
		bad("judged", "is 0: it takes notes to judge by")
	}
	if len(r.Admission) == 0 {
		bad("admission", "is empty: name the dispositions that count as admitted")
	}
	fit := func(change func(*train.Settings)) error {
		s := retrain.DefaultFit()
		change(&s)
		return s.Check(0)
	}
	for _, of := range []struct {
		key string
		err error
	}{
		{"judged", (&retrain.Settings{Judged: r.Judged}).Check()},
		{"admission", (&retrain.Settings{Admission: r.Admission}).Check()},
		{"rank", fit(func(s *train.Settings) { s.Rank = r.Rank })},
		{"min_documents", fit(func(s *train.Settings) { s.MinDocuments = r.MinDocuments })},
		{"min_events", fit(func(s *train.Settings) { s.MinEvents = r.MinEvents })},
		{"gate", r.Gate.Check()},
	} {
		if of.err != nil {
			bad(of.key, of.err)
		}
	}
	return errs
}

// maxWindowDays is a century: the longest time.Duration is not much longer.
const maxWindowDays = 36500
