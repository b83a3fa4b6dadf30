package ingest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/wardcast/wardcast/internal/reload"
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
	CAFile  string `yaml:"ca_file" file:"certificate"` // authorities to trust; if empty, the system's
	// CertFile and KeyFile are the client's own certificate: both or neither.
	CertFile   string `yaml:"cert_file" file:"certificate"`
	KeyFile    string `yaml:"key_file" file:"secret"`
	ServerName string `yaml:"server_name"` // name in the brokers' certificates, if that is not their host
}

// SASL holds the login; none if Mechanism is empty.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // one of Mechanisms
	Username  string `yaml:"username"`
	Password  Secret `yaml:"-"`
	// PasswordFile holds only the password, in place of Password. It is read for each login.
	PasswordFile string `yaml:"password_file" file:"secret"`
	PasswordEnv  string `yaml:"password_env"` // the variable that whoever reads the settings copies to Password
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

const (
	clientID = "wardcast"

	dialTimeout      = 3 * time.Second
	handshakeTimeout = 5 * time.Second // of TLS, and of a login
)

// dialer opens connections as a Connection says, encrypted and logged in with the current contents of the files.
type dialer struct {
	conn        Connection
	authorities *reload.Value[*x509.CertPool]   // nil for the system's
	certificate *reload.Value[*tls.Certificate] // nil for none
	password    *reload.Value[string]           // nil without a file
}

// newDialer checks the settings and reads the files.
func newDialer(c Connection) (*dialer, error) {
	if err := errors.Join(c.Check()...); err != nil {
		return nil, err
	}
	d := &dialer{conn: c}
	var err error
	if file := c.TLS.CAFile; file != "" {
		load := func() (*x509.CertPool, error) {
			pool, err := reload.Authorities(file)
			if err != nil {
				return nil, fmt.Errorf("reading certificate authorities: %w", err)
			}
			return pool, nil
		}
		if d.authorities, err = reload.New(load, c.stale("tls.ca_file"), file); err != nil {
			return nil, err
		}
	}
	if cert, key := c.TLS.CertFile, c.TLS.KeyFile; cert != "" {
		if d.certificate, err = reload.Pair(cert, key, c.stale("tls.cert_file")); err != nil {
			return nil, fmt.Errorf("reading client certificate: %w", err)
		}
	}
	if file := c.SASL.PasswordFile; file != "" {
		load := func() (string, error) { return reload.Secret(file) }
		if d.password, err = reload.New(load, c.stale("sasl.password_file"), file); err != nil {
			return nil, fmt.Errorf("reading kafka.sasl.password_file: %w", err)
		}
	}
	return d, nil
}

// stale returns a function that logs that the file of a key cannot be read.
func (c Connection) stale(key string) func(error) {
	if c.Logger == nil {
		return nil
	}
	return func(err error) {
		c.Logger.Warn("cannot read the file; still using its previous contents", "key", "kafka."+key, "err", err)
	}
}

// kafka returns the dialer for kafka-go's groups.
func (d *dialer) kafka() *kafka.Dialer {
	return &kafka.Dialer{ClientID: clientID, Timeout: 2 * dialTimeout, DialFunc: d.dial}
}

// dial opens a connection that is ready for requests.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured, err := d.secure(ctx, conn, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// secure encrypts a connection and logs in, if configured.
func (d *dialer) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if d.conn.TLS.Enabled {
		config, err := d.tls(address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
		defer cancel()
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = encrypted
	}
	if d.conn.SASL.Mechanism == "" {
		return conn, nil
	}
	return newSession(ctx, conn, d.mechanism)
}

// tls returns the settings of a connection to address.
func (d *dialer) tls(address string) (_ *tls.Config, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(d.conn.TLS.ServerName, host)}
	if d.authorities != nil {
		if c.RootCAs, err = d.authorities.Get(); err != nil {
			return nil, err
		}
	}
	if d.certificate != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return d.certificate.Get()
		}
	}
	return c, nil
}

// hashes are those of SCRAM, by the name of the mechanism.
var hashes = map[string]scram.Algorithm{"scram-sha-256": scram.SHA256, "scram-sha-512": scram.SHA512}

// Mechanisms returns the names of the SASL mechanisms.
func Mechanisms() []string { return append([]string{"plain"}, slices.Sorted(maps.Keys(hashes))...) }

// mechanism returns how to log in with the current password.
func (d *dialer) mechanism() (sasl.Mechanism, error) {
	s := d.conn.SASL
	password := string(s.Password)
	if d.password != nil {
		var err error
		if password, err = d.password.Get(); err != nil {
			return nil, err
		}
	}
	if hash := hashes[s.Mechanism]; hash != nil {
		return scram.Mechanism(hash, s.Username, password)
	}
	return plain.Mechanism{Username: s.Username, Password: password}, nil // Check knows no other
}
