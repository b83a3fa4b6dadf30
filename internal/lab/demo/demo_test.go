package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

// TestStopped ends a demo in its training, by Ctrl-C as it were.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := Run(ctx, Options{
		Duration: time.Minute, Rate: 1, Logger: slog.New(slog.DiscardHandler),
		Say:  func(string, ...any) { cancel() },
		Show: func(*msg.Prediction, []byte) { t.Error("a prediction is shown") },
	})
	if s != nil || err != nil {
		t.Errorf("Run: %v, %v, want neither summary nor error", s, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the temporary folder: %v", left, err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	first, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	taken := first.Addr().(*net.TCPAddr).Port
	second, err := listen(t.Context(), taken)
	if err != nil {
		t.Fatalf("a port that is in use: %v", err)
	}
	defer second.Close()
	if second.Addr().String() == first.Addr().String() {
		t.Error("one port for two")
	}
}

// TestTraining: the address answers during the training, and is free for the app behind it.
func TestTraining(t *testing.T) {
	t.Parallel()
	l, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func() (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	done := training(l.(*net.TCPListener))
	if status, body := get(); status != http.StatusServiceUnavailable || !strings.Contains(body, "less than a minute") {
		t.Errorf("during the training: %d %s", status, body)
	}
	done()
	app := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = app.Serve(l) }()
	defer app.Close()
	if status, _ := get(); status != http.StatusNotFound {
		t.Errorf("the app answers %d", status)
	}
}

// TestResult holds a summary against what was taken for it.
func TestResult(t *testing.T) {
	t.Parallel()
	shown := 0
	began := time.Now()
	r := &run{
		Options: Options{Rate: 10, Show: func(*msg.Prediction, []byte) { shown++ }}, summary: &Summary{},
		began: began, sent: map[string]sent{},
	}
	// Four notes, of which the last stays without an answer.
	for i, truth := range []float64{.2, .9, .4, .5} {
		r.sent[fmt.Sprint(i)] = sent{at: began, admitted: i%2 == 1, probability: truth}
	}
	for _, p := range []msg.Prediction{{VisitID: "0", Probability: .1}, {VisitID: "1", Probability: .7}, {
		VisitID: "1", Probability: .7,
	}, {VisitID: "stranger"}, {VisitID: "2", Probability: .8}} {
		r.take(&p, nil)
	}
	s, err := r.result()
	if err != nil {
		t.Fatal(err)
	}
	if shown != 3 || s.Notes != 3 || s.Lost != 1 || r.waiting() != 1 {
		t.Errorf("%d predictions shown, the summary counts %d, %d lost; want 3, 3, 1", shown, s.Notes, s.Lost)
	}
	// One admitted of three: above one of the other two predictions, and above both true probabilities.
	if s.AUROC == nil || *s.AUROC != .5 || s.TruthAUROC == nil || *s.TruthAUROC != 1 ||
		math.Abs(s.MeanError-(.1+.2+.4)/3) > 1e-12 {
		t.Errorf("AUROC %v, of the truth %v, mean error %v; want 0.5, 1, 0.2333", s.AUROC, s.TruthAUROC, s.MeanError)
	}
	if s.LatencyP50 <= 0 || s.LatencyP99 < s.LatencyP50 || s.PerSecond <= 0 || s.FirstAfterSecs <= 0 {
		t.Errorf("the summary is %+v", s)
	}
}

// TestResultOneClass sums up notes of which none was admitted, and none at all.
func TestResultOneClass(t *testing.T) {
	t.Parallel()
	r := &run{
		Options: Options{Rate: 10, Show: func(*msg.Prediction, []byte) {}}, summary: &Summary{},
		began: time.Now(), sent: map[string]sent{},
	}
	if s, err := r.result(); s != nil || err != nil {
		t.Errorf("the summary of nothing is %v, %v, want none", s, err)
	}
	r.sent["0"] = sent{at: time.Now()}
	r.take(&msg.Prediction{VisitID: "0"}, nil)
	if s, err := r.result(); err != nil || s.Notes != 1 || s.AUROC != nil {
		t.Errorf("the summary of one note is %+v, %v", s, err)
	}
}
