package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// sparkCluster runs jobs of deploy/spark on two workers of one core and 700 MiB.
type sparkCluster struct {
	*testing.T
	python, home string
	logs         strings.Builder // of drivers and executors
}

// newSparkCluster makes a home for Spark in which its workers may log.
func newSparkCluster(t *testing.T) *sparkCluster {
	t.Helper()
	venv := os.Getenv("WARDCAST_SPARK")
	if venv == "" {
		t.Skip("WARDCAST_SPARK is not set: PySpark may not be installed")
	}
	c := &sparkCluster{T: t, python: filepath.Join(venv, "bin", "python"), home: t.TempDir()}
	for _, part := range []string{"bin", "sbin", "jars", "python"} {
		found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "pyspark", part))
		if err != nil || len(found) != 1 {
			t.Fatalf("WARDCAST_SPARK: %d folders %s of PySpark, %v", len(found), part, err)
		}
		if err := os.Symlink(found[0], filepath.Join(c.home, part)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// run runs a program and returns what it says.
func (c *sparkCluster) run(program string, args ...string) (string, error) {
	p := exec.CommandContext(c.Context(), program, args...)
	p.Env = append(os.Environ(), "SPARK_HOME="+c.home, "SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+c.TempDir(),
		"PYSPARK_PYTHON="+c.python, "TMPDIR="+c.TempDir())
	out, err := p.CombinedOutput()
	return string(out), err
}

// submit runs a job and returns what its driver says. It keeps what the executors say too.
func (c *sparkCluster) submit(script string, args ...string) (string, error) {
	c.Helper()
	out, err := c.run(filepath.Join(c.home, "bin", "spark-submit"), append([]string{
		"--master", "local-cluster[2,1,700]", "--driver-memory", "700m", "--conf", "spark.executor.memory=700m",
		"--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
		"--conf", "spark.ui.enabled=false", filepath.Join("..", "..", "deploy", "spark", script),
	}, args...)...)
	c.logs.WriteString(out)
	work, executors := os.DirFS(filepath.Join(c.home, "work")), 0
	if err := fs.WalkDir(work, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.Name() == "stdout" || d.Name() == "stderr") {
			var log []byte
			log, err = fs.ReadFile(work, path)
			c.logs.Write(log)
			executors++
		}
		return err
	}); err != nil || executors < 2*2 {
		c.Errorf("%s: %d logs of executors, %v\n%s", script, executors, err, out)
	}
	if err := os.RemoveAll(filepath.Join(c.home, "work")); err != nil {
		c.Error(err)
	}
	return out, err
}

// script writes a program that does the lines and then what another does.
func script(t *testing.T, lines, program string) string {
	t.Helper()
	path := clitest.File(t, "wardcast", "#!/bin/sh\n"+lines+"\nexec "+program+` "$@"`+"\n")
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}

// killsExecutor kills the executor that runs it in a later round, once: its parent is a worker of Python, whose parent
// is a daemon of Python, whose parent is the executor.
const killsExecutor = `if [ "$1 $2" = "shard round" ]; then
  echo >>%[1]s/rounds
  if [ "$(wc -l <%[1]s/rounds)" -ge 20 ] && mkdir %[1]s/killed; then
    daemon=$(cut -d ' ' -f 4 /proc/$PPID/stat)
    kill -9 "$(cut -d ' ' -f 4 "/proc/$daemon/stat")"
  fi
fi 2>/dev/null`

// TestSpark scores and trains under Apache Spark, with the results of predict and of retrain. It needs WARDCAST_SPARK,
// a virtual environment with PySpark and pyarrow. What a note holds stands in no log.
func TestSpark(t *testing.T) {
	t.Parallel()
	c, dir := newSparkCluster(t), t.TempDir()
	version := func(v string) string {
		path := filepath.Join(dir, v)
		if out, err := c.run("go", "build", "-ldflags", "-X main.tag="+v, "-o", path, "."); err != nil {
			t.Fatalf("building: %v\n%s", err, out)
		}
		return path
	}
	program := version("one")
	from := past(t, pastNotes)
	lines := strings.SplitAfter(string(clitest.Read(t, from[1])), "\n")
	for i := range lines {
		if lines[i] = strings.NewReplacer(`"S1-`, `"`+secret+`-`, `"P1-`, `"`+secret+`-`).Replace(lines[i]); i%40 == 3 {
			lines[i] = strings.Replace(lines[i], `"text":"`, `"text":"`+secret+" ", 1)
		}
	}
	outcomes := strings.ReplaceAll(string(clitest.Read(t, from[3])), `"S1-`, `"`+secret+`-`)
	c.score(program, lines)
	bad := fmt.Sprintf("{\"visit_id\":\"%s-x\",\"text\":7}\n%s\n", secret, secret)
	c.train(program, version("other"),
		clitest.File(t, "notes.jsonl", strings.Join(lines, "")+bad), clitest.File(t, "outcomes.jsonl", outcomes))
	if logs := c.logs.String(); strings.Contains(strings.ToLower(logs), secret) {
		t.Errorf("something of a patient stands in the logs:\n%s", logs)
	}
}

// score compares score.py with predict on two files, with three notes that cannot be scored.
func (c *sparkCluster) score(program string, lines []string) {
	c.Helper()
	type note struct {
		Schema    string    `json:"schema_version" parquet:"schema_version"`
		Visit     string    `json:"visit_id"       parquet:"visit_id"`
		Arrived   time.Time `json:"arrived_at"     parquet:"arrived_at,timestamp(microsecond:local)"`
		Complaint string    `json:"complaint"      parquet:"complaint"`
		Text      string    `json:"text"           parquet:"text"`
		Age       float64   `json:"age"            parquet:"age"`
		Sex       string    `json:"sex"            parquet:"sex"`
	}
	notes := make([]note, pastNotes)
	for i := range notes {
		if err := json.Unmarshal([]byte(lines[i]), &notes[i]); err != nil {
			c.Fatal(err)
		}
	}
	notes[6].Arrived = notes[6].Arrived.Add(450 * time.Millisecond)
	notes[7].Text, notes[700].Text, notes[800].Schema = "", strings.Repeat(secret, 7000), "9"
	var in strings.Builder
	for _, n := range notes {
		_ = json.NewEncoder(&in).Encode(n) // into memory
	}
	folder, store := c.TempDir(), trained(c.T)
	for i, part := range [][]note{notes[:900], notes[900:]} {
		if err := parquet.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.parquet", i)), part); err != nil {
			c.Fatal(err)
		}
	}
	want := map[string]string{}
	for i, line := range strings.Split(
		wardcast(c.T, in.String(), "predict", "--model-dir", store, "--scored-at", "none").Stdout, "\n")[:len(notes)] {
		var refused struct{ Error struct{ Code, Detail string } }
		if err := json.Unmarshal([]byte(line), &refused); err == nil && refused.Error.Code != "" {
			line = refused.Error.Code + ": " + refused.Error.Detail
		}
		want[notes[i].Visit] = line
	}
	scored := filepath.Join(c.TempDir(), "scored")
	out, err := c.submit("score.py", "--notes", folder, "--out", scored, "--model", store, "--binary", program,
		"--partition-mib", "1", "--scored-at", "none")
	if err != nil || !strings.Contains(out, fmt.Sprintf("%d notes, 3 without a prediction", pastNotes)) {
		c.Fatalf("score.py: %v\n%s", err, out)
	}
	got := map[string]string{}
	parts, _ := filepath.Glob(filepath.Join(scored, "*.parquet"))
	for _, part := range parts {
		for _, row := range cells(c.T, part) {
			got[row["visit_id"]] = row["prediction"] + row["error"]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("score.py differs from predict (-predict +score.py):\n%s", diff)
	}
}

// train compares train.py, one of whose executors is killed, with retrain over as many local shards. Another version of
// the program on the workers is refused.
func (c *sparkCluster) train(program, other, notes, outcomes string) {
	c.Helper()
	dir := c.TempDir()
	store := func(name string) string { return filepath.Join(dir, name) }
	from := []string{"--notes", notes, "--outcomes", outcomes, "--model-dir"}
	job := func(name, program string) []string {
		return append(from, store(name), "--binary", program, "--shards", "3", "--", "--rank", "10")
	}
	out, err := c.run(program, append(append([]string{"retrain", "--rounds", "local:3", "--rank", "10"}, from...),
		store("local"))...)
	c.logs.WriteString(out)
	if err != nil {
		c.Fatalf("retrain: %v\n%s", err, out)
	}
	killed := script(c.T, fmt.Sprintf(killsExecutor, dir), program)
	if out, err := c.submit("train.py", job("spark", killed)...); err != nil {
		c.Fatalf("train.py: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "killed")); err != nil {
		c.Errorf("no executor was killed: %v", err)
	}
	if diff := cmp.Diff(parameters(c.T, store("local")), parameters(c.T, store("spark"))); diff != "" {
		c.Errorf("train.py differs from --rounds local:3:\n%s", diff)
	}
	out, err = c.submit("train.py", job("refused", script(c.T, `[ "$1" = shard ] && exec `+other+` "$@"`, program))...)
	if err == nil || !strings.Contains(out, "the coordinator is wardcast one, this is other") {
		c.Errorf("train.py with another version on the workers: %v\n%s", err, out)
	}
}
