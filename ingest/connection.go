package ingest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Names of the SASL mechanisms that Connection accepts.
const (
	SASLPlain       = "plain"
	SASLSCRAMSHA256 = "scram-sha-256"
	SASLSCRAMSHA512 = "scram-sha-512"
)

const dialTimeout = 3 * time.Second

// Connection says how to reach a Kafka cluster. With only Brokers set, it is
// plain text without a login.
type Connection struct {
	// Brokers are host:port addresses to start from; the cluster names the others.
	Brokers []string
	TLS     TLS
	SASL    SASL
}

// TLS holds the settings of an encrypted connection. Files are PEM.
type TLS struct {
	Enabled bool `yaml:"enabled"`
	// CAFile holds the authorities to trust; if empty, the system's are trusted.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the client's own certificate: both or neither.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is the name in the brokers' certificates, if that is not their host.
	ServerName string `yaml:"server_name"`
}

// SASL holds the login. There is none if Mechanism is empty.
type SASL struct {
	// Mechanism is plain, scram-sha-256 or scram-sha-512.
	Mechanism string
	User      string
	Password  Secret
}

// Check returns all that is wrong with the settings, each error with the key first, as in "tls.key_file: ...". It reads no
// files and opens no connection.
func (c Connection) Check() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Brokers) == 0 {
		bad("brokers: no broker addresses; give some, such as 127.0.0.1:9092")
	}
	for _, b := range c.Brokers {
		if _, port, err := net.SplitHostPort(b); err != nil || port == "" {
			bad("brokers: %q is not host:port", b)
		}
	}
	if !c.TLS.Enabled && c.TLS != (TLS{}) {
		bad("tls.enabled: TLS is not enabled, but other keys of tls are set")
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		bad("tls: cert_file and key_file go together")
	}
	switch c.SASL.Mechanism {
	case "":
		if c.SASL != (SASL{}) {
			bad("sasl.mechanism: there is no mechanism, but other keys of sasl are set")
		}
	case SASLPlain, SASLSCRAMSHA256, SASLSCRAMSHA512:
	default:
		bad("sasl.mechanism: %q is unknown; use %s, %s or %s", c.SASL.Mechanism, SASLPlain, SASLSCRAMSHA256, SASLSCRAMSHA512)
	}
	return errs
}

// config returns nil if TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading certificate authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading certificate authorities: no certificate in %q", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

// mechanism returns nil if there is no login.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case SASLPlain:
		return plain.Mechanism{Username: s.User, Password: string(s.Password)}, nil
	case SASLSCRAMSHA256:
		return scram.Mechanism(scram.SHA256, s.User, string(s.Password))
	case SASLSCRAMSHA512:
		return scram.Mechanism(scram.SHA512, s.User, string(s.Password))
	}
	return nil, nil
}

// Dialer returns the dialer for kafka-go's readers and groups. It differs from
// the transport of a Client only in type.
func (c Connection) Dialer() (*kafka.Dialer, error) {
	tlsConfig, errTLS := c.TLS.config()
	mechanism, errSASL := c.SASL.mechanism()
	if err := cmp.Or(errors.Join(c.Check()...), errTLS, errSASL); err != nil {
		return nil, err
	}
	return &kafka.Dialer{ClientID: "wardcast", Timeout: dialTimeout, KeepAlive: 30 * time.Second, TLS: tlsConfig, SASLMechanism: mechanism}, nil
}

// Probe connects to the first broker that answers and logs in. Its error names the broker and, if known, the likely cause.
func (c Connection) Probe(ctx context.Context) error {
	d, err := c.Dialer()
	if err != nil {
		return err
	}
	var errs []error
	for _, broker := range c.Brokers {
		err := c.probe(ctx, d, broker)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c Connection) probe(ctx context.Context, d *kafka.Dialer, broker string) error {
	conn, err := d.DialContext(ctx, "tcp", broker)
	if err == nil {
		defer func() { _ = conn.Close() }()
		if err = conn.SetDeadline(time.Now().Add(2 * dialTimeout)); err == nil {
			_, err = conn.ApiVersions()
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("dialing broker %s: %w%s", broker, err, c.hint(err))
}

// hint names, in parentheses, the likely cause of an error that does not name it, or "".
func (c Connection) hint(err error) string {
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	timeout, ok := errors.AsType[net.Error](err)
	closed := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case notTLS:
		return " (does the broker speak TLS on this port?)"
	case !c.TLS.Enabled && closed:
		return " (is TLS needed?)"
	case c.SASL.Mechanism == "" && closed:
		return " (is SASL needed?)"
	case !c.TLS.Enabled && ok && timeout.Timeout():
		return " (is the address right, is TLS needed?)"
	}
	return ""
}

// hopeless reports whether trying again cannot help: the broker answered and
// refused the credentials, or certificates do not fit.
func hopeless(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return unverified || notTLS || errors.Is(err, kafka.SASLAuthenticationFailed) || errors.Is(err, kafka.UnsupportedSASLMechanism)
}
