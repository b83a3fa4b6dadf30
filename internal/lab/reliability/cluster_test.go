//go:build linux

package reliability_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// user is who the program logs in as. The trial itself may do everything.
const (
	user     = "wardcast"
	password = "trial"
)

// The topics of the trials.
const (
	notesTopic    = "triage.notes"
	outcomesTopic = "triage.outcomes"
	answers       = "triage.predictions"
	letters       = "triage.notes.dlq"
	partitions    = 12
)

// cluster is three real brokers with an authorizer, each on a host with a disk of its own. They have a listener with a
// login for the program, and one without for the trial and between themselves.
type cluster struct {
	*testing.T
	brokers []*broker
	open    []string // addresses without a login
	login   []string // addresses with one
	admin   *kadm.Client
}

// The ports of a broker, and how large its disk is: an hour of notes fits.
const (
	openPort, loginPort, controllerPort = 9092, 9093, 9094

	diskMegabytes = 6000
)

func startCluster(t *testing.T) *cluster {
	t.Helper()
	script := filepath.Join(os.Getenv("WARDCAST_SHARED"), "kafka", "kafka")
	if out, err := exec.CommandContext(t.Context(), script, "install").CombinedOutput(); err != nil {
		t.Fatalf("kafka install: %v\n%s", err, out)
	}
	c := &cluster{T: t}
	dir := t.TempDir()
	var voters []string
	for id := 1; id <= 3; id++ {
		b := &broker{host: newHost(t, fmt.Sprintf("broker%d", id), id), id: id}
		b.disk = newDisk(t, filepath.Join(dir, b.name), diskMegabytes)
		b.settings = filepath.Join(dir, b.name+".properties")
		c.brokers, c.open, c.login = append(c.brokers, b), append(c.open, b.at(openPort)), append(c.login,
			b.at(loginPort))
		voters = append(voters, fmt.Sprintf("%d@%s", id, b.at(controllerPort)))
	}
	var all errgroup.Group
	for _, b := range c.brokers {
		text := fmt.Sprintf(`process.roles=broker,controller
node.id=%[1]d
controller.quorum.voters=%[2]s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%[3]s,LOGIN://%[4]s,CONTROLLER://%[5]s
advertised.listeners=PLAINTEXT://%[3]s,LOGIN://%[4]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%[6]s="%[7]s";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs=%[8]s
auto.create.topics.enable=false
default.replication.factor=3
min.insync.replicas=2
offsets.topic.num.partitions=8
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
group.initial.rebalance.delay.ms=0
`, b.id, strings.Join(voters, ","), b.at(openPort), b.at(loginPort), b.at(controllerPort), user, password,
			filepath.Join(b.disk.folder, "log"))
		if err := os.WriteFile(b.settings, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all.Go(func() error {
			out, err := b.java("kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c",
				b.settings).CombinedOutput()
			if err != nil {
				return fmt.Errorf("formatting: %w\n%s", err, out)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, b := range c.brokers {
		b.start()
	}
	for _, b := range c.brokers {
		b.answers()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.open...), kgo.MetadataMinAge(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c.admin = kadm.NewClient(client)
	c.create(notesTopic, partitions, nil)
	c.create(answers, partitions, nil)
	c.create(outcomesTopic, partitions, nil)
	compacted := "compact" // what a letter without a key could not be written to
	c.create(letters, partitions, map[string]*string{"cleanup.policy": &compacted})
	for _, topic := range []string{"triage.models", "triage.bed-demand"} {
		c.create(topic, 1, map[string]*string{"cleanup.policy": &compacted})
	}
	for _, topic := range []string{"triage.bridge.dlq", "triage.bridge.raw"} {
		c.create(topic, 1, nil)
	}
	// Least permissions are tried elsewhere.
	c.change(kadm.NewACLs().Topics("triage.").Groups("wardcast").Allow("User:"+user).Operations(kadm.OpAll).
		ResourcePatternType(kadm.ACLPatternPrefixed), nil)
	return c
}

// broker is a real broker.
type broker struct {
	*host
	id       int
	disk     *disk
	settings string

	process *exec.Cmd
	ended   chan struct{}
	said    ingesttest.Log
}

func (b *broker) at(port int) string { return net.JoinHostPort(b.address, fmt.Sprint(port)) }

func (b *broker) java(args ...string) *exec.Cmd {
	libs := os.Getenv("KAFKA_LIBS")
	if libs == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			b.Fatal(err)
		}
		libs = filepath.Join(home, ".cache", "kafka-libs")
	}
	return b.command(append([]string{
		"java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=4",
		"-Dlog4j2.configurationFile=" + filepath.Join(os.Getenv("WARDCAST_SHARED"), "kafka", "log4j2.yaml"), "-cp",
		filepath.Join(libs, "*"),
	}, args...)...)
}

// start starts the process.
func (b *broker) start() {
	b.Helper()
	cmd, ended := b.java("kafka.Kafka", b.settings), make(chan struct{})
	cmd.Stdout, cmd.Stderr = &b.said, &b.said
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	b.process, b.ended = cmd, ended
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
}

// answers waits until the broker takes connections.
func (b *broker) answers() {
	b.Helper()
	await(b.T, "broker "+b.name, func() bool {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(b.Context(), "tcp", b.at(openPort))
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

func (b *broker) kill() {
	b.signal(syscall.SIGKILL)
	<-b.ended
}

func (b *broker) up() {
	b.Helper()
	b.start()
	b.answers()
}

func (b *broker) signal(s syscall.Signal) { _ = b.process.Process.Signal(s) } // it may have ended

// await is ingesttest.Await for what may take minutes on a busy machine.
func await(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !f(); pause(t, 100*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within 5 minutes", what)
		}
	}
}

// leader returns the broker that leads a partition of the notes.
func (c *cluster) leader(partition int32) *broker {
	c.Helper()
	topics, err := c.admin.ListTopics(c.Context(), notesTopic)
	if err != nil {
		c.Fatal(err)
	}
	i := slices.IndexFunc(c.brokers,
		func(b *broker) bool { return int32(b.id) == topics[notesTopic].Partitions[partition].Leader })
	return c.brokers[max(0, i)]
}

func (c *cluster) create(topic string, partitions int32, settings map[string]*string) {
	c.Helper()
	await(c.T, "topic "+topic, func() bool { // brokers that have just started may not be enough yet
		_, err := c.admin.CreateTopic(c.Context(), partitions, 3, settings, topic)
		return err == nil
	})
}

func (c *cluster) delete(topic string) {
	c.Helper()
	if _, err := c.admin.DeleteTopic(c.Context(), topic); err != nil {
		c.Fatal(err)
	}
}

// change adds a rule, or removes the one that is given.
func (c *cluster) change(add, remove *kadm.ACLBuilder) {
	c.Helper()
	await(c.T, "change of a permission", func() bool {
		ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
		defer cancel()
		var err error
		if add != nil {
			results, failed := c.admin.CreateACLs(ctx, add)
			err = failed
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
		} else {
			results, failed := c.admin.DeleteACLs(ctx, remove)
			err = failed
			for _, r := range results {
				err = errors.Join(err, r.Err)
			}
		}
		return err == nil
	})
}

// deny takes a permission on a topic away from the program, and returns how to give it back, once.
func (c *cluster) deny(topic string, op kadm.ACLOperation) (giveBack func()) {
	c.Helper()
	denied := kadm.NewACLs().Topics(topic).Deny("User:" +
		user).DenyHosts("*").Operations(op).ResourcePatternType(kadm.ACLPatternLiteral)
	c.change(denied, nil)
	var once sync.Once
	return func() { c.Helper(); once.Do(func() { c.change(nil, denied) }) }
}
