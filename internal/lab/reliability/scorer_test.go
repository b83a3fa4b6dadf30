//go:build linux

package reliability_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/models"
)

// site is what the processes of the program share: the built program, and a folder with models, keys and settings.
type site struct {
	*testing.T
	c               *cluster
	notes           *synth.Generator
	program, folder string
	store           *disk
	hosts           int

	mu      sync.Mutex
	token   string
	rotated time.Time
	retired []string // tokens that no longer count
}

// storeMegabytes holds the generations of an hour.
const storeMegabytes = 400

func newSite(t *testing.T, c *cluster) *site {
	t.Helper()
	s := &site{T: t, c: c, folder: t.TempDir(), hosts: len(c.brokers)}
	s.program = filepath.Join(s.folder, "wardcast")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.program,
		"github.com/wardcast/wardcast/cmd/wardcast").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	var err error
	if s.notes, err = synth.New(synth.Settings{Seed: 7, Misspelling: synth.DefaultMisspelling}); err != nil {
		t.Fatal(err)
	}
	s.store = newDisk(t, filepath.Join(s.folder, "models"), storeMegabytes)
	if _, err := sample.Train(t.Context(), s.notes, models.OpenDir(s.store.folder), sample.Options{}); err != nil {
		t.Fatal(err)
	}
	s.write("password", password)
	s.rotate()
	s.must("models", "keygen", "--out", s.path("key"))
	for _, generation := range s.generations() {
		s.must("models", "sign", "--model-dir", s.store.folder, "--key", s.path("key"), "--generation", generation)
	}
	s.must("bridge", "keygen", "--out", s.path("bridge.key"))
	s.write("wardcast.yaml", fmt.Sprintf(`kafka:
  brokers: [%s]
  sasl: {mechanism: plain, username: %s, password_file: password}
models: {store: models, trusted_keys: [key.pub], signing_key: key}
http:
  listen: %s
  tokens: [{name: trial, role: operator, token_file: token}]
retrain: {rank: 8, min_documents: 1000000, window_days: 1}
bridge: {site: %s, key_file: bridge.key}
`, strings.Join(s.c.login, ", "), user, webAddress, bridgeSite))
	return s
}

// The addresses of processes, each on the loopback of its own host, and the bridge's department.
const (
	webAddress    = "127.0.0.1:8080"
	mllpAddress   = "127.0.0.1:2575"
	bridgeAddress = "127.0.0.1:8090"
	bridgeSite    = "A"
)

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// rotate replaces the token of the HTTP address.
func (s *site) rotate() {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" {
		s.retired = append(s.retired, s.token)
	}
	s.token, s.rotated = fmt.Sprintf("a-token-of-the-trial-%d", time.Now().UnixNano()), time.Now()
	s.write("token.new", s.token)
	if err := os.Rename(s.path("token.new"), s.path("token")); err != nil {
		s.Fatal(err)
	}
}

func (s *site) currentToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// run runs a command of the program on the trial's own host, or another, and returns what it printed.
func (s *site) run(h *host, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...) //nolint:gosec // the test's own words
	if h != nil {
		cmd = h.command(append([]string{s.program}, args...)...)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) must(args ...string) string {
	s.Helper()
	out, err := s.run(nil, args...)
	if err != nil {
		s.Fatalf("wardcast %q: %v\n%s", args, err, out)
	}
	return out
}

// generations returns the names of all generations in the store.
func (s *site) generations() (names []string) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.store.folder, "generations", "*.json"))
	if err != nil || len(files) == 0 {
		s.Fatalf("the store has no generations: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

// champion returns the generation that the store says is served.
func (s *site) champion() string {
	text, err := os.ReadFile(filepath.Join(s.store.folder, "champion"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// process is a process of the program that is started again and again on a host of its own. All its processes write to
// one log.
type process struct {
	*site
	host   *host
	args   []string
	probe  string // the address that says whether it is ready
	client *http.Client
	log    *os.File

	cmd   *exec.Cmd
	ended chan error
	state
}

// state is what was done to a process last. A watcher reads it.
type state struct {
	lock      sync.Mutex
	up, away  bool      // it runs; it is halted or cut off
	reachable bool      // it is not halted
	changed   time.Time // when one of these changed
}

func (s *state) set(f func(*state)) {
	s.lock.Lock()
	defer s.lock.Unlock()
	f(s)
	s.changed = time.Now()
}

// process starts one, and returns when it is ready.
func (s *site) process(name, probe string, args ...string) *process {
	s.Helper()
	s.hosts++
	p := &process{site: s, host: newHost(s.T, name, s.hosts), args: args, probe: probe}
	p.client = &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DialContext: p.host.dial}}
	var err error
	if p.log, err = os.Create(s.path(name + ".log")); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		p.kill()
		_ = p.log.Close()
		if s.Failed() {
			s.Logf("the end of the log of %s:\n%s", name, p.tail())
		}
	})
	p.start()
	return p
}

func (s *site) scorer(name string) *process {
	s.Helper()
	return s.process(name, webAddress, "serve", "--config", s.path("wardcast.yaml"))
}

// launch starts the process.
func (p *process) launch() {
	p.Helper()
	cmd, ended := p.host.command(append([]string{p.program}, p.args...)...), make(chan error, 1)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+p.path(p.host.name+".cache"))
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	go func() { ended <- cmd.Wait() }()
	p.cmd, p.ended = cmd, ended
	p.set(func(s *state) { s.up, s.away, s.reachable = true, false, true })
}

// start starts the process, and returns when it is ready.
func (p *process) start() {
	p.Helper()
	p.launch()
	await(p.T, p.host.name+" that is ready", p.ready)
}

// kill ends the process without a warning. end waits for it.
func (p *process) kill() {
	p.set(func(s *state) { s.up = false })
	if p.cmd == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.ended //nolint:errcheck // it was killed
	p.cmd = nil
}

// stop drains the process.
func (p *process) stop() {
	p.Helper()
	p.set(func(s *state) { s.up = false })
	p.signal(syscall.SIGTERM)
	began := time.Now()
	select {
	case err := <-p.ended:
		if took := time.Since(began); err != nil || took > drained {
			p.Errorf("a drain of %s: %v after %s", p.host.name, err, took)
		}
	case <-time.After(2 * drained):
		p.Errorf("%s does not end within %s of SIGTERM", p.host.name, 2*drained)
		p.signal(syscall.SIGKILL)
		<-p.ended //nolint:errcheck // it was killed
	}
	p.cmd = nil
}

// drained is how long a drain may take.
const drained = 30 * time.Second

func (p *process) restart() { p.Helper(); p.stop(); p.start() }

// halt stops the process as it is, until resume.
func (p *process) halt() {
	p.set(func(s *state) { s.away, s.reachable = true, false })
	p.signal(syscall.SIGSTOP)
}

func (p *process) resume() {
	p.signal(syscall.SIGCONT)
	p.set(func(s *state) { s.away, s.reachable = false, true })
}

// lose takes it off the network until regain.
func (p *process) lose()   { p.set(func(s *state) { s.away = true }); p.host.cut() }
func (p *process) regain() { p.host.join(); p.set(func(s *state) { s.away = false }) }

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may have ended

func (p *process) ready() bool {
	code, _ := p.get("/readyz")
	return code == http.StatusOK
}

// get asks the process with the current token; the code is 0 if it does not answer.
func (p *process) get(path string) (int, string) { return p.getWith(p.currentToken(), path) }

func (p *process) getWith(token, path string) (int, string) {
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+p.probe+path, http.NoBody)
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	res, err := p.client.Do(request)
	if err != nil {
		return 0, ""
	}
	body, err := io.ReadAll(res.Body)
	if errors.Join(err, res.Body.Close()) != nil {
		return 0, ""
	}
	return res.StatusCode, string(body)
}

// metric is the sum of the values of a metric whose labels begin with these, as in `name{code="29"`.
func (p *process) metric(name string) float64 {
	p.Helper()
	_, text := p.get("/metrics")
	return sumOf(text, name)
}

func sumOf(text, name string) (sum float64) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			at := strings.LastIndexByte(line, ' ')
			if v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64); err == nil {
				sum += v
			}
		}
	}
	return sum
}

// logged reports whether a line of the log holds all of these.
func (p *process) logged(parts ...string) bool {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		p.Fatal(err)
	}
lines:
	for line := range bytes.Lines(text) {
		for _, part := range parts {
			if !bytes.Contains(line, []byte(part)) {
				continue lines
			}
		}
		return true
	}
	return false
}

func (p *process) tail() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	text = slices.Concat(slices.DeleteFunc(slices.Collect(bytes.Lines(text)),
		func(line []byte) bool { return bytes.Contains(line, []byte(`"msg":"audit"`)) })...)
	return string(text[max(0, len(text)-4000):])
}
