package ingest_test

import (
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/ingest"
)

// noModel is an error that says what becomes of its record.
type noModel struct{}

func (noModel) Error() string  { return "no model for the complaint" }
func (noModel) Reason() string { return "no_model" }
func (noModel) Stage() string  { return "route" }

func ExampleDisposition() {
	for _, err := range []error{fmt.Errorf("scoring: %w", noModel{}), errors.New("anything else")} {
		v := ingest.Disposition(err)
		fmt.Println(v.Action, v.Reason, v.Stage)
	}
	// Output:
	// dead_letter no_model route
	// dead_letter scoring_failed handle
}
