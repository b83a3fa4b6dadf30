package app_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models/storetest"
)

const (
	viewerToken   = "viewer-0123456789abcdef"
	operatorToken = "operator-0123456789abcdef"
)

// certify writes a certificate of this serial number for loopback, and returns who trusts it.
func (s *site) certify(serial int64) *x509.CertPool {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		s.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.Fatal(err)
	}
	files := s.config.HTTP.TLS
	write(s.T, files.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	write(s.T, files.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}

// tokens asks every caller for a token.
func (s *site) tokens() {
	s.Helper()
	s.config.HTTP.Tokens = []config.Token{
		{Name: "board", Role: config.Viewer, TokenFile: filepath.Join(s.dir, "v")},
		{Name: "j.doe", Role: config.Operator, TokenFile: filepath.Join(s.dir, "o")},
	}
	write(s.T, filepath.Join(s.dir, "v"), []byte(viewerToken+"\n"))
	write(s.T, filepath.Join(s.dir, "o"), []byte(operatorToken+"\n"))
}

// TestWeb drives the API of a scorer over TLS: a viewer watches the stream, an operator promotes, and both end with the
// process.
func TestWeb(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	s.config.HTTP.TLS = config.ServerTLS{CertFile: filepath.Join(s.dir, "c.pem"), KeyFile: filepath.Join(s.dir,
		"c.key")}
	s.tokens()
	transport := s.http.Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: s.certify(1)}
	s.config.Models.Poll = time.Hour // a promotion must not wait for it
	r := s.start().ready()

	request := func(token, what, body string) *http.Request {
		t.Helper()
		method, path, _ := strings.Cut(what, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+s.config.HTTP.Listen+path,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		return req
	}
	ask := func(token, what, body string) (status int, answer string, serial int64) {
		t.Helper()
		res, err := s.http.Do(request(token, what, body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data), res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	stream, err := s.http.Do(request(viewerToken, "GET /v1/predictions/stream", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	lines := bufio.NewScanner(stream.Body)
	c := s.stream()
	defer c.Close()
	c.send(append(notes(t, 0, 20), &kgo.Record{Value: []byte(secret)})...)
	c.answers(21)
	published := map[string]bool{}
	for _, p := range c.predictions {
		published[string(p.Value)] = true
	}
	for n := 0; n < 20 && lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if n++; !published[data] {
				t.Errorf("the event is not as published: %s", data)
			}
		}
	}

	g := storetest.Add(t, s.store, generation(t, 1)...)
	promote := "POST /v1/generations/" + g.Name + "/promote"
	if status, body, _ := ask(viewerToken, promote, `{"reason":"better"}`); status != http.StatusForbidden {
		t.Errorf("a viewer promotes: %d %s", status, body)
	}
	if status, body, _ := ask(operatorToken, promote, `{"reason":"better"}`); status != http.StatusOK {
		t.Errorf("an operator cannot promote: %d %s", status, body)
	}
	s.await("the promoted generation is in use", func() bool {
		_, body, _ := ask(viewerToken, "GET /v1/models", "")
		return strings.Contains(body, g.Name)
	})
	s.await("its topics are found", func() bool {
		_, body, _ := ask(viewerToken,
			"GET /v1/topics/search?q=pain&served=true&version="+g.Models[bundle.Other].Version, "")
		return strings.Contains(body, `"status":"champion"`)
	})
	if !strings.Contains(s.log.String(), `"msg":"audit","component":"http","who":"j.doe"`) {
		t.Error("the promotion is not in the audit log")
	}

	// A renewed certificate needs no restart.
	transport.CloseIdleConnections()
	renewed := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.certify(2)}}
	s.http.Transport = renewed
	defer renewed.CloseIdleConnections()
	if _, _, serial := ask(viewerToken, "GET /healthz", ""); serial != 2 {
		t.Error("the old certificate is still in use")
	}

	// So does a renewed token. One that is only half-written leaves the one before.
	const newToken = "renewed-0123456789abcdef"
	write(t, filepath.Join(s.dir, "v"), []byte(newToken[:9]))
	if status, _, _ := ask(viewerToken, "GET /v1/models", ""); status != http.StatusOK ||
		!strings.Contains(s.log.String(), "still using its previous contents") {
		t.Errorf("with half a token in the file, the one before is answered by %d", status)
	}
	write(t, filepath.Join(s.dir, "v"), []byte(newToken))
	if status, _, _ := ask(newToken, "GET /v1/models", ""); status != http.StatusOK {
		t.Errorf("a renewed token is answered by %d", status)
	}
	if status, _, _ := ask(viewerToken, "GET /v1/models", ""); status != http.StatusUnauthorized {
		t.Errorf("the token before is answered by %d", status)
	}

	began := time.Now()
	r.stop()
	if took := time.Since(began); took > httpPatience {
		t.Errorf("an open stream holds up the end for %v", took)
	}
	for lines.Scan() {
	}
	transport.CloseIdleConnections()
}

// httpPatience is how long a drain with an open stream may take.
const httpPatience = 5 * time.Second
