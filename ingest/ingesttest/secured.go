package ingesttest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// SecuredKafka is a real Apache Kafka of one broker with rules: TLS with certificates of both sides, SCRAM-SHA-512 and
// an authorizer that denies what no ACL allows.
type SecuredKafka struct {
	testing.TB
	Address  string // where users log in
	Internal string // another address, in plain text, where everybody may do everything
	Admin    *kadm.Client
	dir      string
	ca       *x509.Certificate
	key      *ecdsa.PrivateKey
}

// Secured starts a broker from the jars in the folder WARDCAST_KAFKA_JARS, or skips the test if that is not set.
// settings are lines of server.properties. The broker stops at the end of the test.
func Secured(t testing.TB, settings ...string) *SecuredKafka {
	t.Helper()
	jars := os.Getenv("WARDCAST_KAFKA_JARS")
	if jars == "" {
		t.Skip("WARDCAST_KAFKA_JARS is not set: no broker with rules")
	}
	k := &SecuredKafka{TB: t, Address: FreeAddress(t), Internal: FreeAddress(t), dir: t.TempDir()}
	k.authority()
	k.Certify("broker")
	controller := FreeAddress(t)
	properties := append([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + controller,
		"controller.listener.names=CONTROLLER",
		"inter.broker.listener.name=INTERNAL",
		"listeners=CLIENT://" + k.Address + ",INTERNAL://" + k.Internal + ",CONTROLLER://" + controller,
		"advertised.listeners=CLIENT://" + k.Address + ",INTERNAL://" + k.Internal,
		"listener.security.protocol.map=CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs=" + filepath.Join(k.dir, "log"),
		"num.partitions=4",
		"auto.create.topics.enable=false",
		"offsets.topic.num.partitions=4",
		"offsets.topic.replication.factor=1",
		"group.initial.rebalance.delay.ms=0",
		"sasl.enabled.mechanisms=SCRAM-SHA-512",
		"listener.name.client.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule " +
			"required;",
		"listener.name.client.ssl.client.auth=required",
		"ssl.keystore.type=PEM",
		"ssl.keystore.location=" + k.File("broker"),
		"ssl.truststore.type=PEM",
		"ssl.truststore.location=" + k.File("ca"),
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS",
	}, settings...)
	file := filepath.Join(k.dir, "server.properties")
	k.write(file, strings.Join(properties, "\n"))
	k.Tool("kafka.tools.StorageTool", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", file)

	var said Log
	broker := k.java("kafka.Kafka", file)
	broker.Stdout, broker.Stderr = &said, &said
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = broker.Process.Kill()
		_ = broker.Wait()
		if t.Failed() {
			t.Logf("log of the broker:\n%s", said.String())
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(k.Internal))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	k.Admin = kadm.NewClient(client)
	Await(t, "the broker, and the topic of its groups", func() bool {
		return k.Admin.FindGroupCoordinators(t.Context(), "none").Ok()
	})
	return k
}

func (k *SecuredKafka) java(class string, args ...string) *exec.Cmd {
	jars := filepath.Join(os.Getenv("WARDCAST_KAFKA_JARS"), "*")
	//nolint:gosec,noctx // a test's own words, and the broker outlives the test's context
	return exec.Command("java",
		append([]string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars, class}, args...)...)
}

// Tool runs a command of Kafka, such as org.apache.kafka.tools.AclCommand.
func (k *SecuredKafka) Tool(class string, args ...string) {
	k.Helper()
	if out, err := k.java(class, args...).CombinedOutput(); err != nil {
		k.Fatalf("%s %q: %v\n%s", class, args, err, out)
	}
}

// User sets the password of a user.
func (k *SecuredKafka) User(name, password string) {
	k.Helper()
	scrams, err := k.Admin.AlterUserSCRAMs(k.Context(), nil,
		[]kadm.UpsertSCRAM{{User: name, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password}})
	if err == nil {
		err = scrams.Error()
	}
	if err != nil {
		k.Fatal(err)
	}
}

// Allow gives a user permissions.
func (k *SecuredKafka) Allow(user string, operations ...Permission) {
	k.Helper()
	for _, p := range operations {
		results, err := k.Admin.CreateACLs(k.Context(), p.builder().Allow("User:"+user).AllowHosts())
		if err == nil {
			err = results[0].Err
		}
		if err != nil {
			k.Fatal(err)
		}
	}
}

// Deny revokes permissions that Allow gave.
func (k *SecuredKafka) Deny(user string, operations ...Permission) {
	k.Helper()
	for _, p := range operations {
		results, err := k.Admin.DeleteACLs(k.Context(), p.builder().Allow("User:"+user).AllowHosts())
		if err == nil && len(results[0].Deleted) != 1 {
			err = fmt.Errorf("%d permissions deleted, want 1", len(results[0].Deleted))
		}
		if err != nil {
			k.Fatalf("%+v: %v", p, err)
		}
	}
}

// Permission is an operation on a KafkaTopic or, if that is empty, on a consumer group.
type Permission struct {
	Operation    kadm.ACLOperation
	Topic, Group string
}

func (p Permission) builder() *kadm.ACLBuilder {
	b := kadm.NewACLs().Operations(p.Operation).ResourcePatternType(kadm.ACLPatternLiteral)
	if p.Topic != "" {
		return b.Topics(p.Topic)
	}
	return b.Groups(p.Group)
}

// File returns the PEM file of a certificate and its key, or of the authority "ca".
func (k *SecuredKafka) File(name string) string { return filepath.Join(k.dir, name+".pem") }

// Certify writes a new certificate and its key to the file of that name.
func (k *SecuredKafka) Certify(name string) {
	k.Helper()
	der, key := k.sign(name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		k.Fatal(err)
	}
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: "PRIVATE KEY", Bytes: secret}) // a buffer takes all
	_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	k.write(k.File(name), b.String())
}

func (k *SecuredKafka) authority() {
	k.Helper()
	der, _ := k.sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true})
	var err error
	if k.ca, err = x509.ParseCertificate(der); err != nil {
		k.Fatal(err)
	}
	k.write(k.File("ca"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// sign returns a certificate and its key, signed by the authority; the first one, which signs itself, becomes it.
func (k *SecuredKafka) sign(name string, c *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	k.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		k.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	c.NotAfter = time.Now().Add(24 * time.Hour)
	if k.ca == nil {
		k.ca, k.key = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, k.ca, &key.PublicKey, k.key)
	if err != nil {
		k.Fatal(err)
	}
	return der, key
}

func (k *SecuredKafka) write(name, text string) {
	k.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		k.Fatal(err)
	}
}
