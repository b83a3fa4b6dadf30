package app_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	modelstore "github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestEmbeddedBroker runs the scorer with its own broker, stops it and starts it again on the same folder.
func TestEmbeddedBroker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Kafka.Brokers = []string{ingesttest.FreeAddress(t)}
	s.options.EmbeddedBroker = filepath.Join(s.dir, "broker")
	r := s.start().ready()
	c := s.stream()
	c.send(notes(t, 0, 50)...)
	c.answers(50)
	c.Close()
	r.stop()

	s.options.Registry = prometheus.NewRegistry()
	r = s.start().ready()
	c = s.stream()
	c.send(notes(t, 50, 60)...)
	c.answers(60)
	s.await("all committed", func() bool { return c.committed() == 60 })
	c.Close()
	r.stop()
	if len(c.predictions) != 60 {
		t.Errorf("%d predictions of 60 notes, want the first broker's 50 and 10 new ones", len(c.predictions))
	}
}

// TestMetricsAreRegisteredOnce: a second scorer with the registry of the first is an error.
func TestMetricsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Kafka.Brokers = []string{"127.0.0.1:1"}
	s.promote(generation(t, 0)...)
	if _, err := app.New(t.Context(), s.options); err != nil {
		t.Fatal(err)
	}
	if _, err := app.New(t.Context(), s.options); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("New: %v", err)
	}
}

// TestHTTP looks at the pages before the broker is there and after.
func TestHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder, address := filepath.Join(s.dir, "broker"), ingesttest.FreeAddress(t)
	s.config.Kafka.Brokers, s.config.HTTP.Listen, s.options.CreateTopics = []string{address},
		ingesttest.FreeAddress(t), true
	r := s.start()
	s.await("the http listener", func() bool { status, _ := s.get("/healthz"); return status == http.StatusOK })
	status, body := s.get("/readyz")
	var problem struct {
		Status int    `json:"status"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal([]byte(body), &problem); err != nil || status != http.StatusServiceUnavailable ||
		problem.Status != status || problem.Title == "" || problem.Detail == "" {
		t.Errorf("readyz without a broker answers %d %q, want 503 and a problem", status, body)
	}
	if strings.Contains(s.log.String(), `"msg":"ready"`) {
		t.Error("the log says ready without a broker")
	}
	b, err := embedded.Start(embedded.Config{Dir: folder, Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r.ready()
	if status, body := s.get("/readyz"); status != http.StatusOK {
		t.Errorf("readyz after the join answers %d %q, want 200", status, body)
	}
	s.await("the log says ready", func() bool { return strings.Contains(s.log.String(), `"msg":"ready"`) })
	if status, _ := s.get("/nowhere"); status != http.StatusNotFound {
		t.Errorf("an unknown page answers %d, want 404", status)
	}

	c := s.stream()
	c.send(append(notes(t, 0, 20), &kgo.Record{Key: []byte(secret), Value: []byte(secret)})...)
	c.answers(21)
	s.await("all committed", func() bool { return c.committed() == 21 })
	_, metrics := s.get("/metrics")
	if strings.Contains(metrics, secret) {
		t.Error("the metrics name a patient")
	}
	r.stop()
	if log := s.log.String(); !strings.Contains(log, `"msg":"drained","took":"`) {
		t.Errorf("the log does not show the drain:\n%s", log)
	}
}

func TestMissingTopic(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.options.CreateTopics = false
	r := s.start()
	<-r.done
	missing, ok := errors.AsType[*ingest.MissingTopicsError](r.err)
	topics := s.config.Kafka.Topics
	if !ok || !slices.Contains(missing.Topics, topics.Notes) {
		t.Fatalf("Run without topics: %v, want an error that names them", r.err)
	}
	for _, name := range []string{topics.Notes, topics.Predictions, topics.DeadLetters} {
		if !strings.Contains(r.err.Error(), name) {
			t.Errorf("Run without topics: %q does not name %s", r.err, name)
		}
	}
}

// TestStopBeforeBroker stops a scorer that still waits for its broker.
func TestStopBeforeBroker(t *testing.T) {
	t.Parallel()
	for _, create := range []bool{false, true} {
		s := newSite(t)
		s.config.Kafka.Brokers, s.options.CreateTopics = []string{ingesttest.FreeAddress(t)}, create
		r := s.start()
		s.await("waiting for the broker", func() bool { return strings.Contains(s.log.String(), "waiting for kafka") })
		r.stop()
	}
}

// TestAsksForItsTopics: a scorer asks the brokers for the topics that it uses, never for all that the cluster has.
func TestAsksForItsTopics(t *testing.T) {
	t.Parallel()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	var all, named atomic.Int64
	fake.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if m, ok := r.(*kmsg.MetadataRequest); ok && m.Topics == nil {
			all.Add(1)
		}
		named.Add(1)
		return nil, nil, false
	})
	s := newSite(t)
	s.config.Kafka.Brokers = fake.ListenAddrs()
	r := s.start().ready()
	before := named.Load()
	s.await("more requests", func() bool { return named.Load() > before+2 })
	r.stop()
	if n := all.Load(); n > 0 {
		t.Errorf("%d of %d requests are for all topics of the cluster", n, named.Load())
	}
}

// TestPortTaken starts scorers on ports that somebody else has.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	taken := s.config.Kafka.Brokers[0]
	s.config.HTTP.Listen = taken
	r := s.start()
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), taken) {
		t.Errorf("Run with the http port taken: %v, want an error that names it", r.err)
	}
	s.config.HTTP.Listen, s.options.EmbeddedBroker, s.options.Registry = "", filepath.Join(s.dir, "broker"),
		prometheus.NewRegistry()
	r = s.start()
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), taken) {
		t.Errorf("Run with the broker's port taken: %v, want an error that names it", r.err)
	}
}

// TestNew holds errors that need no broker against what they must name.
func TestNew(t *testing.T) {
	t.Parallel()
	password := filepath.Join(t.TempDir(), "password")
	write(t, password, []byte("hunter2\n"))
	for name, c := range map[string]struct {
		change func(s *site)
		want   string // in the error; "" for none
	}{
		"as configured":             {func(*site) {}, ""},
		"http off":                  {func(s *site) { s.config.HTTP.Listen = "" }, ""},
		"localhost":                 {func(s *site) { s.config.HTTP.Listen = "localhost:0" }, ""},
		"loopback of six":           {func(s *site) { s.config.HTTP.Listen = "[::1]:0" }, ""},
		"http on all addresses":     {func(s *site) { s.config.HTTP.Listen = ":8080" }, "listening on :8080"},
		"http on all addresses, v4": {func(s *site) { s.config.HTTP.Listen = "0.0.0.0:8080" }, "--insecure"},
		"http on a network": {
			func(s *site) { s.config.HTTP.Listen = "192.0.2.1:8080" }, "listening on 192.0.2.1:8080",
		},
		"http on a name": {
			func(s *site) { s.config.HTTP.Listen = "ward.example:8080" }, "listening on ward.example:8080",
		},
		"http without a port": {func(s *site) { s.config.HTTP.Listen = "127.0.0.1" }, "listening on 127.0.0.1"},
		"broker on a network": {
			func(s *site) { s.options.EmbeddedBroker, s.config.Kafka.Brokers = s.dir, []string{"192.0.2.1:9092"} },
			"listening on 192.0.2.1:9092",
		},
		"http without tokens": {
			func(s *site) { s.config.HTTP.Listen, s.config.HTTP.TLS.CertFile = "0.0.0.0:8080", "x" },
			"http.tokens are not set",
		},
		"missing http certificate": {
			func(s *site) { s.config.HTTP.TLS = config.ServerTLS{CertFile: "nowhere.pem", KeyFile: "nowhere.key"} },
			"nowhere.pem",
		},
		"missing token": {func(s *site) {
			s.config.HTTP.Tokens = []config.Token{{Name: "a", Role: "viewer", TokenEnv: "WARDCAST_TEST_UNSET"}}
		}, "WARDCAST_TEST_UNSET"},
		"insecure": {func(s *site) { s.config.HTTP.Listen, s.options.Insecure = "0.0.0.0:8080", true }, ""},
		// no listener of ours
		"brokers on a network": {func(s *site) { s.config.Kafka.Brokers = []string{"192.0.2.1:9092"} }, ""},
		"no store yet":         {func(s *site) { s.config.Models.Store = filepath.Join(s.dir, "nowhere") }, ""},
		"no folder":            {func(s *site) { s.config.Models.Store = password }, "password"},
		"damaged champion": {func(s *site) {
			g, err := s.store.Champion(s.Context())
			if err != nil {
				s.Fatal(err)
			}
			write(s.T, filepath.Join(s.config.Models.Store, bundle.Other, g.Models[bundle.Other].Version,
				"vocabulary.json"), []byte("[]"))
		}, "vocabulary.json"},
		"session too long": {func(s *site) { s.config.Kafka.SessionTimeout = 1 << 40 }, "session timeout"},
		"password in a file": {func(s *site) {
			s.config.Kafka.SASL = ingest.SASL{Mechanism: "plain", Username: "u", PasswordFile: password}
		}, ""},
		"password file is missing": {func(s *site) {
			s.config.Kafka.SASL = ingest.SASL{Mechanism: "plain", Username: "u", PasswordFile: password + "x"}
		}, "kafka.sasl.password_file"},
		"password is not set": {func(s *site) {
			s.config.Kafka.SASL = ingest.SASL{Mechanism: "plain", Username: "u", PasswordEnv: "WARDCAST_TEST_UNSET"}
		}, "WARDCAST_TEST_UNSET"},
		"unknown mechanism": {func(s *site) {
			s.config.Kafka.SASL = ingest.SASL{Mechanism: "rot13", Username: "u", PasswordFile: password}
		}, "rot13"},
		"missing certificate": {
			func(s *site) { s.config.Kafka.TLS = ingest.TLS{Enabled: true, CAFile: filepath.Join(s.dir, "ca.pem")} },
			"ca.pem",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.config.Kafka.Brokers, s.config.HTTP.Listen = []string{"127.0.0.1:1"}, "127.0.0.1:0"
			c.change(s)
			_, err := app.New(t.Context(), s.options)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("New: %v, want no error", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("New: %v, want an error with %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Error("the error holds the password")
			}
		})
	}
}

// TestFirstModel: on an empty store the topics are made, notes wait, every page says so, and the first generation
// predicts them without a restart. None is a dead letter.
func TestFirstModel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	s.config.Models.Store = filepath.Join(t.TempDir(), "not", "there yet") // as an empty store
	store := modelstore.OpenDir(s.config.Models.Store)
	r := s.start()
	s.await("waiting for a model", func() bool { return strings.Contains(s.log.String(), "waiting for a first model") })
	if status, body := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("healthz answers %d %q", status, body)
	}
	if status, body := s.get("/readyz"); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "there is no model yet") {
		t.Errorf("readyz answers %d %q", status, body)
	}
	for path, want := range map[string]int{
		"/waiting": 200, "/live": 200, "/beds": 200, "/try": 200, "/models": 200, "/questionnaires": 200, "/health": 200,
		"/topics": 200, "/v1/models": 200, "/v1/waiting": 503, "/v1/waiting.csv": 503, "/v1/bed-demand": 503,
		"/v1/bed-demand/history": 503, "/v1/beds.csv": 503,
	} {
		if status, body := s.get(path); status != want ||
			!strings.HasPrefix(path, "/v1/") && !strings.Contains(body, "There is no model yet. Notes wait") ||
			strings.Contains(body, "Nobody") || strings.Contains(body, "<b>0</b> waiting") {
			t.Errorf("%s answers %d:\n%s", path, status, body)
		} else if want == 503 && !strings.Contains(body, "there is no model yet") {
			t.Errorf("%s does not say why nothing is known:\n%s", path, body)
		}
	}
	if n := s.metric("wardcast_beds_published_messages_total"); n != 0 {
		t.Errorf("%v forecasts are published before anybody knows who waits", n)
	}
	c := s.stream()
	c.send(notes(t, 0, 5)...)
	storetest.Serve(t, store, generation(t, 0)...)
	r.ready()
	c.answers(5)
	if n := s.metric("wardcast_ingest_dead_letters_total"); n != 0 {
		t.Errorf("%v dead letters", n)
	}
	if _, body := s.get("/live"); strings.Contains(body, "There is no model yet") {
		t.Error("a page says that there is no model")
	}
	r.stop()
}
