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
)

// Connection says how to reach a Kafka cluster. With only Brokers set, it is plain text without a login.
type Connection struct {
	Brokers []string // host:port addresses to start from; the cluster names the others
	TLS     TLS
	SASL    SASL
	Logger  *slog.Logger // for problems with changed files; nil is silent
}

// TLS holds the settings of an encrypted connection. Files are PEM and are read for each new connection; while one is
// invalid, its previous contents are used.
type TLS struct {
	Enabled bool   `yaml:"enabled"`
	CAFile  string `yaml:"ca_file"` // authorities to trust; if empty, the system's
	// CertFile and KeyFile are the client's own certificate: both or neither.
	CertFile   string `yaml:"cert_file"`
	KeyFile    string `yaml:"key_file"`
	ServerName string `yaml:"server_name"` // name in the brokers' certificates, if that is not their host
}

// SASL holds the login; none if Mechanism is empty.
type SASL struct {
	Mechanism string // one of Mechanisms
	User      string
	Password  Secret
	// PasswordFile holds only the password, in place of Password. It is read for each login.
	PasswordFile string
}

// Check returns all errors in the settings, each with its key first, as in "tls.key_file: ...". It opens no file or
// connection.
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
		bad("tls: cert_file and key_file must be set together")
	}
	switch m := c.SASL.Mechanism; {
	case m == "" && c.SASL != (SASL{}):
		bad("sasl.mechanism: is empty, but other keys of sasl are set")
	case m != "" && !slices.Contains(Mechanisms(), m):
		bad("sasl.mechanism: %q is unknown; use one of %s", m, strings.Join(Mechanisms(), ", "))
	case c.SASL.Password != "" && c.SASL.PasswordFile != "":
		bad("sasl: password and password_file exclude each other")
	}
	return errs
}

// probe logs in to the first broker that answers. Its error names the broker and the likely cause, if known.
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

// hint returns the likely cause of an error that does not name it, in parentheses, or "".
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

// hopeless reports whether retrying is no use: credentials were refused, or certificates are invalid.
func hopeless(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	return unverified || notTLS || errors.Is(err, kafka.SASLAuthenticationFailed) || errors.Is(err, errLoginClosed) ||
		errors.Is(err, kafka.UnsupportedSASLMechanism)
}

// Secret is a password. Printed, logged or marshalled it is "<secret>"; string(s) is the password itself.
type Secret string

// String returns "<secret>", or "" for an empty password.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "<secret>"
}

// GoString keeps %#v from printing the password.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps encoders and slog from writing the password.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
