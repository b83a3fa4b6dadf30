package embedded_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"github.com/wardcast/wardcast/ingest/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg embedded.Config) *embedded.Broker {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	b, err := embedded.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// client returns a client and its transport of the test's own.
func client(t *testing.T, b *embedded.Broker) *kafka.Client {
	t.Helper()
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &kafka.Client{Addr: kafka.TCP(b.Addr()), Timeout: 10 * time.Second, Transport: transport}
}

func create(t *testing.T, c *kafka.Client, topic string) {
	t.Helper()
	res, err := c.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 1, ReplicationFactor: -1}},
	})
	if err = errors.Join(err, res.Errors[topic]); err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, c *kafka.Client, topic string, value []byte) error {
	t.Helper()
	res, err := c.Produce(t.Context(), &kafka.ProduceRequest{
		Topic: topic, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes(value)}),
	})
	if err != nil {
		return err
	}
	return res.Error
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"127.0.0.1", ":9092", "0.0.0.0:9092", "[::]:9092"} {
		if b, err := embedded.Start(embedded.Config{Listen: listen}); err == nil {
			b.Close()
			t.Errorf("a broker that listens on %q is started: where are clients to connect?", listen)
		}
	}
	b := start(t, embedded.Config{Listen: "localhost:0"})
	if !strings.HasPrefix(b.Addr(), "localhost:") {
		t.Errorf("Addr is %q, want localhost", b.Addr())
	}
	create(t, client(t, b), "t") // goes to the advertised address
	if other, err := embedded.Start(
		embedded.Config{Listen: strings.Replace(b.Addr(), "localhost", "127.0.0.1", 1)}); err == nil {
		other.Close()
		t.Error("a second broker is started on the same port")
	}
}

func TestFolderHasOneBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/new/folder"
	b := start(t, embedded.Config{Dir: dir})
	if other, err := embedded.Start(embedded.Config{Dir: dir, Listen: "127.0.0.1:0"}); err == nil ||
		!strings.Contains(err.Error(), "in use") {
		if err == nil {
			other.Close()
		}
		t.Errorf("a second broker on the folder: %v, want an error that says it is in use", err)
	}
	b.Close()
	start(t, embedded.Config{Dir: dir, Sync: true})
}

func TestTopicsAreNotMadeByThemselves(t *testing.T) {
	t.Parallel()
	c := client(t, start(t, embedded.Config{}))
	if err := produce(t, c, "t", []byte("x")); err == nil {
		t.Error("a topic that was not created is written to")
	}
}

func TestMessageSizes(t *testing.T) {
	t.Parallel()
	c := client(t, start(t, embedded.Config{}))
	create(t, c, "t")
	if err := produce(t, c, "t", make([]byte, 3<<20)); err != nil {
		t.Errorf("3 MiB: %v", err)
	}
	if err := produce(t, c, "t", make([]byte, 5<<20)); !errors.Is(err, kafka.MessageSizeTooLarge) {
		t.Errorf("5 MiB: %v, want %v", err, kafka.MessageSizeTooLarge)
	}
}

// TestForeignClient uses the broker with kcat, which is librdkafka: produce,
// consume, and a consumer group.
func TestForeignClient(t *testing.T) {
	t.Parallel()
	if os.Getenv("WARDCAST_KCAT") == "" {
		t.Skip("WARDCAST_KCAT is not set: no foreign client")
	}
	b := start(t, embedded.Config{Dir: t.TempDir()})
	create(t, client(t, b), "t")
	kcat := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "kcat", append([]string{"-b", b.Addr()}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("kcat %v: %v\n%s", args, err, &errs)
		}
		return out.String()
	}
	var in, want strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, "k%d\tvalue %d\n", i, i)
		fmt.Fprintf(&want, "k%d:value %d:h=v\n", i, i)
	}
	kcat(in.String(), "-P", "-t", "t", "-K", "\t", "-H", "h=v", "-X", "acks=all", "-X",
		"enable.idempotence=true", "-z", "zstd")
	const format = "%k:%s:%h\n"
	if got := kcat("", "-C", "-t", "t", "-e", "-q", "-f", format); got != want.String() {
		t.Errorf("consumed %d bytes, want %d", len(got), want.Len())
	}
	if got := kcat("", "-G", "g", "t", "-q", "-c", "1000", "-f", format, "-X",
		"auto.offset.reset=earliest"); got != want.String() {
		t.Errorf("the group consumed %d bytes, want %d", len(got), want.Len())
	}
}
