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
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/models"
)

// site is what the scorers share: the built program, and a folder with models and settings.
type site struct {
	*testing.T
	c               *cluster
	notes           *synth.Generator
	program, folder string
}

func newSite(t *testing.T, c *cluster) *site {
	t.Helper()
	s := &site{T: t, c: c, folder: t.TempDir()}
	s.program = filepath.Join(s.folder, "wardcast")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.program,
		"github.com/wardcast/wardcast/cmd/wardcast").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	var err error
	if s.notes, err = synth.New(synth.Settings{Seed: 7, Misspelling: synth.DefaultMisspelling}); err != nil {
		t.Fatal(err)
	}
	store := models.OpenDir(filepath.Join(s.folder, "models"))
	if _, err := sample.Train(t.Context(), s.notes, store, sample.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.folder, "password"), []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// scorer is a process that is started again and again. All its processes write to one log.
type scorer struct {
	*site
	config, address string
	log             *os.File
	process         *exec.Cmd
}

// scorer starts one, and returns when it is ready.
func (s *site) scorer(name string) *scorer {
	s.Helper()
	r := &scorer{site: s, config: filepath.Join(s.folder, name+".yaml"), address: ingesttest.FreeAddress(s)}
	settings := fmt.Sprintf(`kafka:
  brokers: [%s]
  sasl: {mechanism: plain, username: %s, password_file: password}
models: {store: models}
http: {listen: "%s"}
`, strings.Join(s.c.login, ", "), user, r.address)
	err := os.WriteFile(r.config, []byte(settings), 0o600)
	if err == nil {
		r.log, err = os.Create(filepath.Join(s.folder, name+".log"))
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = r.process.Process.Kill() // it may have ended
		_ = r.process.Wait()
		_ = r.log.Close()
		if s.Failed() {
			s.Logf("the end of the log of %s:\n%s", name, r.tail())
		}
	})
	r.start()
	return r
}

// start starts the process, and returns when it is ready.
func (r *scorer) start() {
	r.Helper()
	// its end is waited for
	r.process = exec.CommandContext(context.WithoutCancel(r.Context()), r.program, "serve", "--config", r.config)
	r.process.Stdout, r.process.Stderr = r.log, r.log
	if err := r.process.Start(); err != nil {
		r.Fatal(err)
	}
	ingesttest.Await(r, "a scorer that is ready", r.ready)
}

// restart drains the process and starts another.
func (r *scorer) restart() {
	r.Helper()
	r.signal(syscall.SIGTERM)
	if err := r.process.Wait(); err != nil {
		r.Errorf("a drain: %v", err)
	}
	r.start()
}

func (r *scorer) signal(s syscall.Signal) {
	r.Helper()
	if err := r.process.Process.Signal(s); err != nil {
		r.Fatal(err)
	}
}

func (r *scorer) ready() bool {
	code, _ := r.get("/readyz")
	return code == http.StatusOK
}

// get asks the scorer; the code is 0 if it does not answer.
func (r *scorer) get(path string) (int, string) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.address+path, http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	res, err := http.DefaultClient.Do(request)
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
func (r *scorer) metric(name string) (sum float64) {
	_, text := r.get("/metrics")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			at := strings.LastIndexByte(line, ' ')
			v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
			if err != nil {
				r.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

// logged reports whether a line of the log holds all of these.
func (r *scorer) logged(parts ...string) bool {
	text, err := os.ReadFile(r.log.Name())
	if err != nil {
		r.Fatal(err)
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

func (r *scorer) tail() string {
	text, err := os.ReadFile(r.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
