package intake_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier/intake"
)

// TestHideRare: ten patients name a value, nine do not, however often they come; no value is no value.
func TestHideRare(t *testing.T) {
	t.Parallel()
	var values, patients, want []string
	add := func(value, named string, visits, people int) {
		for i := range visits {
			values, want = append(values, value), append(want, named)
			patients = append(patients, fmt.Sprint(value, i%people))
		}
	}
	add("ten", "ten", 10, 10)
	add("nine", intake.Others, 9, 9)
	add("nine who come again", intake.Others, 90, 9)
	add("", "", 1, 1)
	if intake.HideRare(values, patients); !slices.Equal(values, want) {
		t.Errorf("%q", values)
	}
}
