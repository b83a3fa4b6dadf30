package ingest

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/wardcast/wardcast/internal/reload"
)

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
		load := func() (*x509.CertPool, error) { return readAuthorities(file) }
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

func readAuthorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the configuration names it
	if err != nil {
		return nil, fmt.Errorf("reading certificate authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading certificate authorities: no certificate in %q", file)
	}
	return pool, nil
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

// logins are the SASL mechanisms.
var logins = []struct {
	name string
	with func(user, password string) (sasl.Mechanism, error)
}{
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
	i := slices.Index(Mechanisms(), s.Mechanism) // Check has verified it
	return logins[i].with(s.User, password)
}
