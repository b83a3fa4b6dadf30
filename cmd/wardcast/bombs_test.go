package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// What a command may take for a hostile file. One that takes far more is ended.
const (
	bombSeconds, bombMiB = 30, 1024
	bombStop             = 3
	mebi                 = 1 << 20
)

// bomb is a hostile file and the command that reads it, in which FILE, STORE, FIT, ANSWERS, MATRIX, CONFIG and DIR
// stand for paths.
type bomb struct {
	args, name, what string
	parts            []part
	make             func(t *testing.T, path string) // instead of parts
}

// part is a piece of a file, so many times, each with a number for # if it is numbered.
type part struct {
	text     string
	times    int
	numbered bool
}

func once(text string) part                { return part{text: text, times: 1} }
func many(text string, times int) part     { return part{text: text, times: times} }
func numbered(text string, times int) part { return part{text, times, true} }

// number returns a part with its numbers.
func (p part) number() part {
	between, b := strings.Split(p.text, "#"), []byte{}
	for i := range p.times {
		b = append(b, between[0]...)
		for _, text := range between[1:] {
			b = append(strconv.AppendInt(b, int64(i), 10), text...)
		}
	}
	return once(string(b))
}

// pieces writes a file, compressed if its name says so: about a MiB at a time, which is packed once if it is repeated.
func pieces(t *testing.T, path string, parts ...part) {
	t.Helper()
	f, err := os.Create(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string, times int) {
		packed := pack(t, filepath.Ext(path), text)
		for range times {
			_, e := f.Write(packed)
			err = errors.Join(err, e)
		}
	}
	for _, p := range parts {
		if p.numbered {
			p = p.number()
		}
		block := max(1, mebi/max(1, len(p.text)))
		write(strings.Repeat(p.text, block), p.times/block)
		write(strings.Repeat(p.text, p.times%block), 1)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// pack returns a text as a member of .gz or a frame of .zst, of which a file may have several; or as it is.
func pack(t *testing.T, compression, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch compression {
	case ".gz":
		w = gzip.NewWriter(&b)
	case ".zst":
		w, err = zstd.NewWriter(&b)
	default:
		return []byte(text)
	}
	if err == nil {
		_, err = io.WriteString(w, text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// usage is what a process has taken.
type usage struct{ seconds, mib float64 }

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// usageOf reads it of a process that runs: getrusage counts the memory of the parent, from before the program began.
func usageOf(pid int) (u usage, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	stat, e := os.ReadFile(dir + "/stat")
	m, fields := highWater.FindSubmatch(status), bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if errors.Join(err, e) != nil || m == nil || len(fields) < 13 {
		return u, false
	}
	kib, _ := strconv.ParseFloat(string(m[1]), 64)
	for _, ticks := range fields[11:13] { // in user mode and in the kernel, a hundredth of a second each
		n, _ := strconv.ParseFloat(string(ticks), 64)
		u.seconds += n / 100
	}
	u.mib = kib / 1024
	return u, true
}

// measure runs a command, and ends it far beyond the bound.
func measure(t *testing.T, args ...string) (u usage, r clitest.Ran) {
	t.Helper()
	c := command(t.Context(), t, args...)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	c.Env = append(c.Env, "XDG_CACHE_HOME="+t.TempDir())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait() // the code says it
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			u.seconds = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
			return u, clitest.Ran{Stdout: out.String(), Stderr: log.String(), Code: c.ProcessState.ExitCode()}
		case <-tick.C:
			now, ok := usageOf(c.Process.Pid)
			if !ok {
				continue
			}
			if u = now; u.mib > bombStop*bombMiB || u.seconds > bombStop*bombSeconds {
				_ = c.Process.Kill() // it may have ended
			}
		}
	}
}

// TestBombs gives hostile files to the commands that read them. Each is refused, with an error that names the file, or
// read, within the bound.
func TestBombs(t *testing.T) {
	t.Parallel()
	long(t)
	if _, ok := usageOf(os.Getpid()); !ok {
		t.Skip("no /proc to measure by: Linux has it")
	}
	whole := trained(t)
	answers := clitest.File(t, "answers.csv", succeed(t, "", "synth", "questionnaire", "-n", "60"))
	fit, key := filepath.Join(t.TempDir(), "fit"), filepath.Join(t.TempDir(), "key")
	succeed(t, "", "questionnaire", "fit", answers, "--items", "anxiety_*", "--factors", "1", "--out", fit)
	succeed(t, "", "bridge", "keygen", "--out", key)
	config := clitest.File(t, "wardcast.yaml",
		"kafka: {brokers: [127.0.0.1:9]}\nbridge: {site: A, key_file: "+key+"}\n")
	matrix := clitest.File(t, "matrix.csv", "1,2\n2,1\n3,1\n1,1\n")
	for i, b := range bombs() {
		t.Run(fmt.Sprint(i, b.name), func(t *testing.T) {
			dir := t.TempDir()
			path, store := filepath.Join(dir, b.name), whole
			if strings.Contains(b.args, "DIR/in") {
				path = filepath.Join(dir, "in", b.name)
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if b.make != nil {
				b.make(t, path)
			} else {
				pieces(t, path, b.parts...)
			}
			if strings.Contains(b.args, "STORE") && !strings.Contains(b.args, "FILE") && b.name != "query.txt" {
				store = hostileStore(t, whole, b.name, string(clitest.Read(t, path)))
			}
			u, r := measure(t, strings.Fields(strings.NewReplacer("FILE", path, "STORE", store, "FIT", fit, "DIR", dir,
				"ANSWERS", answers, "CONFIG", config, "MATRIX", matrix).Replace(b.args))...)
			outcome := "read"
			if r.Code != 0 {
				said := strings.Split(strings.TrimSpace(r.Stderr), "\n")
				outcome = strings.NewReplacer(dir+"/in/", "", dir+"/", "", store+"/", "").Replace(said[len(said)-1])
			}
			t.Logf("| `%s` | %s | %.300s | %.1f | %.0f |", b.name, b.what, outcome, u.seconds, u.mib)
			switch {
			case u.seconds > bombSeconds || u.mib > bombMiB:
				t.Errorf("more than %d s of CPU or %d MiB", bombSeconds, bombMiB)
			case r.Code < 0 || r.Code > 3 || strings.Contains(r.Stderr, "goroutine "):
				t.Errorf("exits %d and says %.2000s", r.Code, r.Stderr)
			}
		})
	}
}

// TestBombsOfRequests sends hostile requests and records to a scorer, which stays within the bound, and reads
// the dead letters that they became.
func TestBombsOfRequests(t *testing.T) {
	t.Parallel()
	long(t)
	if _, ok := usageOf(os.Getpid()); !ok {
		t.Skip("no /proc to measure by: Linux has it")
	}
	broker, address := ingesttest.FreeAddress(t), ingesttest.FreeAddress(t)
	config := clitest.File(t, "wardcast.yaml", fmt.Sprintf(
		"kafka: {brokers: [%q]}\nmodels: {store: %q}\nhttp: {listen: %q}\n", broker, trained(t), address))
	s := start(t, "serve", "--config", config, "--embedded-broker", filepath.Join(t.TempDir(), "broker"),
		"--create-topics").ready()
	before, _ := usageOf(s.pid)
	report := func(name, outcome string) {
		now, ok := usageOf(s.pid)
		spent := now.seconds - before.seconds
		t.Logf("| %s | %s | %.1f | %.0f |", name, outcome, spent, now.mib)
		if before = now; !ok || spent > bombSeconds || now.mib > bombMiB {
			t.Errorf("%s: more than %d s of CPU or %d MiB", name, bombSeconds, bombMiB)
		}
	}
	x := func(n int64) io.Reader { return io.LimitReader(endless{}, n) }
	form, search := "application/x-www-form-urlencoded", "/v1/topics/search?q="
	for _, c := range []struct {
		name, path, kind string
		body             io.Reader
	}{
		{"a note of 1 GiB", "/v1/predictions", "application/json", x(1 << 30)},
		{"a note of 60,000 nested lists", "/v1/predictions", "application/json", strings.NewReader(
			`{"visit_id":"v","text":"fell","more":` + strings.Repeat("[", 60_000))},
		{"an age of 60,000 digits", "/v1/predictions", "application/json", strings.NewReader(
			`{"visit_id":"v","text":"fell","age":1` + strings.Repeat("0", 60_000) + "}")},
		{"a form of 1 GiB", "/try", form, x(1 << 30)},
		{"a search of 1 GiB", "/waiting", form, x(1 << 30)},
		{"a search of 8,000 letters", "/waiting", form, strings.NewReader("q=" + strings.Repeat("a+", 4000))},
		{"a query of wildcards", search + strings.Repeat("a*%7e%3f+", 60), "", nil},
		{"a query of words with errors", search + strings.Repeat("fevver+", 70), "", nil},
		{"a query of 900 KB", search + strings.Repeat("a", 900_000), "", nil},
		{"a query of 10,000 parameters", "/v1/waiting?" + strings.Repeat("a=1&", 10_000), "", nil},
		{"a header of 8 MiB", "/v1/models", strings.Repeat("x", 8*mebi), nil},
	} {
		method := http.MethodPost
		if c.body == nil {
			method = http.MethodGet
		}
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", c.kind)
		outcome := "refused: the connection is closed"
		if res, err := http.DefaultClient.Do(req); err == nil {
			outcome = res.Status
			if err := res.Body.Close(); err != nil || res.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s: %s, %v", c.name, res.Status, err)
			}
		}
		report(c.name, outcome)
	}

	producer, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ProducerBatchMaxBytes(64*mebi),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.ProducerLinger(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	var records []*kgo.Record
	add := func(n int, value string, headers ...kgo.RecordHeader) {
		for range n {
			records = append(records, &kgo.Record{
				Topic: "triage.notes", Key: []byte("v"), Value: []byte(value), Headers: headers,
			})
		}
	}
	add(60, strings.Repeat("a", 1_000_000))
	add(10, strings.Repeat("[", 1_000_000))
	add(10, "{", make([]kgo.RecordHeader, 20_000)...)
	if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	dead := 0
	for c := ingesttest.Reader(t, []string{broker}, "triage.notes.dlq"); dead < len(records); {
		c.PollFetches(t.Context()).EachRecord(func(*kgo.Record) { dead++ })
	}
	report("60 records of 1 MB of one letter, 10 of a million nested lists, 10 of 20,000 headers", "80 dead letters")
	for _, args := range [][]string{{"list"}, {"show", "0/0"}, {"replay", "--all", "--rate", "0", "--dry-run"}} {
		u, r := measure(t, append([]string{"dlq", args[0], "--config", config}, args[1:]...)...)
		t.Logf("| dlq %s | exit %d %.200s | %.1f | %.0f |", args[0], r.Code, r.Stderr, u.seconds, u.mib)
		if u.seconds > bombSeconds || u.mib > bombMiB || strings.Contains(r.Stderr, "goroutine ") {
			t.Errorf("dlq %s: more than %d s of CPU or %d MiB, or a panic", args[0], bombSeconds, bombMiB)
		}
	}
	s.stop()
}

// endless is the same letter without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// hostileStore returns a copy of a store in which a file of the served version, or of the store, has another content,
// with names and checksums that agree.
func hostileStore(t *testing.T, store, file, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	read := func(path ...string) string {
		return string(clitest.Read(t, filepath.Join(append([]string{dir}, path...)...)))
	}
	if file == "champion" || file == "history.jsonl" {
		pieces(t, filepath.Join(dir, file), once(content))
		return dir
	}
	name := strings.TrimSpace(read("champion"))
	generation := read("generations", name+".json")
	if file != "generation.json" {
		folders, err := filepath.Glob(filepath.Join(dir, "_other", "*", "manifest.json"))
		if err != nil || len(folders) != 1 {
			t.Fatal(folders, err)
		}
		folder := filepath.Dir(folders[0])
		version := filepath.Base(folder)
		manifest, changed := read("_other", version, "manifest.json"), content
		if file != "manifest.json" {
			before := read("_other", version, file)
			changed = strings.NewReplacer(sha(before), sha(content), fmt.Sprintf(`"size": %d`, len(before)),
				fmt.Sprintf(`"size": %d`, len(content))).Replace(manifest)
			pieces(t, filepath.Join(folder, file), once(content))
		}
		pieces(t, folders[0], once(changed))
		renamed := version[:len(version)-6] + sha(changed)[:6]
		if err := os.Rename(folder, filepath.Join(dir, "_other", renamed)); err != nil {
			t.Fatal(err)
		}
		content = strings.NewReplacer(sha(manifest), sha(changed), version, renamed).Replace(generation)
	}
	served := name[:len(name)-6] + sha(content)[:6]
	pieces(t, filepath.Join(dir, "generations", served+".json"), once(content))
	for _, file := range []string{"champion", "history.jsonl", "head.json"} {
		pieces(t, filepath.Join(dir, file), once(strings.ReplaceAll(read(file), name, served)))
	}
	return dir
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
