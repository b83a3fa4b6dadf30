package ingest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/wardcast/wardcast/ingest"
)

const password = "zzpassword"

// certificate makes a self-signed certificate for 127.0.0.1 and the file of it.
func certificate(t *testing.T) (*tls.Config, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, file
}

// TestSecuredCluster answers a stream over TLS with each SASL mechanism.
func TestSecuredCluster(t *testing.T) {
	t.Parallel()
	for _, mechanism := range ingest.Mechanisms() {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			server, ca := certificate(t)
			fake, err := kfake.NewCluster(
				kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}),
				kfake.GroupMinSessionTimeout(100*time.Millisecond),
				kfake.TLS(server), kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "user", password))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(fake.Close)
			conn := ingest.Connection{
				Brokers: fake.ListenAddrs(), TLS: ingest.TLS{Enabled: true, CAFile: ca},
				SASL: ingest.SASL{Mechanism: mechanism, Username: "user", Password: password},
			}
			c := attach(t, conn, fake)
			// What the harness reads with speaks plain text: metrics must do.
			m := c.start(handle(echo))
			c.send(numbered(0, 100)...)
			c.await("answers", func() bool { return m.metric("records_total", "answered") == 100 })
			m.stop()

			wrong := conn
			wrong.SASL.Password = "other"
			m = c.start(handle(echo), func(cfg *ingest.Config) { cfg.Connection = wrong })
			select {
			case <-m.done:
			case <-time.After(time.Minute):
				t.Fatal("Run goes on with a wrong password")
			}
			if m.err == nil || !strings.Contains(m.err.Error(), "dialing broker "+conn.Brokers[0]) ||
				strings.Contains(m.err.Error(), "other") {
				t.Errorf("Run with a wrong password returns %v, want an error that names the broker", m.err)
			}
		})
	}
}

func TestProbeNamesTheLikelyCause(t *testing.T) {
	t.Parallel()
	server, ca := certificate(t)
	_, otherCA := certificate(t)
	plain := newFake(t).conn.Brokers
	encrypted, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(encrypted.Close)
	secured, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(secured.Close)
	for name, test := range map[string]struct {
		conn ingest.Connection
		want string // in the error; "" for none
	}{
		"plain":         {ingest.Connection{Brokers: plain}, ""},
		"second broker": {ingest.Connection{Brokers: append([]string{"127.0.0.1:1"}, plain...)}, ""},
		"refused":       {ingest.Connection{Brokers: []string{"127.0.0.1:1"}}, "dialing broker 127.0.0.1:1: "},
		"plain to TLS":  {ingest.Connection{Brokers: encrypted.ListenAddrs()}, "is TLS needed?"},
		"TLS to plain": {
			ingest.Connection{Brokers: plain, TLS: ingest.TLS{Enabled: true, CAFile: ca}}, "dialing broker",
		},
		"unknown authority": {
			ingest.Connection{Brokers: encrypted.ListenAddrs(), TLS: ingest.TLS{Enabled: true, CAFile: otherCA}},
			"certificate",
		},
		"wrong name": {ingest.Connection{
			Brokers: encrypted.ListenAddrs(), TLS: ingest.TLS{Enabled: true, CAFile: ca, ServerName: "kafka.example"},
		}, "certificate"},
		"TLS": {
			ingest.Connection{Brokers: encrypted.ListenAddrs(), TLS: ingest.TLS{Enabled: true, CAFile: ca}}, "",
		},
		"no such file": {
			ingest.Connection{Brokers: plain, TLS: ingest.TLS{Enabled: true, CAFile: "no-such-file"}}, "no-such-file",
		},
		"half a certificate": {
			ingest.Connection{Brokers: plain, TLS: ingest.TLS{Enabled: true, CertFile: ca}}, "key_file",
		},
		"TLS forgotten": {ingest.Connection{Brokers: plain, TLS: ingest.TLS{CAFile: ca}}, "not enabled"},
		"mechanism":     {ingest.Connection{Brokers: plain, SASL: ingest.SASL{Mechanism: "gssapi"}}, "gssapi"},
		"mechanism forgotten": {
			ingest.Connection{Brokers: plain, SASL: ingest.SASL{Username: "u", Password: password}}, "is empty",
		},
		"SASL without need": {
			ingest.Connection{Brokers: plain, SASL: ingest.SASL{Mechanism: "plain", Username: "u", Password: password}},
			"dialing broker",
		},
		"no brokers": {ingest.Connection{}, "no broker"},
		"wrong SASL mechanism": {ingest.Connection{Brokers: secured.ListenAddrs(), SASL: ingest.SASL{
			Mechanism: "scram-sha-512", Username: "admin", Password: password,
		}}, "dialing broker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.conn.Probe(t.Context())
			if test.want == "" && err != nil || test.want != "" &&
				(err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Probe returns %v, want an error with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Error("the password is in the error")
			}
		})
	}
}

func TestSecretIsNotShown(t *testing.T) {
	t.Parallel()
	s := ingest.SASL{Mechanism: "plain", Username: "u", Password: password}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "password", s.Password, "sasl", s)
	for _, text := range []string{string(b), log.String(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s,
		s.Password, s.Password)} {
		if strings.Contains(text, password) || !strings.Contains(text, "secret") {
			t.Errorf("shown as %s", text)
		}
	}
	if ingest.Secret("").String() != "" || string(s.Password) != password {
		t.Error("an empty secret shows, or a secret is changed")
	}
}
