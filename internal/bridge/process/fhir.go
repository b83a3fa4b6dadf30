package process

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/reload"
)

const (
	fhirContent = fhir.ContentType
	jsonContent = "application/json"
	// maxTaken and maxParsed bound the Bundles that are held and parsed at a time, and so their memory. Others wait.
	maxTaken  = 64
	maxParsed = 4
	maxHook   = 64 << 10 // bytes of a request of CDS Hooks
)

// fhirParts are what requests of FHIR need.
type fhirParts struct {
	token         *reload.Value[string] // nil for none
	client        *http.Client
	server        *fhir.Client           // nil for none
	clients       map[string]*clientKeys // of CDS Hooks, by the issuer of their tokens
	taken, parsed chan struct{}
}

// prepareFHIR reads the files of bridge.fhir.
func (p *process) prepareFHIR() (err error) {
	c := &p.config.FHIR
	if c.TokenFile != "" {
		p.fhir.token, err = reload.New(func() (string, error) { return reload.Secret(c.TokenFile) },
			p.stale("bridge.fhir.token_file"), c.TokenFile)
		if err != nil {
			return fmt.Errorf("reading bridge.fhir.token_file: %w", err)
		}
	}
	secured := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		if secured.RootCAs, err = reload.Authorities(c.CA); err != nil {
			return fmt.Errorf("reading bridge.fhir.ca: %w", err)
		}
	}
	p.fhir.client = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: secured, IdleConnTimeout: time.Minute,
		},
		Timeout:       answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it gets a token
	}
	if c.Server != "" {
		p.fhir.server = p.asks(c.Server)
	}
	p.fhir.clients = map[string]*clientKeys{}
	for issuer, at := range c.CDS.Clients {
		if p.fhir.clients[issuer], err = p.newClientKeys(at); err != nil {
			return fmt.Errorf("reading bridge.fhir.cds.clients: %w", err)
		}
	}
	p.fhir.taken, p.fhir.parsed = make(chan struct{}, maxTaken), make(chan struct{}, maxParsed)
	return nil
}

// asks returns the client of a FHIR server.
func (p *process) asks(base string) *fhir.Client {
	return &fhir.Client{Base: base, HTTP: p.fhir.client, Smart: fhir.Smart(p.config.FHIR.SMART)}
}

//go:embed capability.json
var capability []byte

// services are those of CDS Hooks: one for both hooks.
const services = `{"services":[` +
	`{"hook":"patient-view","id":"wardcast","title":"Probability of admission","description":"` + serves + `"},` +
	`{"hook":"encounter-start","id":"wardcast","title":"Probability of admission","description":"` + serves + `"}]}`

const serves = "The probability of hospital admission after triage, by AI, with the findings behind it."

// routes adds FHIR and CDS Hooks.
func (p *process) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /fhir", p.guarded(p.takeBundle))
	mux.HandleFunc("GET /fhir/metadata", func(w http.ResponseWriter, _ *http.Request) {
		var c map[string]any
		_ = json.Unmarshal(capability, &c) // it is ours
		c["fhirVersion"] = map[string]string{"R4": "4.0.1", "R4B": "4.3.0", "R5": "5.0.0"}[p.config.Answers.Version]
		respond(w, http.StatusOK, fhirContent, c)
	})
	mux.HandleFunc("GET /cds-services", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, jsonContent, json.RawMessage(services))
	})
	mux.HandleFunc("POST /cds-services/wardcast", p.hook)
}

func respond(w http.ResponseWriter, status int, contentType string, body any) {
	data, _ := json.Marshal(body) // which cannot fail
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone
}

// guarded answers 401 without the token, if there is one.
func (p *process) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.fhir.token != nil {
			want, err := p.fhir.token.Get()
			got, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if err != nil || !is || subtle.ConstantTimeCompare([]byte(want), []byte(got)) != 1 {
				noToken(w)
				return
			}
		}
		next(w, r)
	}
}

func noToken(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	outcome(w, http.StatusUnauthorized, issue{"error", "login", "no_token", 0})
}

// issue is one of an OperationOutcome. It quotes nothing.
type issue struct {
	severity, code, reason string
	entry                  int // of the Bundle, from 1, or 0
}

func outcome(w http.ResponseWriter, status int, issues ...issue) {
	var all []map[string]any
	for _, i := range issues {
		one := map[string]any{"severity": i.severity, "code": i.code, "details": map[string]string{"text": i.reason}}
		if i.entry > 0 {
			one["expression"] = []string{fmt.Sprintf("Bundle.entry[%d].resource", i.entry-1)}
		}
		all = append(all, one)
	}
	respond(w, status, fhirContent, map[string]any{"resourceType": "OperationOutcome", "issue": all})
}

// refused are the status and the code of an issue by the reason of a refusal; others are 422 and invalid.
var refused = map[string]struct {
	status int
	code   string
}{
	fhir.ErrNotJSON.Error():     {http.StatusBadRequest, "structure"},
	fhir.ErrTooLarge.Error():    {http.StatusRequestEntityTooLarge, "too-long"},
	fhir.ErrNotFHIR.Error():     {http.StatusUnprocessableEntity, "structure"},
	fhir.ErrWrongBundle.Error(): {http.StatusUnprocessableEntity, "not-supported"},
	bridge.MissingVisit:         {http.StatusUnprocessableEntity, "required"},
	bridge.TooLongText:          {http.StatusUnprocessableEntity, "too-long"},
	bridge.NoServer:             {http.StatusUnprocessableEntity, "not-supported"},
	internalError:               {http.StatusInternalServerError, "exception"},
}

// takeBundle takes a Bundle and answers once Kafka has what follows from it.
func (p *process) takeBundle(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains([]string{fhirContent, jsonContent, "application/json+fhir"}, kind) {
		outcome(w, http.StatusUnsupportedMediaType, issue{"error", "not-supported", "wrong_content_type", 0})
		return
	}
	var bundle bridge.Bundle
	// Without a status net/http would answer 200.
	away := func(status int, reason string) {
		p.metrics.message(bundle.Kind, unanswered, time.Since(began))
		w.Header().Set("Retry-After", "5")
		outcome(w, status, issue{"error", "transient", reason, 0})
	}
	select {
	case p.fhir.taken <- struct{}{}:
	case <-r.Context().Done():
		away(http.StatusServiceUnavailable, "busy")
		return
	}
	defer func() { <-p.fhir.taken }()
	data, err := io.ReadAll(io.LimitReader(r.Body, fhir.MaxBundle+1))
	if err != nil { // too slow, or cut
		away(http.StatusServiceUnavailable, "body_cut")
		return
	}
	bundle, refusal := p.readBundle(data)
	if !p.restored.Load() {
		away(http.StatusServiceUnavailable, "not_ready")
		return
	}
	if refusal == nil && len(bundle.Focus) > 0 {
		fetched, unread, err := p.fetch(r.Context(), bundle.Focus)
		if err != nil && !errors.As(err, &refusal) {
			p.warnings.Add("fetch", func(n int) {
				p.Logger.Warn("resources of notifications cannot be fetched", "notifications", n, "err", err)
			})
			away(http.StatusBadGateway, "server_away")
			return
		}
		bundle.Readings, bundle.Unread = append(bundle.Readings, fetched...), append(bundle.Unread, unread...)
	}
	var e *entry
	if refusal == nil {
		e, refusal = p.join(bundle.Readings, bundle.Unread, data, began)
	} else {
		e = p.letter(refusal, data, refusal.Reason == fhir.ErrTooLarge.Error())
	}
	if e == nil || !acknowledged(r.Context(), e) {
		away(http.StatusServiceUnavailable, "kafka_away")
		return
	}
	for i := range bundle.Readings {
		for _, what := range bundle.Readings[i].Unused() {
			p.metrics.unused.WithLabelValues(what).Inc()
		}
	}
	if refusal == nil {
		p.metrics.message(bundle.Kind, string(hl7.Accepted), time.Since(began))
		accept(w, &bundle)
		return
	}
	p.metrics.message(bundle.Kind, string(hl7.Failed), time.Since(began))
	p.warnings.Add(refusal.Reason, func(n int) {
		p.Logger.Warn("messages were refused", "messages", n, "answer", string(hl7.Failed), "reason", refusal.Reason,
			"place", refusal.Place())
	})
	how, known := refused[refusal.Reason]
	if !known {
		how.status, how.code = http.StatusUnprocessableEntity, "invalid"
	}
	outcome(w, how.status, issue{"error", how.code, refusal.Reason, refusal.Where.Position})
}

// accept answers a Bundle that was taken: 202 if a document of it cannot be read.
func accept(w http.ResponseWriter, b *bridge.Bundle) {
	status, issues := http.StatusOK, []issue{{"information", "informational", "accepted", 0}}
	statuses := slices.Repeat([]string{"200 OK"}, b.Entries)
	for _, u := range b.Unread {
		status = http.StatusAccepted
		issues = append(issues, issue{"warning", "not-supported", u.Reason, u.Where.Position})
		if at := u.Where.Position; at > 0 && at <= len(statuses) {
			statuses[at-1] = "202 Accepted"
		}
	}
	_, kind, _ := strings.Cut(b.Kind, "^")
	if kind != fhir.Transaction && kind != fhir.Batch {
		outcome(w, status, issues...)
		return
	}
	answer := map[string]any{"resourceType": "Bundle", "type": kind + "-response"}
	var entries []any
	for _, s := range statuses {
		entries = append(entries, map[string]any{"response": map[string]string{"status": s}})
	}
	if len(entries) > 0 { // no array of FHIR is empty
		answer["entry"] = entries
	}
	respond(w, status, fhirContent, answer)
}

// readBundle reads a Bundle. A panic refuses it: it would come again and again.
func (p *process) readBundle(data []byte) (b bridge.Bundle, refusal *bridge.Refusal) {
	p.fhir.parsed <- struct{}{}
	defer func() { <-p.fhir.parsed }()
	defer p.recovered(&refusal)
	b, err := p.bridge.ReadBundle(data)
	_ = errors.As(err, &refusal) // it returns no other
	return b, refusal
}

// maxFetched bounds the resources that are asked for because of one notification.
const maxFetched = 1000

// fetch asks the server for the visits of resources that a notification names. The error is a *bridge.Refusal if no
// server is configured or too many are named.
func (p *process) fetch(ctx context.Context, focus []fhir.Reference) ([]bridge.Reading, []*bridge.Refusal, error) {
	if p.fhir.server == nil {
		return nil, nil, &bridge.Refusal{Code: hl7.Failed, Reason: bridge.NoServer}
	}
	f := &fetching{ctx: ctx, server: p.fhir.server, known: map[string]fhir.Resource{}, context: "encounter"}
	if p.config.Answers.Version == "R5" {
		f.context = "context"
	}
	for _, reference := range focus {
		f.focus(reference)
	}
	switch {
	case errors.Is(f.err, fhir.ErrTooMany):
		return nil, nil, &bridge.Refusal{Code: hl7.Failed, Reason: f.err.Error()}
	case f.err != nil:
		return nil, nil, f.err
	}
	digest := sha256.New()
	for _, r := range f.all {
		_, _ = io.WriteString(digest, fhir.Of(r).Digest()) // never fails
	}
	return p.bridge.ReadResources(f.all, digestOf([32]byte(digest.Sum(nil))))
}

// fetching is the fetching of one notification.
type fetching struct {
	ctx     context.Context //nolint:containedctx // it lives as long as a call
	server  *fhir.Client
	context string                   // the parameter for the Encounter of a DocumentReference
	known   map[string]fhir.Resource // by reference; nil for one that the server does not have
	all     []fhir.Resource
	err     error
}

// focus fetches a resource and its visit.
func (f *fetching) focus(reference fhir.Reference) {
	switch r := f.get(reference, "").(type) {
	case *fhir.Encounter:
		f.visit(reference)
	case *fhir.Observation:
		f.visit(r.Encounter)
	case *fhir.DocumentReference:
		for _, c := range r.Context {
			f.visit(c)
		}
	}
}

// visit fetches an Encounter with what is about it.
func (f *fetching) visit(reference fhir.Reference) {
	id := reference.ID("Encounter")
	e, is := f.get(reference, "Encounter").(*fhir.Encounter)
	if !is || f.known["all of "+id] != nil {
		return
	}
	f.known["all of "+id] = e
	f.get(e.Subject, "Patient")
	f.get(e.PartOf, "Encounter")
	_, conditions := e.Reasons()
	for _, c := range conditions {
		f.get(c, "Condition")
	}
	for _, search := range []string{"Observation?encounter", "DocumentReference?" + f.context} {
		for _, r := range f.ask(search + "=" + url.QueryEscape("Encounter/"+id) + "&_count=1000") {
			d, is := r.(*fhir.DocumentReference)
			if !is {
				continue
			}
			for _, c := range d.Content {
				if c.Attachment.Data == "" {
					f.get(fhir.Reference{Reference: c.Attachment.URL}, "Binary")
				}
			}
		}
	}
}

// get fetches a resource of a type, or of any for "", unless it is known.
func (f *fetching) get(reference fhir.Reference, kind string) fhir.Resource {
	local := reference.Local()
	named, id, is := strings.Cut(local, "/")
	if !is || kind != "" && named != kind || strings.Trim(named+id, idCharacters) != "" {
		return nil
	}
	if _, known := f.known[local]; !known {
		f.known[local] = nil
		f.ask(local)
	}
	return f.known[local]
}

// idCharacters are those of types and ids: an address of another form is not asked for.
const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-."

// ask asks for a resource, or for those that a search finds.
func (f *fetching) ask(path string) (found []fhir.Resource) {
	if len(f.known) > maxFetched { // also of what the server does not have
		f.err = cmp.Or(f.err, fhir.ErrTooMany)
	}
	if f.err != nil {
		return nil
	}
	data, err := f.server.Get(f.ctx, path)
	if status, is := errors.AsType[fhir.StatusError](err); is &&
		(status == http.StatusNotFound || status == http.StatusGone) {
		return nil
	}
	var r fhir.Resource
	if err == nil {
		r, err = fhir.Parse(data)
	}
	found = []fhir.Resource{r}
	if b, is := r.(*fhir.Bundle); is && err == nil {
		found = nil
		for _, e := range b.Entry {
			if r, err = fhir.Parse(e.Resource); err != nil {
				break
			}
			found = append(found, r)
		}
	}
	if f.err = err; err != nil {
		return nil
	}
	for _, r := range found {
		at := fhir.Of(r).Reference()
		if f.known[at] == nil {
			f.known[at] = r
			f.all = append(f.all, r)
		}
	}
	return found
}

// followPredictions keeps the latest prediction of each visit, for cards.
func (p *process) followPredictions(ctx context.Context) error {
	return p.client.Follow(ctx, ingest.Follow{
		Topic: p.Config.Kafka.Topics.Predictions, From: time.Now().Add(-p.config.Keep), Logger: p.Logger,
	}, func(r *ingest.Record) { p.commits.locked(func() { p.bridge.Predicted(r.Value) }) })
}

// create sends a RiskAssessment to a FHIR server, which takes it once: what is sent again changes nothing.
func (a *answers) create(ctx context.Context, _ *ingest.Record, message []byte, id string) (result, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(a.server.Base, "/")+"/RiskAssessment",
		bytes.NewReader(message))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", fhirContent)
	r.Header.Set("If-None-Exist", "identifier="+url.QueryEscape(bridge.PredictionSystem+"|"+id))
	res, err := a.server.Do(r)
	if err != nil {
		return "", err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, fhir.MaxBundle)) // so that the connection can be used again
	_ = res.Body.Close()                                                 // it is only read
	switch res.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent:
		return resultAccepted, nil
	case http.StatusBadRequest, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity:
		return resultRejected, nil
	}
	return resultFailed, nil
}
