package ingest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// login says how to log in with a password.
type login struct {
	name string
	with func(user, password string) (sasl.Mechanism, error)
}

var logins = []login{
	{"plain", func(user, password string) (sasl.Mechanism, error) {
		return plain.Mechanism{Username: user, Password: password}, nil
	}},
	{"scram-sha-256", func(user, password string) (sasl.Mechanism, error) {
		return scram.Mechanism(scram.SHA256, user, password)
	}},
	{"scram-sha-512", func(user, password string) (sasl.Mechanism, error) {
		return scram.Mechanism(scram.SHA512, user, password)
	}},
}

// Mechanisms returns the names of the SASL mechanisms.
func Mechanisms() (names []string) {
	for _, l := range logins {
		names = append(names, l.name)
	}
	return names
}

// Connection says how to reach a Kafka cluster. With only Brokers set, it is plain text without a login.
type Connection struct {
	// Brokers are host:port addresses to start from; the cluster names the others.
	Brokers []string
	TLS     TLS
	SASL    SASL
	// Logger takes what is wrong with files that have changed; nil is silent.
	Logger *slog.Logger
}

// TLS holds the settings of an encrypted connection. Files are PEM. Each new connection uses what they hold then; if
// that cannot be used, what they held before.
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
	// Mechanism is one of Mechanisms.
	Mechanism string
	User      string
	Password  Secret
	// PasswordFile holds only the password, in place of Password. Each login uses what it holds then.
	PasswordFile string
}

// Check returns all that is wrong with the settings, each error with the key first, as in "tls.key_file: ...". It reads
// no files and opens no connection.
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
	switch m := c.SASL.Mechanism; {
	case m == "" && c.SASL != (SASL{}):
		bad("sasl.mechanism: there is no mechanism, but other keys of sasl are set")
	case m != "" && !slices.Contains(Mechanisms(), m):
		bad("sasl.mechanism: %q is unknown; use one of %s", m, strings.Join(Mechanisms(), ", "))
	case c.SASL.Password != "" && c.SASL.PasswordFile != "":
		bad("sasl: password and password_file exclude each other")
	}
	return errs
}

// probe connects to the first broker that answers and logs in. Its error names the broker and, if known, the likely
// cause.
func (d *dialer) probe(ctx context.Context) error {
	var errs []error
	for _, broker := range d.conn.Brokers {
		err := d.probeBroker(ctx, broker)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (d *dialer) probeBroker(ctx context.Context, broker string) error {
	conn, err := d.kafka().DialContext(ctx, "tcp", broker)
	if err == nil {
		defer func() { _ = conn.Close() }()
		if err = conn.SetDeadline(time.Now().Add(2 * dialTimeout)); err == nil {
			_, err = conn.ApiVersions()
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("dialing broker %s: %w%s", broker, err, d.conn.hint(err))
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

// hopeless reports whether trying again cannot help: the broker answered and refused the credentials, or certificates
// do not fit.
func hopeless(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return unverified || notTLS || errors.Is(err, kafka.SASLAuthenticationFailed) || errors.Is(err, errLoginClosed) ||
		errors.Is(err, kafka.UnsupportedSASLMechanism)
}
