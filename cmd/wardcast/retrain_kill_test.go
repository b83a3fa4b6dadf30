package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// fileCount returns how many files and folders there are below dir, at this moment.
func fileCount(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(string, os.DirEntry, error) error { // which may go while we look
		n++
		return nil
	})
	return n
}

// TestRetrainIsKilled kills a retraining that runs alone, and one by rounds over two shards: half of the times at any
// moment, half of them when it begins to write. What is served loads each time, the store verifies, and a last
// retraining finishes. WARDCAST_KILLS is how often it kills each.
func TestRetrainIsKilled(t *testing.T) {
	long(t)
	t.Parallel()
	kills := 6
	if n, err := strconv.Atoi(os.Getenv("WARDCAST_KILLS")); err == nil {
		kills = n
	}
	for name, rounds := range map[string][]string{"alone": nil, "by rounds": {"--rounds", "local:2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killRetrain(t, kills, rounds)
		})
	}
}

func killRetrain(t *testing.T, kills int, rounds []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	flags := append([]string{"retrain", "--model-dir", dir, "--min-events", "10"}, past(t, pastNotes)...)
	flags = append(flags, rounds...)
	began := time.Now()
	succeed(t, "", flags...)
	took := time.Since(began)
	store := models.OpenDir(dir)
	random := rand.New(rand.NewPCG(1, uint64(len(rounds))))
	generations, running := map[string]bool{}, 0
	serves := func(when string) {
		g, _ := storetest.Served(t, store, when)
		generations[g.Name] = true
	}
	serves("before")
	for k := range kills {
		p := start(t, flags...)
		p.outlive(time.Duration(random.Int64N(int64(took)/(1+int64(k%2)))), func() bool { return false })
		if k%2 == 1 { // and at some moment of its writes
			files := fileCount(dir)
			p.outlive(took, func() bool { return fileCount(dir) != files })
			p.outlive(time.Duration(random.Int64N(int64(20*time.Millisecond))), func() bool { return false })
		}
		if p.runs() {
			running++
		}
		p.kill()
		serves(fmt.Sprintf("kill %d", k+1))
	}
	if r := wardcast(t, "", flags...); r.Code != 0 && r.Code != cli.ExitRefused {
		t.Errorf("exits %d in the end: %s", r.Code, r.Stderr)
	}
	serves("in the end")
	t.Logf("%d kills, %d of them of a running process, %d generations served, %.0f s", kills, running, len(generations),
		time.Since(began).Seconds())
}

// outlive returns when the time is over, the command ends, or done.
func (r *running) outlive(limit time.Duration, done func() bool) {
	timer, tick := time.NewTimer(limit), time.NewTicker(2*time.Millisecond)
	defer timer.Stop()
	defer tick.Stop()
	for !done() {
		select {
		case <-timer.C:
			return
		case <-r.done:
			return
		case <-tick.C:
		}
	}
}

// runs reports whether the command is still running.
func (r *running) runs() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}
