package process_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/bridge/process"
	"github.com/wardcast/wardcast/internal/service/config"
)

// certify writes a self-signed certificate for loopback with its key, and returns their files.
func certify(t *testing.T) (certificate, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind string, data []byte) string {
		name := filepath.Join(t.TempDir(), strings.ReplaceAll(kind, " ", "-")+".pem")
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return write("CERTIFICATE", der), write("PRIVATE KEY", private)
}

// client returns a client's settings, with a certificate unless it is "".
func client(t *testing.T, authority, certificate, key string) *tls.Config {
	t.Helper()
	data, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	c.RootCAs.AppendCertsFromPEM(data)
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// The certificates of both sides, and a change of the server's while it runs.
func TestTLS(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	own, ownKey := certify(t)
	theirs, theirKey := certify(t)
	h.config.Bridge.MLLP.TLS = config.BridgeTLS{Certificate: own, Key: ownKey, ClientCA: theirs}
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	send := func(c *tls.Config, control string) (hl7.Code, error) {
		sender := mllp.Client{Address: h.config.Bridge.MLLP.Listen, TLS: c, Timeout: 20 * time.Second}
		defer sender.Close()
		return sender.Send(t.Context(), []byte(adt("A04", control, "V1", text+fall)), control)
	}
	if code, err := send(client(t, own, theirs, theirKey), "1"); code != hl7.Accepted || err != nil {
		t.Errorf("answered %s, %v", code, err)
	}
	if code, err := send(client(t, own, "", ""), "2"); err == nil {
		t.Errorf("a client without a certificate is answered %s", code)
	}
	if code, err := send(client(t, own, own, ownKey), "3"); err == nil {
		t.Errorf("a client of another authority is answered %s", code)
	}
	if code, err := send(nil, "4"); err == nil {
		t.Errorf("a client without TLS is answered %s", code)
	}
	ingesttest.Await(t, "the fault of a handshake in the log", func() bool {
		return strings.Contains(h.log.String(), `"TLS handshakes of senders failed"`) &&
			strings.Contains(h.log.String(), "tls: ")
	})
	next, nextKey := certify(t)
	for from, to := range map[string]string{next: own, nextKey: ownKey} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, append(data, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, err := send(client(t, next, theirs, theirKey), "5"); code != hl7.Accepted || err != nil {
		t.Errorf("with a new certificate: %s, %v", code, err)
	}
}

func TestAnswersTLS(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	certificate, key := certify(t)
	f := func(want string, c config.AnswersTLS) {
		t.Helper()
		h.config.Bridge.Answers = config.Answers{MLLP: "10.0.0.1:2576", TLS: c, Version: "R4", Scale: "percent"}
		err := process.Run(t.Context(), process.Options{
			Config: &h.config, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
			EmbeddedBroker: h.dir, CreateTopics: true,
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	f("no certificate in", config.AnswersTLS{Enabled: true, CA: key})
	f("bridge.answers.tls",
		config.AnswersTLS{Enabled: true, CA: certificate, Certificate: certificate, Key: certificate})
}
