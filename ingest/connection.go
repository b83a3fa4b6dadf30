package ingest

import (
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

// Names of the SASL mechanisms that Connection takes.
const (
	SASLPlain       = "plain"
	SASLSCRAMSHA256 = "scram-sha-256"
	SASLSCRAMSHA512 = "scram-sha-512"
)

const (
	clientID    = "wardcast"
	dialTimeout = 3 * time.Second
)

// Connection says how to reach a Kafka cluster. The zero value of all but
// Brokers is plain text without authentication.
type Connection struct {
	// Brokers are host:port addresses to begin with; the cluster names the others.
	Brokers []string
	TLS     TLS
	SASL    SASL
}

// TLS holds the settings of an encrypted connection.
type TLS struct {
	Enabled bool
	// CAFile is a PEM file of the authorities to trust; empty means the system's.
	CAFile string
	// CertFile and KeyFile are the client's own certificate, both or neither.
	CertFile string
	KeyFile  string
	// ServerName is the name in the brokers' certificate where it is not their host.
	ServerName string
}

// SASL holds the settings of authentication. An empty Mechanism is none.
type SASL struct {
	// Mechanism is plain, scram-sha-256 or scram-sha-512.
	Mechanism string
	User      string
	Password  Secret
}

// config returns nil where TLS is off.
func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		if t != (TLS{}) {
			return nil, errors.New("tls has files or a server name but is not enabled")
		}
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
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("tls wants cert_file and key_file, both or neither")
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

// mechanism returns nil where authentication is off.
func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		if s != (SASL{}) {
			return nil, errors.New("sasl has a user or a password but no mechanism")
		}
		return nil, nil
	case SASLPlain:
		return plain.Mechanism{Username: s.User, Password: string(s.Password)}, nil
	case SASLSCRAMSHA256:
		return scram.Mechanism(scram.SHA256, s.User, string(s.Password))
	case SASLSCRAMSHA512:
		return scram.Mechanism(scram.SHA512, s.User, string(s.Password))
	}
	return nil, fmt.Errorf("unknown sasl mechanism %q: want %s, %s or %s", s.Mechanism, SASLPlain, SASLSCRAMSHA256, SASLSCRAMSHA512)
}

// Dialer returns the dialer for kafka-go's readers and groups. It differs from
// the transport of a Client only in type.
func (c Connection) Dialer() (*kafka.Dialer, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("no broker addresses")
	}
	tlsConfig, err := c.TLS.config()
	if err != nil {
		return nil, err
	}
	mechanism, err := c.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	return &kafka.Dialer{ClientID: clientID, Timeout: dialTimeout, KeepAlive: 30 * time.Second, TLS: tlsConfig, SASLMechanism: mechanism}, nil
}

// Probe connects to the first broker that answers, with the handshakes of TLS
// and SASL. Its error names the broker and, where the symptom is known, the
// likely cause.
func (c Connection) Probe(ctx context.Context) error {
	d, err := c.Dialer()
	if err != nil {
		return err
	}
	var errs []error
	for _, broker := range c.Brokers {
		if err := c.probe(ctx, d, broker); err != nil {
			errs = append(errs, err)
			continue
		}
		return nil
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
	if err != nil {
		return &ProbeError{Broker: broker, Hint: c.hint(err), Err: err}
	}
	return nil
}

// hint names the likely cause of an error that does not tell it.
func (c Connection) hint(err error) string {
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &record):
		return "does the broker speak TLS on this port?"
	case !c.TLS.Enabled && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return "is TLS needed?"
	case c.SASL.Mechanism == "" && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return "is SASL needed?"
	case !c.TLS.Enabled && errors.As(err, &timeout) && timeout.Timeout():
		return "is the address right, is TLS needed?"
	}
	return ""
}

// ProbeError tells why a broker could not be talked to.
type ProbeError struct {
	Broker string
	Hint   string // likely cause, may be empty
	Err    error
}

func (e *ProbeError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("dialing broker %s: %v", e.Broker, e.Err)
	}
	return fmt.Sprintf("dialing broker %s: %v (%s)", e.Broker, e.Err, e.Hint)
}

func (e *ProbeError) Unwrap() error { return e.Err }

// hopeless reports whether trying again cannot help: the broker answered and
// refused the credentials, or certificates do not fit.
func hopeless(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &verification) || errors.As(err, &record) ||
		errors.Is(err, kafka.SASLAuthenticationFailed) || errors.Is(err, kafka.UnsupportedSASLMechanism)
}
