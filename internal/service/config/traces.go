package config

import (
	"net"
	"net/url"
)

// Traces says which spans a collector of OpenTelemetry gets, and how.
type Traces struct {
	Endpoint string `yaml:"endpoint"` // base URL that takes OTLP over HTTP; "" makes no spans
	// Ratio is the share of those traces that begin here. A note that comes with a trace is sampled if its sender did.
	Ratio     float64 `yaml:"ratio"`
	TokenFile string  `yaml:"token_file" file:"secret"`   // a file that holds only the bearer token; "" sends none
	CAFile    string  `yaml:"ca_file" file:"certificate"` // PEM; "" trusts the system's
}

// check returns the errors of the section, each with its key.
func (t *Traces) check() []error {
	var bad faults
	u, err := url.Parse(t.Endpoint)
	password := err == nil && u.User != nil
	bad.add(password, "traces.endpoint", "holds a password: give a token in traces.token_file")
	bad.add(!password && !isURL(t.Endpoint), "traces.endpoint", notURL, t.Endpoint)
	bad.add(!(t.Ratio >= 0 && t.Ratio <= 1), "traces.ratio", "%v is not between 0 and 1", t.Ratio)
	bad.add(t.TokenFile != "" && err == nil && u.Scheme == "http" && !Loopback(net.JoinHostPort(u.Hostname(), "0")),
		"traces.token_file", "needs an endpoint of https: others could read the token")
	return bad
}
