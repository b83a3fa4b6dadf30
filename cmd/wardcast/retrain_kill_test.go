package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
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

// Variables of a shard's process that is to kill its coordinator.
const (
	operationsKey = "WARDCAST_TEST_OPERATIONS" // file that grows by a byte with each operation of a shard
	killAtKey     = "WARDCAST_TEST_KILL_AT"    // its size when the coordinator is killed
)

// runShard is run, but for a shard that kills its coordinator before it reads what that one sends.
func runShard(ctx context.Context, p *cli.Process) int {
	if path := os.Getenv(operationsKey); path != "" && p.Args[0] == "shard" {
		if operations(path) == os.Getenv(killAtKey) {
			coordinator, _ := os.FindProcess(os.Getppid())
			_ = coordinator.Kill() // the test sees whether it runs on
		}
	}
	return run(ctx, p)
}

// operations counts one more.
func operations(path string) string {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the test's own
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_, _ = f.WriteString("x")
	at, _ := f.Seek(0, io.SeekCurrent)
	return strconv.FormatInt(at, 10)
}

// parameters returns a digest of the numbers and of the vocabulary of each model in a store, the oldest first.
func parameters(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, name := range []string{"tensors.safetensors", "vocabulary.json"} {
		found, err := filepath.Glob(filepath.Join(dir, "*", "*", name))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", name, err)
		}
		for _, path := range found {
			model := filepath.Base(filepath.Dir(filepath.Dir(path)))
			all = append(all, fmt.Sprintf("%s %s %x", model, name, sha256.Sum256(clitest.Read(t, path))))
		}
	}
	return all
}

// TestCoordinatorIsKilled kills a retraining at its rounds, by its own shards: nothing in the store has changed, and a
// last retraining ends as one that nobody disturbed. WARDCAST_KILLS is at how many of the rounds, spread over them all.
func TestCoordinatorIsKilled(t *testing.T) {
	long(t)
	t.Parallel()
	kills, shards := 5, 3
	if n, err := strconv.Atoi(os.Getenv("WARDCAST_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	store := func(name string) string { return filepath.Join(dir, name) }
	succeed(t, "", append([]string{"retrain", "--model-dir", store("killed")}, past(t, pastNotes/2)...)...)
	if err := os.CopyFS(store("calm"), os.DirFS(store("killed"))); err != nil {
		t.Fatal(err)
	}
	before, flags := parameters(t, store("killed")), past(t, pastNotes)
	retrain := func(name string, killAt int) (code, operations int) {
		c := command(t.Context(), t, append([]string{
			"retrain", "--force", "--why", "a test", "--model-dir", store(name),
			"--rounds", fmt.Sprint("local:", shards),
		}, flags...)...)
		file := filepath.Join(t.TempDir(), "operations")
		c.Env = append(c.Env, operationsKey+"="+file, fmt.Sprint(killAtKey, "=", killAt))
		out, _ := c.CombinedOutput()
		if code = c.ProcessState.ExitCode(); killAt == 0 && code != 0 {
			t.Fatalf("retrain exits %d: %s", code, out)
		}
		return code, len(clitest.Read(t, file))
	}
	_, operations := retrain("calm", 0)
	rounds := operations / shards
	champion, _ := storetest.Served(t, models.OpenDir(store("killed")), "before")
	for k := range min(kills, rounds) {
		round := k * rounds / min(kills, rounds)
		when := fmt.Sprintf("round %d of %d", round+1, rounds)
		if code, _ := retrain("killed", round*shards+1); code != -1 {
			t.Errorf("%s: exits %d, want a kill", when, code)
		}
		if g, _ := storetest.Served(t, models.OpenDir(store("killed")), when); g.Name != champion.Name {
			t.Errorf("%s: serves %s, not %s", when, g.Name, champion.Name)
		}
		if diff := cmp.Diff(before, parameters(t, store("killed"))); diff != "" {
			t.Errorf("%s: the store has changed:\n%s", when, diff)
		}
	}
	retrain("killed", 0)
	if diff := cmp.Diff(parameters(t, store("calm")), parameters(t, store("killed"))); diff != "" {
		t.Errorf("it ends otherwise than undisturbed:\n%s", diff)
	}
	t.Logf("killed at %d of %d rounds", min(kills, rounds), rounds)
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
