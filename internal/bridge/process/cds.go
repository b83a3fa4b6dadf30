package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sync/singleflight"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/internal/files"
)

// algorithms are those of tokens of clients of CDS Hooks.
var algorithms = []jose.SignatureAlgorithm{jose.ES384, jose.RS384, jose.ES256, jose.RS256}

const (
	keysKept  = 10 * time.Minute // after which the keys of a client are read again
	keysPause = time.Minute      // before they are read again for a key that is not among them
	clockSkew = time.Minute      // between a client and the bridge
)

// clientKeys are the public keys of a client of CDS Hooks.
type clientKeys struct {
	read   func(context.Context) ([]byte, error)
	failed func(error)

	loads singleflight.Group

	mu   sync.Mutex
	at   time.Time // when they were read
	held jose.JSONWebKeySet
}

// newClientKeys returns the keys in a file, which is read now, or at a URL.
func (p *process) newClientKeys(at string) (*clientKeys, error) {
	k := &clientKeys{failed: p.stale("bridge.fhir.cds.clients")}
	if !strings.Contains(at, "://") {
		k.read = func(context.Context) ([]byte, error) { return files.Read(at, maxHook) }
		return k, k.load(context.Background())
	}
	k.read = func(ctx context.Context) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
		if err != nil {
			return nil, err
		}
		res, err := p.fhir.client.Do(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = res.Body.Close() }() // it is only read
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the server answers %d", res.StatusCode)
		}
		return io.ReadAll(io.LimitReader(res.Body, maxHook))
	}
	return k, nil
}

// load reads the keys. They stay as they are if it fails.
func (k *clientKeys) load(ctx context.Context) error {
	var set jose.JSONWebKeySet
	data, err := k.read(ctx)
	if err == nil && json.Unmarshal(data, &set) != nil {
		err = errors.New("it is not a JSON Web Key Set")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at = time.Now(); err == nil {
		k.held = set
	}
	return err
}

// find returns the keys of this ID. Those who ask at the same time share one reading.
func (k *clientKeys) find(ctx context.Context, id string) []jose.JSONWebKey {
	keys, at := k.known(id)
	if age := time.Since(at); age > keysKept || age > keysPause && len(keys) == 0 {
		select {
		case <-ctx.Done():
		case r := <-k.loads.DoChan("", func() (any, error) { return nil, k.load(context.WithoutCancel(ctx)) }):
			if r.Err != nil {
				k.failed(r.Err)
			}
		}
		keys, _ = k.known(id)
	}
	return keys
}

func (k *clientKeys) known(id string) ([]jose.JSONWebKey, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held.Key(id), k.at
}

// known reports whether a request has a JSON Web Token of a configured client.
func (p *process) known(r *http.Request) bool {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	token, err := jwt.ParseSigned(text, algorithms)
	var said, claims jwt.Claims
	if err != nil || token.UnsafeClaimsWithoutVerification(&said) != nil || p.fhir.clients[said.Issuer] == nil {
		return false
	}
	for _, key := range p.fhir.clients[said.Issuer].find(r.Context(), token.Headers[0].KeyID) {
		if token.Claims(key, &claims) == nil {
			return claims.Expiry != nil && claims.ValidateWithLeeway(jwt.Expected{
				AnyAudience: jwt.Audience{p.config.FHIR.CDS.Address}, Time: time.Now(),
			}, clockSkew) == nil
		}
	}
	return false
}

// hook answers the calls of those whom the configuration names as clients, or else of those who may send FHIR.
func (p *process) hook(w http.ResponseWriter, r *http.Request) {
	switch {
	case len(p.fhir.clients) == 0:
		p.guarded(p.card)(w, r)
	case p.known(r):
		p.card(w, r)
	default:
		noToken(w)
	}
}

// card answers a call of CDS Hooks.
func (p *process) card(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Context struct {
			EncounterID string `json:"encounterId"`
		} `json:"context"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, maxHook)).Decode(&call) != nil {
		respond(w, http.StatusBadRequest, jsonContent, map[string]string{"error": fhir.ErrNotJSON.Error()})
		return
	}
	cards := []any{}
	p.commits.locked(func() {
		if card := p.bridge.Card(strings.TrimPrefix(call.Context.EncounterID, "Encounter/"),
			p.config.FHIR.Page); card != nil {
			cards = append(cards, card)
		}
	})
	respond(w, http.StatusOK, jsonContent, map[string]any{"cards": cards})
}
