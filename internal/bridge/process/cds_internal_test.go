package process

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/wardcast/wardcast/internal/service/config"
)

// TestCDSClients: where clients are configured, a call needs a token that one of them has signed for this service.
func TestCDSClients(t *testing.T) {
	t.Parallel()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	set := func(id string, k *ecdsa.PrivateKey) []byte {
		data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: id}}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	filed, served, foreign := key(), key(), key()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, set("1", filed), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(set("2", served))
	}))
	t.Cleanup(server.Close)
	const address = "https://wardcast.example/cds-services/wardcast"
	p := halted(t, func(c *config.Bridge) {
		c.FHIR.CDS = config.CDS{Address: address, Clients: map[string]string{
			"https://file.example": file, "https://url.example": server.URL,
		}}
	})
	t.Cleanup(p.fhir.client.CloseIdleConnections)
	mux := http.NewServeMux()
	p.routes(mux)
	call := func(authorization string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/cds-services/wardcast",
			strings.NewReader(`{"context":{"encounterId":"1"}}`))
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code
	}
	f := func(name string, want int, by any, id string, change func(*jwt.Claims)) {
		t.Helper()
		algorithm := jose.ES384
		if _, symmetric := by.([]byte); symmetric {
			algorithm = jose.HS256
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: by},
			(&jose.SignerOptions{}).WithHeader("kid", id))
		if err != nil {
			t.Fatal(err)
		}
		claims := jwt.Claims{
			Issuer: "https://file.example", Audience: jwt.Audience{address}, ID: "x",
			IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(5 * time.Minute)),
		}
		change(&claims)
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		if got := call("Bearer " + token); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	same := func(*jwt.Claims) {}
	elsewhere := func(c *jwt.Claims) { c.Issuer = "https://url.example" }
	f("of a file", 200, filed, "1", same)
	f("of a URL", 200, served, "2", elsewhere)
	f("again", 200, served, "2", elsewhere)
	f("an unknown key", 401, served, "3", elsewhere)
	f("signed by another", 401, foreign, "1", same)
	f("with the key of another client", 401, filed, "1", elsewhere)
	f("a symmetric key", 401, set("1", filed), "1", same)
	f("an unknown issuer", 401, filed, "1", func(c *jwt.Claims) { c.Issuer = "https://other.example" })
	f("for another service", 401, filed, "1", func(c *jwt.Claims) { c.Audience = jwt.Audience{"https://other.example"} })
	f("without an audience", 401, filed, "1", func(c *jwt.Claims) { c.Audience = nil })
	f("expired", 401, filed, "1", func(c *jwt.Claims) { c.Expiry = jwt.NewNumericDate(time.Now().Add(-time.Hour)) })
	f("without an end", 401, filed, "1", func(c *jwt.Claims) { c.Expiry = nil })
	for _, authorization := range []string{"", "Bearer ", "Bearer a.b.c", "Basic x"} {
		if got := call(authorization); got != 401 {
			t.Errorf("%q is answered %d", authorization, got)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	// Keys that are not among those that are known are read again after a while.
	if err := os.WriteFile(file, set("4", foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	p.fhir.clients["https://file.example"].at = time.Now().Add(-2 * keysPause)
	f("a new key", 200, foreign, "4", same)
	f("the key before it", 401, filed, "1", same)
}

// TestKeysOfServerThatHangs: who gives up goes, also while another waits for the keys, and both ask once.
func TestKeysOfServerThatHangs(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	k := &clientKeys{failed: func(error) {}, read: func(context.Context) ([]byte, error) {
		asked <- struct{}{}
		<-answer
		return []byte(`{"keys":[]}`), nil
	}}
	done := make(chan struct{}, 2)
	ask := func(ctx context.Context) {
		k.find(ctx, "1")
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
	if len(asked) > 0 {
		t.Error("the keys are read twice at a time")
	}
}
