package ingest_test

import (
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/ingest"
)

func ExampleDisposition() {
	for _, err := range []error{
		fmt.Errorf("scoring: %w", &ingest.Verdict{Reason: "no_model", Stage: "route"}), errors.New("anything else"),
	} {
		v := ingest.Disposition(err)
		fmt.Println(v.Reason, v.Stage)
	}
	// Output:
	// no_model route
	// scoring_failed handle
}
