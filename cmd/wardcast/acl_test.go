package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models"
)

// rules is a broker with the users and permissions of docs/deploy.md, and a hospital's configuration for each user.
type rules struct {
	*ingesttest.SecuredKafka
	t     *testing.T
	store string
	http  string
	reads *kgo.Client // everything, under no rules
}

const userPassword = "zzpassword"

func newRules(t *testing.T) *rules {
	t.Helper()
	r := &rules{SecuredKafka: ingesttest.Secured(t), t: t, store: trained(t), http: ingesttest.FreeAddress(t)}
	for _, user := range []string{"wardcast", "wardcast-retrain", "wardcast-bridge", "wardcast-dlq"} {
		r.User(user, userPassword)
	}
	r.Certify("client")
	docs, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(string(docs)) {
		if args, ok := strings.CutPrefix(line, "acl "); ok {
			r.Tool("org.apache.kafka.tools.AclCommand",
				append([]string{"--bootstrap-server", r.Internal, "--force"}, strings.Fields(args)...)...)
			commands++
		}
	}
	if commands < 10 {
		t.Fatalf("docs/deploy.md has %d commands for permissions", commands)
	}
	r.reads = ingesttest.Reader(t, []string{r.Internal})
	return r
}

// config returns a configuration file for a user.
func (r *rules) config(user, more string) string {
	r.t.Helper()
	return clitest.File(r.t, "wardcast.yaml", fmt.Sprintf(`kafka:
  brokers: [%q]
  ready_after_stall: 1s
  tls: {enabled: true, ca_file: %s, cert_file: %s, key_file: %s}
  sasl: {mechanism: scram-sha-512, username: %s, password_file: %s}
models: {store: %s}
http: {listen: %q}
%s`, r.Address, r.File("ca"), r.File("client"), r.File("client"), user,
		clitest.File(r.t, "password", userPassword+"\n"), r.store, r.http, more))
}

// holds waits until a topic holds so many records.
func (r *rules) holds(topic string, n int64) {
	r.t.Helper()
	ingesttest.Await(r.t, fmt.Sprintf("%d records of %s", n, topic), func() bool {
		ends, err := r.Admin.ListEndOffsets(r.t.Context(), topic)
		sum := int64(0)
		ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		return err == nil && ends.Error() == nil && sum >= n
	})
}

// page returns the status and body of a page of serve.
func (r *rules) page(path string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.http+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// notes sends notes from to to-1, and one that is none.
func (r *rules) notes(from, to int) {
	r.t.Helper()
	g, err := newGenerator()
	if err != nil {
		r.t.Fatal(err)
	}
	records := []*kgo.Record{{Topic: "triage.notes", Key: []byte("bad"), Value: []byte("{")}}
	for i := from; i < to; i++ {
		n := g.At(trainingNotes + i).Note
		n.VisitID, n.Text = fmt.Sprintf("%s-%d", secret, i), n.Text+" "+secret
		records = append(records, &kgo.Record{Topic: "triage.notes", Key: []byte(n.VisitID), Value: n.AppendJSON(nil)})
	}
	if err := r.reads.ProduceSync(r.t.Context(), records...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// TestLeastPermissions runs the commands on a broker with rules, with the permissions of docs/deploy.md and no others.
func TestLeastPermissions(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	challenger(t, r.store)
	config := r.config("wardcast", fmt.Sprintf("shadow: {generation: latest}\nquestionnaires: {models: {%s: %s}}\n",
		instrument, fitted(t)))
	serve := launch(t, "serve", "--config", config, "--create-topics").ready()
	serve.says("a challenger scores in the shadow")
	const n = 50
	r.notes(0, n)
	responses := newResponses(t, r.Internal, fitted(t))
	for i := range n {
		id, value := responses.message(i)
		if err := r.reads.ProduceSync(t.Context(),
			&kgo.Record{Topic: "questionnaire.responses", Key: []byte(id), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for topic, records := range map[string]int64{
		"triage.predictions": n, "triage.notes.dlq": 1, "triage.predictions.shadow": 1, "triage.models": 1,
		"triage.bed-demand": 1, "questionnaire.scores": n,
	} {
		r.holds(topic, records)
	}
	ingesttest.Await(t, "commits", func() bool {
		return ingesttest.Committed(t, r.reads, "wardcast") == n+1 &&
			ingesttest.Committed(t, r.reads, "wardcast-questionnaires") == n
	})
	if text := strings.ReplaceAll(serve.String(), `"level":"WARN","msg":"record refused"`, ""); strings.Contains(text,
		`"WARN"`) || strings.Contains(text, `"ERROR"`) || strings.Contains(text, "not running") {
		t.Error("serve lacks something")
	}

	dlq := r.config("wardcast-dlq", "")
	if out := succeed(t, "", "dlq", "list", "--config", dlq); !strings.Contains(out, "not_json") {
		t.Errorf("dlq list prints %s", out)
	}
	succeed(t, "", "dlq", "replay", "--all", "--config", dlq)
	r.holds("triage.notes.dlq", 2)
	fail(t, cli.ExitFailed, []string{"retrain", "--config", r.config("wardcast-retrain", "")}, "too few notes")
	serve.stop()
	r.bridge()
	if out := succeed(t, "", "dlq", "list", "--of", "bridge", "--config", dlq); !strings.Contains(out, "not_json") {
		t.Errorf("dlq list prints %s", out)
	}

	// Each command names what it lacks.
	r.lacks("wardcast-retrain", ingesttest.Permission{Operation: kadm.OpRead, Topic: "triage.outcomes"}, "retrain",
		"--config", r.config("wardcast-retrain", ""))
	r.lacks("wardcast-dlq", ingesttest.Permission{Operation: kadm.OpRead, Topic: "triage.notes.dlq"}, "dlq", "list",
		"--config", dlq)
	r.lacks("wardcast-dlq", ingesttest.Permission{Operation: kadm.OpWrite, Topic: "triage.notes"}, "dlq", "replay",
		"--all", "--config", dlq)
	r.startsDenied(config)
	r.createDenied(config)
}

// bridge has a bridge take a Bundle and refuse another.
func (r *rules) bridge() {
	r.t.Helper()
	key, listen := filepath.Join(r.t.TempDir(), "key"), ingesttest.FreeAddress(r.t)
	succeed(r.t, "", "bridge", "keygen", "--out", key)
	for _, topic := range []string{"triage.bridge.dlq", "triage.bridge.raw"} {
		if _, err := r.Admin.CreateTopic(r.t.Context(), 1, 1, nil, topic); err != nil {
			r.t.Fatal(err)
		}
	}
	b := launch(r.t, "bridge", "--config", r.config("wardcast-bridge", fmt.Sprintf(
		"bridge: {site: A, key_file: %s, keep_identifiers: true, mllp: {listen: ''}, fhir: {listen: %q}}\n", key,
		listen))).ready()
	for body, want := range map[string]int{
		"{": http.StatusBadRequest,
		`{"resourceType":"Bundle","type":"batch","entry":[{"resource":{"resourceType":"Encounter","id":"1","class":{"code":
		"EMER"}}}]}`: http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+listen+"/fhir",
			strings.NewReader(body))
		if err != nil {
			r.t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/fhir+json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			r.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			r.t.Errorf("%s is answered %d, want %d", body, answer.StatusCode, want)
		}
	}
	for _, topic := range []string{"dlq", "raw", "state", "identifiers"} {
		r.holds("triage.bridge."+topic, 1)
	}
	b.stop()
}

// lacks takes a permission away, runs a command that needs it, and gives it back.
func (r *rules) lacks(user string, p ingesttest.Permission, command ...string) {
	r.t.Helper()
	r.Deny(user, p)
	fail(r.t, cli.ExitFailed, command, "the brokers deny", p.Topic)
	r.Allow(user, p)
}

// startsDenied starts serve without a permission: it is alive, says what is missing, and goes on once it is there.
func (r *rules) startsDenied(config string) {
	r.t.Helper()
	models := ingesttest.Permission{Operation: kadm.OpWrite, Topic: "triage.models"}
	write := ingesttest.Permission{Operation: kadm.OpWrite, Topic: "triage.predictions"}
	read := ingesttest.Permission{Operation: kadm.OpRead, Topic: "triage.predictions"}
	r.Deny("wardcast", models, write, read)
	r.lacksOutput(config, write)
	r.Allow("wardcast", models, read)
}

func (r *rules) lacksOutput(config string, write ingesttest.Permission) {
	r.t.Helper()
	serve := launch(r.t, "serve", "--config", config)
	const named = `the brokers deny Write on topic "triage.predictions"`
	ingesttest.Await(r.t, "readiness to name it", func() bool {
		status, body := r.page("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(strings.ReplaceAll(body, `\"`, `"`), named)
	})
	if status, _ := r.page("/healthz"); status != http.StatusOK {
		r.t.Errorf("serve without a permission is not alive: %d", status)
	}
	serve.says(`"level":"ERROR".*the brokers deny Write on topic ..triage\.predictions`)
	r.Allow("wardcast", write)
	serve.ready()
	r.notes(50, 60)
	r.holds("triage.predictions", 60)
	ingesttest.Await(r.t, "readiness", func() bool { status, _ := r.page("/readyz"); return status == http.StatusOK })
	serve.stop()
}

// createDenied: --create-topics without Create is fine as long as no topic is missing, and names it otherwise.
func (r *rules) createDenied(config string) {
	r.t.Helper()
	acls, err := r.Admin.DeleteACLs(r.t.Context(), kadm.NewACLs().Operations(kadm.OpCreate).ResourcePatternType(
		kadm.ACLPatternPrefixed).Topics("triage.", "questionnaire.").Allow("User:wardcast").AllowHosts())
	if err != nil || len(acls) == 0 {
		r.t.Fatal(err, acls)
	}
	launch(r.t, "serve", "--config", config, "--create-topics").ready().stop()
	if res, err := r.Admin.DeleteTopics(r.t.Context(), "triage.predictions.shadow"); err != nil || res.Error() != nil {
		r.t.Fatal(err, res.Error())
	}
	fail(r.t, cli.ExitFailed, []string{"serve", "--config", config, "--create-topics"},
		`the brokers deny Create on topic "triage.predictions.shadow"`)
}

// challenger saves a generation that is not served.
func challenger(t *testing.T, dir string) {
	t.Helper()
	made, err := trainOnce()
	if err != nil {
		t.Fatal(err)
	}
	own := *made
	own.Bundles = nil
	for _, b := range made.Bundles {
		c := *b // saving changes it
		own.Bundles = append(own.Bundles, &c)
	}
	if _, err := own.Save(t.Context(), models.OpenDir(filepath.Clean(dir)), "test"); err != nil {
		t.Fatal(err)
	}
}
