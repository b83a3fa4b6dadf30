package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

// HTTP says where the API, metrics and health are served, and to whom.
type HTTP struct {
	Listen    string    `yaml:"listen"` // host:port; "" is off
	TLS       ServerTLS `yaml:"tls"`
	Tokens    []Token   `yaml:"tokens"` // required of every caller, unless empty
	RateLimit RateLimit `yaml:"rate_limit"`
	// Connections bounds those that are open. Beyond it only health, readiness and metrics are answered.
	Connections int `yaml:"connections"`
	// TrustedProxies are the addresses, or networks such as 10.0.0.0/8, of proxies that say in X-Forwarded-For where a
	// request comes from.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// Label is the field of a note that tells those who wait apart, such as fields.location; "" for none. LabelRoles
	// see it, on the page Waiting and in GET /v1/waiting.
	Label      string   `yaml:"label"`
	LabelRoles []string `yaml:"label_roles"`
	Shifts     []string `yaml:"shifts"`    // when shifts change, such as 07:00: Beds offers windows that end then
	TimeZone   string   `yaml:"time_zone"` // of the pages; "" for Beds.TimeZone, from which it may not differ
}

// LabelField returns the name of the field that Label names, "" for none.
func (h *HTTP) LabelField() string { return strings.TrimPrefix(h.Label, labelPrefix) }

// labelPrefix begins a Label: the fields of a note that a site records.
const labelPrefix = msg.FieldsField + "."

// ServerTLS is the certificate of the address. Without files the address is not encrypted.
type ServerTLS struct {
	CertFile string `yaml:"cert_file" file:"certificate"` // PEM, with the intermediate certificates
	KeyFile  string `yaml:"key_file" file:"secret"`
}

// Token grants access to its holder.
type Token struct {
	Name      string `yaml:"name"`                     // of the holder, for the history and the audit log
	Role      string `yaml:"role"`                     // viewer (reads) or operator (promotes and rolls back too)
	TokenFile string `yaml:"token_file" file:"secret"` // a file that holds only the token
	TokenEnv  string `yaml:"token_env"`                // or the environment variable that holds it
}

// RateLimit bounds the requests of each token, and without one of each client address.
type RateLimit struct {
	// PerSecond is 0 for no limit, and nil for the default: none if only this machine reaches the address and there are
	// no tokens, otherwise 50.
	PerSecond *float64 `yaml:"per_second"`
	Burst     int      `yaml:"burst"` // requests at once; 0 is ten times as many as per second
}

// Limit returns the requests that are allowed per second, 0 for all, and at once.
func (h *HTTP) Limit() (perSecond float64, burst int) {
	if l := h.RateLimit.PerSecond; l != nil {
		perSecond = *l
	} else if len(h.Tokens) > 0 || !Loopback(h.Listen) {
		perSecond = 50
	}
	return perSecond, cmp.Or(h.RateLimit.Burst, int(math.Ceil(10*perSecond)))
}

// Proxies returns the networks of TrustedProxies.
func (h *HTTP) Proxies() (all []netip.Prefix, err error) {
	for _, text := range h.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			var at netip.Addr
			if at, err = netip.ParseAddr(text); err != nil {
				return nil, fmt.Errorf("%q is not an address or a network such as 10.0.0.0/8", text)
			}
			network = netip.PrefixFrom(at, at.BitLen())
		}
		all = append(all, network)
	}
	return all, nil
}

// The roles of tokens.
const (
	Viewer   = "viewer"
	Operator = "operator"
)

// minToken is the minimum length of a token: 128 random bits are 22 characters of base 64, or 32 hexadecimal digits.
const minToken = 22

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func (h *HTTP) check() []error {
	var bad faults
	_, _, err := net.SplitHostPort(h.Listen)
	bad.add(h.Listen != "" && err != nil, "http.listen", "%q is not host:port", h.Listen)
	bad.add((h.TLS.CertFile == "") != (h.TLS.KeyFile == ""), "http.tls", "needs both cert_file and key_file")
	l, burst := h.Limit()
	bad.add(!(l >= 0 && l < math.MaxInt32) || burst < 0, "http.rate_limit",
		"per_second and burst must not be negative, nor %d or more", math.MaxInt32)
	bad.add(h.Connections <= 0, "http.connections", "%d is not positive", h.Connections)
	_, err = h.Proxies()
	bad.add(err != nil, "http.trusted_proxies", "%v", err)
	field, named := strings.CutPrefix(h.Label, labelPrefix)
	bad.add(h.Label != "" && !(named && msg.SiteField(field)), "http.label",
		"%q is not a field of notes, for example fields.location", h.Label)
	for _, role := range h.LabelRoles {
		bad.add(role != Viewer && role != Operator, "http.label_roles", "%q is not one of viewer, operator", role)
	}
	for _, clock := range h.Shifts {
		_, err := time.Parse("15:04", clock)
		bad.add(err != nil, "http.shifts", "%q is not a time of day, for example 07:00", clock)
	}
	bad.add(!isZone(h.TimeZone), "http.time_zone", notZone, h.TimeZone)
	names := map[string]bool{}
	for i, t := range h.Tokens {
		key := fmt.Sprintf("http.tokens[%d]", i)
		named := tokenName.MatchString(t.Name)
		bad.add(!named, key+".name", "must be 1 to 64 letters, digits, dots, dashes, underscores and @: the login of "+
			"a person or the name of a program")
		bad.add(named && names[t.Name], key+".name", "%q is the name of another token", t.Name)
		names[t.Name] = true
		bad.add(t.Role != Viewer && t.Role != Operator, key+".role", "%q is not one of viewer, operator", t.Role)
		bad.add((t.TokenFile == "") == (t.TokenEnv == ""), key, "needs either token_file or token_env")
	}
	return bad
}

// Secrets reads the tokens, in the order of Tokens.
func (h *HTTP) Secrets() ([]string, error) {
	secrets := make([]string, len(h.Tokens))
	var errs []error
	owner := map[string]string{}
	for i, t := range h.Tokens {
		secret, err := h.Secret(i)
		if other, taken := owner[secret]; err == nil && taken {
			err = fmt.Errorf("http.tokens[%d]: %s and %s have the same token", i, t.Name, other)
		}
		secrets[i], owner[secret] = secret, t.Name
		errs = append(errs, err)
	}
	return secrets, errors.Join(errs...)
}

// Secret reads the token of Tokens[i].
func (h *HTTP) Secret(i int) (string, error) {
	t := h.Tokens[i]
	key, read, from := fmt.Sprintf("http.tokens[%d].token_file", i), secretFile, t.TokenFile
	if from == "" {
		key, read, from = fmt.Sprintf("http.tokens[%d].token_env", i), secretEnv, t.TokenEnv
	}
	secret, err := read(key, from)
	if err == nil && len(secret) < minToken {
		err = fmt.Errorf("%s: the token of %s is shorter than %d characters; make one with `openssl rand -hex 32`",
			key, t.Name, minToken)
	}
	return secret, err
}

// Loopback reports whether an address can be reached only from this machine.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
