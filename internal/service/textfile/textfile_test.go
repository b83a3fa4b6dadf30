package textfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/service/textfile"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

// TestRetrainingFile: a night that fails keeps the time of the last that did not.
func TestRetrainingFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wardcast.prom")
	first := time.Unix(1_800_000_000, 0)
	loss := func(v float64) *eval.Assessment {
		return &eval.Assessment{LogLoss: eval.Estimate{Value: v}}
	}
	done := &retrain.Result{
		Counts: retrain.Counts{Split: retrain.SplitCounts{Train: 3000, Judge: 1000}},
		Promotion: &train.Promotion{Verdict: &gate.Verdict{
			Decision: gate.Refuse,
			Figures:  gate.Figures{BaseLogLoss: 0.5, Challenger: loss(0.25), Champion: loss(0.125)},
		}},
	}
	check := func(r *textfile.Retraining, want, not []string) {
		t.Helper()
		if err := r.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path) //nolint:gosec // the test's own
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(got), w+"\n") {
				t.Errorf("no %q in\n%s", w, got)
			}
		}
		for _, n := range not {
			if strings.Contains(string(got), n) {
				t.Errorf("%q in\n%s", n, got)
			}
		}
	}
	check(&textfile.Retraining{Ended: first, Err: errors.New("no broker")},
		[]string{"wardcast_retrain_failed 1", "wardcast_retrain_end_timestamp_seconds 1.8e+09"},
		[]string{"success", "decision", "notes{"})
	check(&textfile.Retraining{Ended: first, Took: 1500 * time.Millisecond, Result: done}, []string{
		"wardcast_retrain_failed 0", "wardcast_retrain_success_timestamp_seconds 1.8e+09",
		"wardcast_retrain_duration_seconds 1.5",
		`wardcast_retrain_decision{decision="promote"} 0`, `wardcast_retrain_decision{decision="refuse"} 1`,
		`wardcast_retrain_notes{part="judged"} 1000`, `wardcast_retrain_notes{part="train"} 3000`,
		`wardcast_retrain_log_loss{of="base_rate"} 0.5`, `wardcast_retrain_log_loss{of="challenger"} 0.25`,
		`wardcast_retrain_log_loss{of="champion"} 0.125`,
	}, nil)
	for range 2 {
		check(&textfile.Retraining{Ended: first.Add(24 * time.Hour), Err: errors.New("no broker")},
			[]string{
				"wardcast_retrain_failed 1", "wardcast_retrain_end_timestamp_seconds 1.8000864e+09",
				"wardcast_retrain_success_timestamp_seconds 1.8e+09",
			}, []string{"decision"})
	}
	if err := os.WriteFile(path, []byte("no metrics"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&textfile.Retraining{Err: errors.New("no broker")}).WriteFile(path); err == nil ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a file of something else: %v", err)
	}
}
