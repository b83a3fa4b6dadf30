package fhir_test

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
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
)

// keyFile writes a private key and returns its file.
func keyFile(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key.pem")
	if err == nil {
		err = os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// assertion checks a JSON Web Token of a client and returns its algorithm.
func assertion(t *testing.T, token, audience string, public crypto.PublicKey) string {
	t.Helper()
	parts := strings.Split(token, ".")
	var head struct{ Alg, Typ, Kid string }
	var claims struct {
		Iss, Sub, Aud, Jti string
		Exp                int64
	}
	for i, to := range []any{&head, &claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(data, to) != nil {
			t.Errorf("part %d of the assertion: %q", i, parts[i])
		}
	}
	life := time.Until(time.Unix(claims.Exp, 0))
	if head.Typ != "JWT" || head.Kid != "k1" || claims.Iss != "us" || claims.Sub != "us" || claims.Aud != audience ||
		claims.Jti == "" || life <= 0 || life > 5*time.Minute {
		t.Errorf("assertion %+v %+v", head, claims)
	}
	digest := sha512.Sum384([]byte(parts[0] + "." + parts[1]))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	valid := err == nil
	switch key := public.(type) {
	case *rsa.PublicKey:
		valid = valid && rsa.VerifyPKCS1v15(key, crypto.SHA384, digest[:], signature) == nil
	case *ecdsa.PublicKey:
		valid = valid && len(signature) == 96 && ecdsa.Verify(key, digest[:], new(big.Int).SetBytes(signature[:48]),
			new(big.Int).SetBytes(signature[48:]))
	}
	if !valid {
		t.Error("the signature is not valid")
	}
	return head.Alg
}

// TestClient: SMART Backend Services. A token is used until shortly before its end, or until the server refuses it.
func TestClient(t *testing.T) {
	t.Parallel()
	onRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	onCurve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(onCurve)
	for algorithm, key := range map[string]struct {
		file   string
		public crypto.PublicKey
	}{
		"RS384": {keyFile(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(onRSA), nil), onRSA.Public()},
		"ES384": {keyFile(t, "PRIVATE KEY", pkcs8, err), onCurve.Public()},
	} {
		logins, status := 0, http.StatusOK
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/fhir/.well-known/smart-configuration":
				_, _ = w.Write([]byte(`{"token_endpoint":"` + server.URL + `/token"}`))
			case "/token":
				logins++
				if got := assertion(t, r.FormValue("client_assertion"), server.URL+"/token", key.public); got !=
					algorithm ||
					r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "system/*.read" {
					t.Errorf("%s: %s, %v", algorithm, got, r.Form)
				}
				_, _ = w.Write([]byte(`{"access_token":"t","expires_in":300}`))
			default:
				if r.Header.Get("Authorization") != "Bearer t" || r.Header.Get("Accept") != fhir.ContentType {
					t.Errorf("headers %v", r.Header)
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(r.URL.RequestURI()))
			}
		}))
		defer server.Close()
		c := &fhir.Client{Base: server.URL + "/fhir/", HTTP: server.Client(), Smart: fhir.Smart{
			ClientID: "us", Key: key.file, KeyID: "k1", Scope: "system/*.read",
		}}
		for range 2 {
			if got, err := c.Get(t.Context(), "Encounter/1"); err != nil || string(got) != "/fhir/Encounter/1" {
				t.Errorf("%s: %q, %v", algorithm, got, err)
			}
		}
		status = http.StatusUnauthorized
		if _, err := c.Get(t.Context(), "Encounter/1"); !errors.Is(err, fhir.StatusError(status)) || logins != 1 {
			t.Errorf("%s: %v after %d logins, want 401 after one", algorithm, err, logins)
		}
		if _, _ = c.Get(t.Context(), "Encounter/1"); logins != 2 {
			t.Errorf("%s: %d logins, want a second one after 401", algorithm, logins)
		}
	}
}

// TestClientErrors: they name no address.
func TestClientErrors(t *testing.T) {
	t.Parallel()
	onP256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(onP256)
	for want, key := range map[string]string{
		"no such file": "missing", "neither RSA nor ECDSA": keyFile(t, "EC PRIVATE KEY", der, err),
		"not PEM": "client_test.go", "asn1": keyFile(t, "PRIVATE KEY", []byte("x"), nil),
	} {
		c := &fhir.Client{Base: "http://127.0.0.1:1/fhir", HTTP: http.DefaultClient, Smart: fhir.Smart{
			ClientID: "us", Key: key, TokenURL: "http://127.0.0.1:1/token",
		}}
		if _, err := c.Get(t.Context(), "Encounter/Zz"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c := &fhir.Client{Base: "http://127.0.0.1:1/fhir", HTTP: http.DefaultClient}
	if _, err := c.Get(t.Context(), "Encounter/Zz"); err == nil || strings.Contains(err.Error(), "Zz") {
		t.Errorf("%v names an address", err)
	}
}

// TestLoginThatHangs: who gives up goes, also while another waits for a token.
func TestLoginThatHangs(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-answer
	}))
	defer server.Close()
	c := &fhir.Client{Base: server.URL, HTTP: server.Client(), Smart: fhir.Smart{ClientID: "us"}}
	done := make(chan struct{}, 2)
	ask := func(ctx context.Context) {
		if _, err := c.Get(ctx, "Patient/1"); err == nil {
			t.Error("it has no token")
		}
		done <- struct{}{}
	}
	go ask(t.Context())
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	go ask(gone)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the one before")
	}
	close(answer)
	<-done
}
