package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/doctor"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

// install returns the configuration of an installation with all its topics and no model yet.
func install(t *testing.T) (*config.Config, *ingest.Client) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := config.Default()
	c.Kafka.Brokers, c.Models.Store = fake.ListenAddrs(), t.TempDir()
	if err := os.Chmod(c.Models.Store, 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	client, err := ingest.NewClient(ingest.Connection{Brokers: c.Kafka.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, name := range c.KafkaTopics() {
		compacted := name == c.Kafka.Topics.Models || name == c.Kafka.Topics.BedDemand
		size := 0
		if name == c.Kafka.Topics.DeadLetters {
			size = ingest.DeadLetterMaxMessageBytes
		}
		topic := ingest.Topic{Name: name, Compacted: compacted, MaxMessageBytes: size}
		if err := client.CreateTopics(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	return &c, client
}

// certificate writes one that is valid until a time.
func certificate(t *testing.T, until time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func file(t *testing.T, data []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun: each thing that an installation lacks is found by name, with its status and a remedy, and nothing else is.
func TestRun(t *testing.T) {
	t.Parallel()
	now := time.Now()
	topic := func(name string, edit func(*ingest.Topic)) func(*testing.T, *config.Config, *ingest.Client) {
		return func(t *testing.T, _ *config.Config, client *ingest.Client) {
			if err := client.DeleteTopics(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if edit == nil {
				return
			}
			made := ingest.Topic{Name: name}
			if edit(&made); client.CreateTopics(t.Context(), made) != nil {
				t.Fatal("topic not made")
			}
		}
	}
	for name, c := range map[string]struct {
		lack   func(*testing.T, *config.Config, *ingest.Client)
		check  string
		status doctor.Status
		detail string
	}{
		"no model": {func(*testing.T, *config.Config, *ingest.Client) {}, "champion", doctor.Fail, "first model"},
		"no topic": {topic("triage.outcomes", nil), "topic triage.outcomes", doctor.Fail, "does not exist"},
		"compacted notes": {
			topic("triage.notes", func(t *ingest.Topic) { t.Compacted = true }),
			"topic triage.notes", doctor.Warn, "is compacted",
		},
		"bed demand that is deleted": {
			topic("triage.bed-demand", func(*ingest.Topic) {}),
			"topic triage.bed-demand", doctor.Warn, "is not compacted",
		},
		"small dead letters": {
			topic("triage.notes.dlq", func(t *ingest.Topic) { t.MaxMessageBytes = 1000 }),
			"topic triage.notes", doctor.Warn, "lack the message",
		},
		"short retention": {
			func(_ *testing.T, c *config.Config, _ *ingest.Client) { c.Retrain.WindowDays = 365 },
			"topic triage.notes", doctor.Warn, "looks back 365",
		},
		"no broker": {
			func(_ *testing.T, c *config.Config, _ *ingest.Client) { c.Kafka.Brokers = []string{"127.0.0.1:1"} },
			"brokers", doctor.Fail, "127.0.0.1:1",
		},
		"one broker of two": {func(_ *testing.T, c *config.Config, _ *ingest.Client) {
			c.Kafka.Brokers = append(c.Kafka.Brokers, "127.0.0.1:1")
		}, "brokers", doctor.Warn, "127.0.0.1:1"},
		"token for all": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			token := file(t, []byte(strings.Repeat("0123456789abcdef", 4)), 0o644)
			c.HTTP.Tokens = []config.Token{{Name: "a", Role: config.Viewer, TokenFile: token}}
		}, "secret files", doctor.Warn, "0644"},
		"store for all": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			if err := os.Mkdir(filepath.Join(c.Models.Store, "generations"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(c.Models.Store, 0o755); err != nil { //nolint:gosec // what is to be found
				t.Fatal(err)
			}
		}, "store", doctor.Warn, "0755"},
		"no store": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			if err := os.Remove(c.Models.Store); err != nil {
				t.Fatal(err)
			}
		}, "store", doctor.Warn, "no folder"},
		"no file of the site": {func(_ *testing.T, c *config.Config, _ *ingest.Client) {
			c.Retrain.Site = "nowhere.yaml"
		}, "configuration", doctor.Fail, "nowhere.yaml"},
		"expired": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			c.Bridge.FHIR.CA = certificate(t, now.Add(-time.Hour))
		}, "certificate", doctor.Fail, "expired"},
		"no certificate": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			c.Bridge.FHIR.CA = file(t, []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"), 0o600)
		}, "certificate", doctor.Fail, "no certificate"},
		"expires": {func(t *testing.T, c *config.Config, _ *ingest.Client) {
			c.Bridge.FHIR.CA = certificate(t, now.AddDate(0, 0, 7))
		}, "certificate", doctor.Warn, "expires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installed, client := install(t)
			installed.Retrain.WindowDays = 1 // less than the brokers keep by default
			c.lack(t, installed, client)
			found := false
			for _, got := range doctor.Run(t.Context(), installed, now) {
				if got.Status != doctor.OK && got.Remedy == "" || got.Detail == "" {
					t.Errorf("no remedy or detail: %+v", got)
				}
				usual := []string{"champion", "copies", "configuration", "synchronization of the clock"}
				switch {
				case strings.HasPrefix(got.Name, c.check) && got.Status == c.status &&
					strings.Contains(got.Detail, c.detail):
					found = true
				case got.Status != doctor.OK && !slices.Contains(usual, got.Name) &&
					!strings.HasPrefix(got.Name, "disk") && !strings.Contains(got.Detail, "looks back"):
					t.Errorf("also %+v", got)
				}
			}
			if !found {
				t.Errorf("not found: %s %s", c.status, c.detail)
			}
		})
	}
}

// TestStopped: an interrupted run ends.
func TestStopped(t *testing.T) {
	t.Parallel()
	c, _ := install(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if !doctor.Failed(doctor.Run(ctx, c, time.Now())) {
		t.Error("nothing failed")
	}
}

// TestStore: a store that serve would refuse, or that the alerts would tell of, fails.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(dir string, first, second *models.Generation) error
		says string // "" for a sound store
	}{
		"sound": {func(string, *models.Generation, *models.Generation) error { return nil }, ""},
		"a lost champion": {func(dir string, _, _ *models.Generation) error {
			return os.Remove(filepath.Join(dir, "champion"))
		}, "though the history ends with"},
		"a champion by hand": {func(dir string, first, _ *models.Generation) error {
			return os.WriteFile(filepath.Join(dir, "champion"), []byte(first.Name+"\n"), 0o600)
		}, "disagree"},
		"a cut history": {func(dir string, _, _ *models.Generation) error {
			return os.Truncate(filepath.Join(dir, "history.jsonl"), 0)
		}, "disagree"},
		"a damaged fit": {func(dir string, _, second *models.Generation) error {
			return os.WriteFile(filepath.Join(dir, "beds", second.Beds, "fit.json"), []byte("[]"), 0o600)
		}, "fit.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installed, _ := install(t)
			store := models.OpenDir(installed.Models.Store)
			first := storetest.Serve(t, store, storetest.Bundle("_other", 1))
			fit, err := store.SaveBeds(t.Context(), first.CreatedAt, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			second := &models.Generation{CreatedAt: first.CreatedAt.Add(time.Second), Models: first.Models, Beds: fit}
			if err := store.AddGeneration(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			if err := store.Promote(t.Context(), models.Change{To: second.Name, From: first.Name}); err != nil {
				t.Fatal(err)
			}
			if err := c.harm(installed.Models.Store, first, second); err != nil {
				t.Fatal(err)
			}
			for _, got := range doctor.Run(t.Context(), installed, time.Now()) {
				if got.Name == "champion" && ((got.Status == doctor.Fail) != (c.says != "") ||
					!strings.Contains(got.Detail, c.says)) {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// TestReplayIsNotAllowed: what is not allowed of dead letters is a warning, and no word says that all is.
func TestReplayIsNotAllowed(t *testing.T) {
	t.Parallel()
	const login, password = "PLAIN", "0123456789"
	acl := func(kind kmsg.ACLResourceType, name string, operation kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{
			Resource: kind, Name: name, Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true,
		}
	}
	c := config.Default()
	c.Models.Store = t.TempDir()
	names := c.KafkaTopics()
	acls := []kfake.ACL{acl(kmsg.ACLResourceTypeGroup, c.Kafka.Group, kmsg.ACLOperationRead)}
	for _, name := range names {
		if name != c.Kafka.Topics.DeadLetters {
			acls = append(acls, acl(kmsg.ACLResourceTypeTopic, name, kmsg.ACLOperationRead))
		}
		if name != c.Kafka.Topics.Notes {
			acls = append(acls, acl(kmsg.ACLResourceTypeTopic, name, kmsg.ACLOperationWrite))
		}
	}
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser(login, "admin", password), kfake.User(login, "wardcast", password, acls...),
		kfake.SeedTopics(1, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c.Kafka.Brokers = fake.ListenAddrs()
	c.Kafka.SASL = ingest.SASL{
		Mechanism: "plain", Username: "wardcast", PasswordFile: file(t, []byte(password), 0o600),
	}
	var said []string
	for _, got := range doctor.Run(t.Context(), &c, time.Now()) {
		if got.Name == "authorization" {
			said = append(said, string(got.Status)+": "+got.Detail)
		}
	}
	want := []string{
		"warn: the user may not write topic triage.notes", "warn: the user may not read topic triage.notes.dlq",
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
