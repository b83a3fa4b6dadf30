package fhir

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/wardcast/wardcast/internal/files"
)

// ContentType is that of resources.
const ContentType = "application/fhir+json"

// Smart is how a program without a user logs in: SMART Backend Services, private_key_jwt. The zero value does not log
// in.
type Smart struct {
	ClientID string
	Key      string // PEM file: RSA, which signs RS384, or ECDSA on P-384, which signs ES384
	KeyID    string // under which the server knows the public key
	TokenURL string // "" asks the server's .well-known/smart-configuration
	Scope    string
}

// Client asks a FHIR server. It is safe for concurrent use.
type Client struct {
	Base  string // URL
	HTTP  *http.Client
	Smart Smart

	logins singleflight.Group
	mu     sync.Mutex
	token  string
	until  time.Time
}

const (
	tokenLife   = 4 * time.Minute // of what is signed: at most 5
	tokenMargin = 30 * time.Second
	maxToken    = 64 << 10
)

// Do sends a request with a token. After an answer of 401 the next request has a new one.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", ContentType)
	}
	if c.Smart.ClientID != "" {
		token, err := c.login(r.Context())
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.HTTP.Do(r)
	if err != nil {
		return nil, without(err)
	}
	if res.StatusCode == http.StatusUnauthorized {
		c.mu.Lock()
		c.token = ""
		c.mu.Unlock()
	}
	return res, nil
}

// StatusError is an answer that is no success.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("the FHIR server answers %d", int(e)) }

// Get returns what is at a path of the server, at most MaxBundle bytes.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.Base, "/")+"/"+path, nil)
	if err != nil {
		return nil, without(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it is only read
	if res.StatusCode != http.StatusOK {
		return nil, StatusError(res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, MaxBundle+1))
	if len(data) > MaxBundle {
		return nil, ErrTooLarge
	}
	return data, err
}

// without returns an error without its URL, which may name a patient.
func without(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// login returns a token, a new one shortly before the last one ends. Those who ask at the same time share one login,
// for which none of them waits longer than it wants.
func (c *Client) login(ctx context.Context) (string, error) {
	c.mu.Lock()
	token, good := c.token, time.Now().Before(c.until)
	c.mu.Unlock()
	if token != "" && good {
		return token, nil
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-c.logins.DoChan("", func() (any, error) { return c.newToken(context.WithoutCancel(ctx)) }):
		token, _ = r.Val.(string)
		return token, r.Err
	}
}

func (c *Client) newToken(ctx context.Context) (string, error) {
	at := c.Smart.TokenURL
	if at == "" {
		var found struct {
			TokenEndpoint string `json:"token_endpoint"`
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			strings.TrimRight(c.Base, "/")+"/.well-known/smart-configuration", nil)
		if err == nil {
			err = c.exchange(r, &found)
		}
		if err != nil {
			return "", fmt.Errorf("asking for the token endpoint: %w", err)
		}
		at = found.TokenEndpoint
	}
	signed, err := c.Smart.sign(at, time.Now())
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "scope": {c.Smart.Scope},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion":      {signed},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("asking for a token: %w", without(err))
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var granted struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := c.exchange(r, &granted); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	if granted.AccessToken == "" {
		return "", errors.New("asking for a token: the answer has none")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = granted.AccessToken
	c.until = time.Now().Add(time.Duration(granted.ExpiresIn)*time.Second - tokenMargin)
	return c.token, nil
}

// exchange sends a request without a token and reads its answer.
func (c *Client) exchange(r *http.Request, to any) error {
	r.Header.Set("Accept", "application/json")
	res, err := c.HTTP.Do(r)
	if err != nil {
		return without(err)
	}
	defer func() { _ = res.Body.Close() }() // it is only read
	if res.StatusCode != http.StatusOK {
		return StatusError(res.StatusCode)
	}
	if json.NewDecoder(io.LimitReader(res.Body, maxToken)).Decode(to) != nil {
		return ErrNotJSON
	}
	return nil
}

// sign returns the assertion of a client for a token endpoint: a JSON Web Token.
func (s *Smart) sign(audience string, now time.Time) (string, error) {
	data, err := files.Read(s.Key, maxToken) // at each login, so that a renewed key needs no restart
	if err != nil {
		return "", fmt.Errorf("reading the key of SMART: %w", err)
	}
	key, algorithm, err := parseKey(data)
	if err != nil {
		return "", fmt.Errorf("reading the key of SMART: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	part := func(v any) string {
		data, _ := json.Marshal(v) // which cannot fail
		return encode(data)
	}
	text := part(map[string]string{"alg": algorithm, "typ": "JWT", "kid": s.KeyID}) + "." + part(map[string]any{
		"iss": s.ClientID, "sub": s.ClientID, "aud": audience, "jti": rand.Text(), "iat": now.Unix(),
		"exp": now.Add(tokenLife).Unix(),
	})
	digest := sha512.Sum384([]byte(text))
	var signature []byte
	switch key := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA384, digest[:])
	case *ecdsa.PrivateKey:
		r, t, e := ecdsa.Sign(rand.Reader, key, digest[:])
		const half = 48
		if signature, err = make([]byte, 2*half), e; err == nil {
			r.FillBytes(signature[:half])
			t.FillBytes(signature[half:])
		}
	}
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return text + "." + encode(signature), nil
}

// parseKey reads a private key and returns the name of the algorithm that it signs with.
func parseKey(data []byte) (key any, algorithm string, err error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, "", errors.New("it is not PEM")
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k, "RS384", err
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P384() {
			return k, "ES384", err
		}
	}
	if err == nil {
		err = errors.New("it is neither RSA nor ECDSA on P-384")
	}
	return nil, "", err
}
