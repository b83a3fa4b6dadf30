package ingest_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// TestBrokerComesLate starts a consumer before its broker.
func TestBrokerComesLate(t *testing.T) {
	t.Parallel()
	address, dir := ingesttest.FreeAddress(t), t.TempDir()
	start := func() *embedded.Broker {
		b, err := embedded.Start(embedded.Config{Dir: dir, Listen: address, Logger: discard})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := start()
	c := attach(t, ingest.Connection{Brokers: []string{address}}, nil)
	c.client.Close()
	b.Close()

	m := c.start(handle(echo))
	c.await("word of it", func() bool { return strings.Contains(m.log.String(), "waiting for kafka") })
	if m.isReady() {
		t.Error("ready without a broker")
	}
	b = start()
	t.Cleanup(b.Close)
	c.await("ready", m.isReady)
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, true)
}

// TestStopWhileTheBrokerIsAway: waiting for a broker ends with the context.
func TestStopWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	m := (&cluster{
		T: t, conn: ingest.Connection{Brokers: []string{"127.0.0.1:1"}}, in: "a", out: "b", dlq: "c", group: "g",
	}).start(handle(echo))
	m.stop()
}

// process is an embedded broker in a process of its own.
type process struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.CommandContext(p.t.Context(), os.Args[0])
	p.cmd.Env = append(os.Environ(), serveBrokerEnv+"="+p.dir, "WARDCAST_TEST_BROKER_LISTEN="+p.address)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe() // its end ends the broker
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = in.Close() })
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the broker does not start: %v", err)
	}
	if line = strings.TrimSpace(line); p.address != line {
		p.t.Fatalf("it listens on %q, want %q", line, p.address)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestEmbeddedBrokerSurvivesKill kills the broker with SIGKILL again and again
// while it is written to and read from: what it acknowledged is there, at the
// same place, and the stream goes on.
func TestEmbeddedBrokerSurvivesKill(t *testing.T) {
	t.Parallel()
	p := &process{t: t, dir: t.TempDir(), address: ingesttest.FreeAddress(t)}
	p.start()
	t.Cleanup(func() { p.kill() })
	c := attach(t, ingest.Connection{Brokers: []string{p.address}}, nil)
	m := c.start(handle(echo))
	const n, rounds = 4000, 4
	for round := range rounds {
		part := numbered(round*n/rounds, (round+1)*n/rounds)
		c.send(part[:len(part)/2]...)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_ = ingest.NewProducer(c.client, discard).Produce(t.Context(), c.in, part[len(part)/2:])
		}()
		in, out := c.read(c.in), c.read(c.out)
		p.kill()
		p.start()
		if lost := missing(in, c.read(c.in)); lost > 0 {
			t.Errorf("round %d: %d of %d records are gone or changed", round, lost, len(in))
		}
		if lost := missing(out, c.read(c.out)); lost > 0 {
			t.Errorf("round %d: %d of %d answers are gone or changed", round, lost, len(out))
		}
		<-sent
	}
	c.await("all answers", func() bool { return len(count(c.read(c.out))) == n })
	c.await("commits", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	m.stop()
	c.wantAll(n, false)
}

// missing counts the messages of before that are not at their place in after.
func missing(before, after []message) int {
	at := make(map[string]message)
	where := func(m message) string { return fmt.Sprint(m.partition, "/", m.offset) }
	for _, m := range after {
		at[where(m)] = m
	}
	n := 0
	for _, m := range before {
		if !cmp.Equal(m, at[where(m)], cmp.AllowUnexported(message{})) {
			n++
		}
	}
	return n
}

// TestKilledBroker kills a broker of a real cluster and brings it back, then another, while a stream is answered.
// WARDCAST_KAFKA_CTL names a script that understands "kill ID" and "up ID" for the brokers 1 to 3.
func TestKilledBroker(t *testing.T) {
	ctl := os.Getenv("WARDCAST_KAFKA_CTL")
	if ctl == "" {
		t.Skip("WARDCAST_KAFKA_CTL is not set: no brokers to kill")
	}
	// Not parallel: the other tests expect all brokers.
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), ctl, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	c := newCluster(t)
	m := c.start(handle(echo))
	c.await("ready", m.isReady)
	const n, steps = 20_000, 40
	for i := range steps {
		switch i {
		case steps / 8:
			run("kill", "3")
		case 3 * steps / 8:
			run("up", "3")
			c.inSync()
		case 5 * steps / 8:
			run("kill", "1")
		case 7 * steps / 8:
			run("up", "1")
			c.inSync()
		}
		c.send(numbered(i*n/steps, (i+1)*n/steps)...)
	}
	c.await("all answers", func() bool { return sum(c.ends(c.out)) >= n && len(count(c.read(c.out))) == n })
	m.stop()
	c.wantAll(n, false)
	c.electLeaders()
}

// electLeaders has each partition led by the first of its replicas, as before a
// broker was killed. Kafka does so itself some minutes later, in the middle of
// a test that then loses the coordinator of its group.
func (c *cluster) electLeaders() {
	c.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...))
	if err != nil {
		c.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	c.await("the first replicas as leaders", func() bool {
		elected, err := admin.ElectLeaders(c.Context(), kadm.ElectPreferredReplica, nil)
		if err != nil {
			return false
		}
		for _, topic := range elected {
			for _, p := range topic {
				if p.Err != nil && !errors.Is(p.Err, kerr.ElectionNotNeeded) {
					return false
				}
			}
		}
		return true
	})
}

// inSync returns when all replicas of the test's topics are in sync.
func (c *cluster) inSync() {
	c.Helper()
	c.await("replicas in sync", func() bool {
		meta, err := c.metadata()
		if err != nil {
			return false
		}
		for _, t := range meta.Topics {
			for _, p := range t.Partitions {
				if len(p.Isr) < len(p.Replicas) {
					return false
				}
			}
		}
		return true
	})
}

// TestShortOutageAtTheStartIsNotLogged: topics that cannot be looked at for a
// moment are not worth a warning each time.
func TestShortOutageAtTheStartIsNotLogged(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	fault := c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: c.in, Err: kerr.TopicAuthorizationFailed, Count: -1})
	m := c.start(handle(echo))
	c.await("attempts", func() bool { return fault.Hits() >= 3 })
	fault.Remove()
	c.await("the group", m.isReady)
	m.stop()
	if strings.Contains(m.log.String(), "checking topics") {
		t.Errorf("the log shows each attempt:\n%s", m.log)
	}
}
