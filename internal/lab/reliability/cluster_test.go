package reliability_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// user is who the scorers log in as. The trial itself may do everything.
const (
	user     = "wardcast"
	password = "trial"
)

// The topics of the trials.
const (
	notesTopic = "triage.notes"
	answers    = "triage.predictions"
	letters    = "triage.notes.dlq"
	partitions = 12
)

// cluster is three real brokers with an authorizer. They have a listener with a login for the scorers, and one without
// for the trial and between themselves.
type cluster struct {
	*testing.T
	script string
	env    []string
	open   []string // addresses without a login
	login  []string // addresses with one
	admin  *kadm.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	base := freeBase(t)
	data := t.TempDir()
	c := &cluster{
		T: t, script: filepath.Join(os.Getenv("WARDCAST_SHARED"), "kafka", "kafka"),
		env: append(os.Environ(), "KAFKA_DATA="+data, "KAFKA_PORT="+strconv.Itoa(base)),
	}
	t.Cleanup(func() { c.broker("wipe") })
	c.broker("start", "3") // writes the settings
	c.broker("stop")
	for id := 1; id <= 3; id++ {
		open, login := fmt.Sprintf("127.0.0.1:%d", base+id-1), fmt.Sprintf("127.0.0.1:%d", base+loginOffset+id-1)
		c.open, c.login = append(c.open, open), append(c.login, login)
		f, err := os.OpenFile(filepath.Join(data, strconv.Itoa(id), "server.properties"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, `
listeners=PLAINTEXT://%[1]s,LOGIN://%[2]s,CONTROLLER://127.0.0.1:%[3]d
advertised.listeners=PLAINTEXT://%[1]s,LOGIN://%[2]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%[4]s="%[5]s";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`, open, login, base+100+id-1, user, password)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	c.broker("start", "3")
	client, err := kgo.NewClient(kgo.SeedBrokers(c.open...), kgo.MetadataMinAge(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	c.admin = kadm.NewClient(client)
	c.create(notesTopic, nil)
	c.create(answers, nil)
	compacted := "compact" // what a letter without a key could not be written to
	c.create(letters, map[string]*string{"cleanup.policy": &compacted})
	// What docs/deploy.md grants to serve, without its topics that these trials do not use.
	c.allow(kadm.NewACLs().Topics(notesTopic, "triage.outcomes",
		"triage.models").Groups("wardcast").Operations(kadm.OpRead, kadm.OpDescribe))
	c.allow(kadm.NewACLs().Topics(answers, letters).Operations(kadm.OpWrite, kadm.OpDescribe))
	return c
}

// loginOffset is from the port of a broker to the one with a login.
const loginOffset = 200

// freeBase returns a port that is free with those that three brokers take beside it.
func freeBase(t *testing.T) int {
	t.Helper()
search:
	for {
		_, port, err := net.SplitHostPort(ingesttest.FreeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		base, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		for _, offset := range []int{1, 2, 100, 101, 102, loginOffset, loginOffset + 1, loginOffset + 2} {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp",
				net.JoinHostPort("127.0.0.1", strconv.Itoa(base+offset)))
			if err != nil {
				continue search
			}
			_ = l.Close() // it only tried
		}
		return base
	}
}

// broker runs the script of the shared folder: start, stop, kill ID, up ID, wipe.
func (c *cluster) broker(args ...string) {
	c.Helper()
	var out []byte
	var err error
	for range 5 { // the script waits a minute for a broker that comes up, and on two busy cores it may take longer
		// wipe runs after the test's end
		cmd := exec.CommandContext(context.WithoutCancel(c.Context()), c.script, args...)
		cmd.Env = c.env
		if out, err = cmd.CombinedOutput(); err == nil || args[0] != "up" {
			break
		}
	}
	if err != nil {
		c.Fatalf("kafka %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (c *cluster) create(topic string, settings map[string]*string) {
	c.Helper()
	if _, err := c.admin.CreateTopic(c.Context(), partitions, 3, settings, topic); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) delete(topic string) {
	c.Helper()
	if _, err := c.admin.DeleteTopic(c.Context(), topic); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) allow(b *kadm.ACLBuilder) {
	c.Helper()
	c.change(b.Allow("User:" + user))
}

func (c *cluster) change(b *kadm.ACLBuilder) {
	c.Helper()
	results, err := c.admin.CreateACLs(c.Context(), b.ResourcePatternType(kadm.ACLPatternLiteral))
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// deny takes a permission on a topic away from the scorers, and returns how to give it back.
func (c *cluster) deny(topic string, op kadm.ACLOperation) (giveBack func()) {
	c.Helper()
	denied := kadm.NewACLs().Topics(topic).Deny("User:" +
		user).DenyHosts("*").Operations(op).ResourcePatternType(kadm.ACLPatternLiteral)
	c.change(denied)
	return func() {
		c.Helper()
		results, err := c.admin.DeleteACLs(c.Context(), denied)
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			c.Fatal(err)
		}
	}
}
