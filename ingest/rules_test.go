package ingest_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// secured is a cluster with rules. The test itself is under none of them; its members are.
type secured struct {
	*cluster
	kafka *ingesttest.SecuredKafka
	login ingest.Connection
	user  string
}

// on returns topics of the test's own on a broker with rules, and a user with the least permissions for them.
func on(t *testing.T, k *ingesttest.SecuredKafka) *secured {
	t.Helper()
	s := &secured{cluster: attach(t, ingest.Connection{Brokers: []string{k.Internal}}, nil), kafka: k}
	s.user = s.group
	k.User(s.user, password)
	k.Allow(s.user, s.least()...)
	k.Certify(s.user)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.login = ingest.Connection{
		Brokers: []string{k.Address},
		TLS:     ingest.TLS{Enabled: true, CAFile: k.File("ca"), CertFile: k.File(s.user), KeyFile: k.File(s.user)},
		SASL:    ingest.SASL{Mechanism: "scram-sha-512", Username: s.user, PasswordFile: file},
	}
	s.await("the broker to know the user", func() bool { return s.login.Probe(t.Context()) == nil })
	return s
}

// least is what a consumer needs: what docs/deploy.md lists for serve.
func (s *secured) least() []ingesttest.Permission {
	return []ingesttest.Permission{
		{Operation: kadm.OpRead, Topic: s.in},
		{Operation: kadm.OpRead, Group: s.group},
		{Operation: kadm.OpWrite, Topic: s.out},
		{Operation: kadm.OpWrite, Topic: s.dlq},
	}
}

// join runs a member under the rules.
func (s *secured) join(h ingest.Handler, change ...func(*ingest.Config)) *member {
	s.Helper()
	return s.start(h, append([]func(*ingest.Config){func(cfg *ingest.Config) {
		cfg.Connection, cfg.ReadyAfterStall = s.login, time.Second
	}}, change...)...)
}

// stream sends records in small parts until the time is over, and returns how many.
func (s *secured) stream(d time.Duration) (n int) {
	s.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); n += 10 {
		s.send(numbered(n, n+10)...)
		<-time.After(50 * time.Millisecond)
	}
	return n
}

// sessionLife is how long a login lasts on the broker of the tests, and streamFor how long a stream is watched.
const (
	sessionLife = 5 * time.Second
	streamFor   = 25 * time.Second
)

// TestRules runs against one real broker, with TLS, SCRAM, an authorizer and sessions that end.
func TestRules(t *testing.T) {
	t.Parallel()
	k := ingesttest.Secured(t, "connections.max.reauth.ms=5000")
	for name, test := range map[string]func(*secured){
		"sessions end": testSessionsEnd, "secrets are renewed": testRenewal, "a member drains": testSlowDrain,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(on(t, k)) })
	}
	for name, c := range deniedCases {
		t.Run("denied "+name, func(t *testing.T) { t.Parallel(); c.running(on(t, k)) })
		t.Run("denied at the start "+name, func(t *testing.T) { t.Parallel(); c.starting(on(t, k)) })
	}
}

// deniedCase is a permission that is taken away, and the words that must name it.
type deniedCase struct {
	permission func(*secured) ingesttest.Permission
	named      func(*secured) string
	once       bool // nothing is answered twice by it; without the group, what was not committed yet is
}

var deniedCases = map[string]deniedCase{
	"read": {
		func(s *secured) ingesttest.Permission { return s.least()[0] },
		func(s *secured) string { return "Read on topic " + strconv.Quote(s.in) }, true,
	},
	"group": {
		func(s *secured) ingesttest.Permission { return s.least()[1] },
		func(s *secured) string { return "Read on group " + strconv.Quote(s.group) }, false,
	},
	"write": {
		func(s *secured) ingesttest.Permission { return s.least()[2] },
		func(s *secured) string { return "Write on topic " + strconv.Quote(s.out) }, true,
	},
	"write dead letters": {
		func(s *secured) ingesttest.Permission { return s.least()[3] },
		func(s *secured) string { return "Write on topic " + strconv.Quote(s.dlq) }, true,
	},
}

// picky refuses every tenth record.
func picky(r *ingest.Record, out *ingest.Output) error {
	if strings.HasSuffix(string(r.Key), "0") {
		return errors.New("refused by the test")
	}
	return echo(r, out)
}

// running takes the permission away from a running member and gives it back.
func (c deniedCase) running(s *secured) {
	m := s.join(handle(picky))
	s.await("the group", m.isReady)
	s.send(numbered(0, 100)...)
	s.awaitAnswers(100)
	s.kafka.Deny(s.user, c.permission(s))
	c.mended(s, m, 100)
}

// starting starts a member that lacks the permission, and then gives it.
func (c deniedCase) starting(s *secured) {
	s.kafka.Deny(s.user, c.permission(s))
	c.mended(s, s.join(handle(picky)), 0)
}

// mended waits until log and readiness name the permission, and gives it back: the member goes on. So many records were
// sent before. A broker takes a moment to heed what was taken away, so more are sent meanwhile.
func (c deniedCase) mended(s *secured, m *member, sent int) {
	s.Helper()
	s.await("the log names it", func() bool {
		s.send(numbered(sent, sent+10)...)
		sent += 10
		return slices.ContainsFunc(strings.Split(m.log.String(), "\n"), func(line string) bool {
			return strings.Contains(line, "level=ERROR") &&
				strings.Contains(strings.ReplaceAll(line, `\"`, `"`), c.named(s))
		})
	})
	s.await("readiness names it",
		func() bool { err := m.Check(); return err != nil && strings.Contains(err.Error(), c.named(s)) })
	select {
	case <-m.done:
		s.Errorf("Run ended with %v", m.err)
	default:
	}
	s.kafka.Allow(s.user, c.permission(s))
	s.await("all answers", func() bool { return len(count(append(s.read(s.out), s.read(s.dlq)...))) == sent })
	s.await("the member is ready", m.isReady)
	m.stop()
	s.wantAll(sent, c.once)
}

// testRenewal: password and certificate are renewed while a stream is answered, each after a moment in which its file
// is broken.
func testRenewal(s *secured) {
	m := s.join(handle(echo), func(cfg *ingest.Config) {
		cfg.Connection.Logger = cfg.Logger
	})
	other := s.join(handle(echo))
	s.await("the group", func() bool { return m.isReady() && other.isReady() })
	n := 0
	more := func() {
		s.send(numbered(n, n+100)...)
		n += 100
		s.awaitAnswers(int64(n))
	}
	more()
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	certificate := s.kafka.File(s.user)
	write(certificate, "-----BEGIN CERT")
	write(s.login.SASL.PasswordFile, "")
	other.stop() // m joins again, by a new connection
	s.await("a login by what the files held before",
		func() bool { return strings.Count(m.log.String(), "still using its previous contents") >= 2 })
	more()
	before := m.metric("rebalances_total")
	const renewed = "zzrenewed"
	write(s.login.SASL.PasswordFile, renewed)
	s.kafka.User(s.user, renewed)
	s.kafka.Certify(s.user)
	for began := time.Now(); time.Since(began) < 2*sessionLife; {
		more()
	}
	m.stop()
	// A login between the change of the file and that of the broker is refused, and the group joined again.
	refused := strings.Contains(m.log.String(), "SASL Authentication")
	s.wantAll(n, !refused)
	if now := m.metric("rebalances_total"); !refused && now != before {
		s.Errorf("the group was joined again %v times", now-before)
	}
	if text := m.log.String(); strings.Contains(text, renewed) || strings.Contains(text, password) {
		s.Error("the log holds a password")
	}
}

// testSlowDrain: a member that needs longer than a session to end its work, when another joins, stays in the group.
func testSlowDrain(s *secured) {
	const slow = 15 * time.Second
	held, joined := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := s.join(handle(func(r *ingest.Record, out *ingest.Output) error {
		once.Do(func() {
			close(held)
			<-joined
			<-time.After(slow)
		})
		return echo(r, out)
	}))
	s.await("the group", m.isReady)
	s.send(numbered(0, 100)...)
	<-held
	other := s.join(handle(echo))
	s.await("the rebalance", func() bool {
		group, err := s.kafka.Admin.DescribeGroups(s.Context(), s.group)
		return err == nil && group[s.group].State == "PreparingRebalance"
	})
	close(joined)
	s.await("partitions of both", func() bool {
		return m.metric("assigned_partitions") == testPartitions/2 &&
			other.metric("assigned_partitions") == testPartitions/2
	})
	s.send(numbered(100, 200)...)
	s.awaitAnswers(200)
	if stale := m.metric("commits_total", "stale"); stale != 0 || m.metric("rebalances_total") != 2 {
		s.Errorf("%v commits came too late in %v generations: the member was thrown out\n%s", stale,
			m.metric("rebalances_total"), m.log)
	}
	other.stop()
	m.stop()
	s.wantAll(200, true)
}

// testSessionsEnd: logins end many times while a stream is answered, and nobody notices.
func testSessionsEnd(s *secured) {
	m := s.join(handle(echo))
	n := s.stream(streamFor)
	s.awaitAnswers(int64(n))
	m.stop()
	s.wantAll(n, true)
	if text := m.log.String(); strings.Contains(text, "WARN") || strings.Contains(text, "ERROR") {
		s.Errorf("the end of a session is seen:\n%s", text)
	}
	if m.metric("rebalances_total") != 1 {
		s.Errorf("the group was joined %v times, want once", m.metric("rebalances_total"))
	}
}
