package cli

import (
	"reflect"
	"testing"
)

// Only the command that the arguments begin with is built, but for commands that look at all others.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	type command = struct{} // of no package
	var grammar struct {
		Predict     command    `cmd:""`
		CheckConfig command    `cmd:""`
		Completion  Completion `cmd:""`
		Logging
	}
	p := &Program{Grammar: &grammar}
	for _, c := range []struct {
		args   []string
		fields int
	}{
		{nil, 4},
		{[]string{"--help"}, 4},
		{[]string{"predicts"}, 4},
		{[]string{"completion", "bash"}, 4},
		{[]string{"predict", "--log-level", "warn"}, 2},
		{[]string{"check-config"}, 2},
	} {
		if got := reflect.TypeOf(p.narrowed(c.args)).Elem().NumField(); got != c.fields {
			t.Errorf("%v: %d fields, want %d", c.args, got, c.fields)
		}
	}
}
