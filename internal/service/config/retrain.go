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
	bad := func(key string, why any) { errs = append(errs, fmt.Errorf("retrain%s: %v", key, why)) }
	past, fit := r.Past(), r.Fit()
	switch {
	case r.WindowDays < 1: // 0 would be the default of retrain.Settings
		bad(".window_days", fmt.Sprintf("%d is less than 1", r.WindowDays))
	case r.WindowDays > maxWindowDays:
		bad(".window_days", fmt.Sprintf("%d is more than %d", r.WindowDays, maxWindowDays))
	case r.Judged == 0, len(r.Admission) == 0:
		bad("", "judged and admission must not be empty")
	default:
		if err := past.Check(); err != nil {
			bad("", err)
		}
	}
	if err := fit.Check(0); err != nil {
		bad("", err)
	}
	if err := r.Gate.Check(); err != nil {
		bad(".gate", err)
	}
	return errs
}

// maxWindowDays is a century: the longest time.Duration is not much longer.
const maxWindowDays = 36500
