package train

import "testing"

// Notes that recur under one patient are no surprise; under several, or none, they may be.
func TestCountRecurring(t *testing.T) {
	t.Parallel()
	const long = "78F fell down five stairs at home, pain in the left hip"
	for name, c := range map[string]struct {
		rows []Row
		want Recurring
	}{
		"none":         {nil, Recurring{}},
		"one patient":  {[]Row{{Text: long, Patient: "a"}, {Text: long, Patient: "a"}}, Recurring{}},
		"two patients": {[]Row{{Text: long, Patient: "a"}, {Text: long, Patient: "b"}}, Recurring{1, 2, 1}},
		"unknown patients": {
			[]Row{{Text: long}, {Text: "81f FELL down 5 five stairs at home; pain in the left hip"}},
			Recurring{1, 2, 1},
		},
		"a third visit": {
			[]Row{{Text: long, Patient: "a"}, {Text: long, Patient: "a"}, {Text: long, Patient: "b"}},
			Recurring{1, 3, 1},
		},
		"too short": {[]Row{{Text: "fell"}, {Text: "fell"}}, Recurring{}},
	} {
		if got := CountRecurring(c.rows); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
