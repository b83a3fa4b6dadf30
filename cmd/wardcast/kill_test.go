package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// secret stands in every message of a stream, and may stand in no log.
const secret = "zzsecretname"

// stream is topics of a test's own on a cluster, and a foreign client that has read so much of the answers.
type stream struct {
	*kgo.Client
	t                 *testing.T
	config            string // path of the configuration
	bootstrap         string
	group             string
	input             string // topic
	answered          string // topic
	dlq               string // topic
	sent              map[string]*kgo.Record
	order             []string
	predictions, dead []*kgo.Record

	// message returns the identifier and the value of message i.
	message func(i int) (id string, value []byte)
	// want returns by their identifiers what the commands make of those sent that are well-formed; essence is as much
	// of an answer.
	want    func(good []string) map[string]string
	essence func(answer string) string
}

// startBroker runs the embedded broker and returns its address.
func startBroker(t *testing.T) string {
	t.Helper()
	return launch(t, "broker", "--dir", t.TempDir(), "--listen", "127.0.0.1:0").says(`"msg":"ready","listen":"([^"]+)"`)
}

// newStream makes the topics and the configuration for scorers of notes with this model store.
func newStream(t *testing.T, bootstrap, store string) *stream {
	t.Helper()
	s := openStream(t, bootstrap)
	s.config = clitest.File(t, "wardcast.yaml", fmt.Sprintf(`kafka:
  brokers: [%s]
  group: %s
  topics: {notes: %s, predictions: %s, dead_letters: %s}
models: {store: %q}
http: {listen: ""}
`, strings.ReplaceAll(bootstrap, ",", ", "), s.group, s.input, s.answered, s.dlq, store))
	g, err := newGenerator()
	if err != nil {
		t.Fatal(err)
	}
	s.message = func(i int) (string, []byte) {
		m := g.At(trainingNotes + i).Note
		m.VisitID = fmt.Sprintf("%s-%d", secret, i)
		m.Text += " " + secret
		return m.VisitID, m.AppendJSON(nil)
	}
	s.essence = bare
	s.want = func(good []string) map[string]string {
		var in strings.Builder
		for _, visit := range good {
			in.Write(s.sent[visit].Value)
			in.WriteByte('\n')
		}
		want := map[string]string{}
		for line := range strings.Lines(succeed(t, in.String(), "predict", "--model-dir", store)) {
			visit, _ := clitest.Object(t, line)["visit_id"].(string)
			want[visit] = bare(strings.TrimSuffix(line, "\n"))
		}
		return want
	}
	return s
}

// openStream makes the topics of a stream.
func openStream(t *testing.T, bootstrap string) *stream {
	t.Helper()
	s := &stream{t: t, bootstrap: bootstrap, sent: map[string]*kgo.Record{}}
	name := fmt.Sprintf("test-%d-", time.Now().UnixNano())
	s.group, s.input, s.answered, s.dlq = name+"group", name+"input", name+"answers", name+"dlq"
	s.Client = reader(t, bootstrap, s)
	admin, topics := kadm.NewClient(s.Client), []string{s.input, s.answered, s.dlq}
	res, err := admin.CreateTopics(t.Context(), ingest.DefaultPartitions, -1, nil, topics...)
	if err = errors.Join(err, res.Error()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A cluster that outlives the test is left as it was.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_, _ = admin.DeleteTopics(ctx, topics...)
	})
	return s
}

// reader returns a client of the stream that reads the answers from their beginning.
func reader(t *testing.T, bootstrap string, s *stream) *kgo.Client {
	t.Helper()
	return ingesttest.Reader(t, strings.Split(bootstrap, ","), s.answered, s.dlq)
}

// scorer starts one that reads the stream. how is start or launch.
func (s *stream) scorer(how func(*testing.T, ...string) *running) *running {
	s.t.Helper()
	return how(s.t, "serve", "--config", s.config)
}

// badEvery is how often a message is cut short.
const badEvery = 100

// send sends the next n messages and returns when the cluster has them.
func (s *stream) send(n int) {
	s.t.Helper()
	var records []*kgo.Record
	for range n {
		i := len(s.sent)
		id, value := s.message(i)
		r := &kgo.Record{Topic: s.input, Key: []byte(id), Value: value}
		if i%badEvery == badEvery-1 {
			r.Value = r.Value[:len(r.Value)/2]
		}
		s.sent[id] = r
		s.order = append(s.order, id)
		records = append(records, r)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), clitest.Patience)
	defer cancel()
	if err := s.ProduceSync(ctx, records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// read takes answers until done, or for so long.
func (s *stream) read(limit time.Duration, done func() bool) bool {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	for !done() {
		fetches := s.PollFetches(ctx)
		// A poll may return records after its context has ended, and no other will.
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Topic == s.dlq {
				s.dead = append(s.dead, r)
			} else {
				s.predictions = append(s.predictions, r)
			}
		})
		if ctx.Err() != nil {
			return done()
		}
		if err := fetches.Err(); err != nil {
			s.t.Logf("reading answers: %v", err)
		}
	}
	return true
}

// answers waits for so many more answers.
func (s *stream) answers(more int) {
	s.t.Helper()
	n := len(s.predictions) + len(s.dead) + more
	if !s.read(clitest.Patience, func() bool { return len(s.predictions)+len(s.dead) >= n }) {
		s.t.Fatalf("%d answers of %d sent, %d committed, no more within %v", n-more, len(s.sent), s.committed(),
			clitest.Patience)
	}
}

// settle waits until every message has an answer.
func (s *stream) settle() {
	s.t.Helper()
	answered, at := map[string]bool{}, [2]int{}
	if !s.read(clitest.Patience, func() bool {
		for ; at[0] < len(s.predictions); at[0]++ {
			answered[string(s.predictions[at[0]].Key)] = true
		}
		for ; at[1] < len(s.dead); at[1]++ {
			answered[string(s.dead[at[1]].Key)] = true
		}
		return len(answered) >= len(s.sent)
	}) {
		s.t.Fatalf("%d of %d messages answered, %d committed, the others not within %v", len(answered), len(s.sent),
			s.committed(), clitest.Patience)
	}
}

// verdict fails unless every well-formed message is answered as the commands answer it, every other is a dead letter,
// and repeats are alike. It returns their number.
func (s *stream) verdict() int {
	s.t.Helper()
	var whole []string
	for _, visit := range s.order {
		if r := s.sent[visit]; r.Value[len(r.Value)-1] == '}' {
			whole = append(whole, visit)
		}
	}
	want, first := s.want(whole), map[string]string{}
	ids, good, bad := map[string]string{}, map[string]int{}, map[string]int{}
	for _, r := range s.predictions {
		visit, value := string(r.Key), string(r.Value)
		if good[visit]++; good[visit] == 1 {
			first[visit] = bare(value)
		}
		if got := s.essence(value); got != want[visit] {
			s.t.Fatalf("an answer is not what the command says of its message:\n%s\n%s", got, want[visit])
		}
		if bare(value) != first[visit] {
			s.t.Fatal("a repeat differs from the first in more than scored_at")
		}
		id := ""
		for _, h := range r.Headers {
			if h.Key == msg.HeaderID {
				id = string(h.Value)
			}
		}
		if first, ok := ids[visit]; ok && first != id || id == "" {
			s.t.Errorf("a repeat has ce_id %q, the first has %q", id, first)
		}
		ids[visit] = id
	}
	for _, r := range s.dead {
		bad[string(r.Key)]++
		if sent := s.sent[string(r.Key)]; string(r.Value) != string(sent.Value) {
			s.t.Error("a dead letter does not hold the original value")
		}
	}
	lost := 0
	for visit := range s.sent {
		switch _, isGood := want[visit]; {
		case good[visit]+bad[visit] == 0:
			lost++
		case isGood && bad[visit] > 0:
			s.t.Error("a good message is a dead letter")
		}
	}
	if lost > 0 {
		s.t.Errorf("%d of %d messages are lost", lost, len(s.sent))
	}
	return len(s.predictions) + len(s.dead) - len(s.sent)
}

var scoredAt = regexp.MustCompile(`"scored_at":"[^"]*"`)

// bare is an answer but for scored_at, all that a repeat may change.
func bare(value string) string { return scoredAt.ReplaceAllString(value, "") }

// committed returns the sum of the group's offsets.
func (s *stream) committed() int {
	s.t.Helper()
	return ingesttest.Committed(s.t, s.Client, s.group)
}

// TestKill streams notes, and responses to a questionnaire, through two scorers that are killed while they answer, and
// by turns both of them or one and then the next while it starts.
func TestKill(t *testing.T) {
	t.Parallel()
	bootstrap, kills, total := os.Getenv("WARDCAST_KAFKA"), 20, 5000
	if bootstrap == "" {
		long(t)
		bootstrap, kills, total = startBroker(t), 5, 2000
	}
	for name, open := range map[string]func(t *testing.T) *stream{
		"notes":     func(t *testing.T) *stream { t.Helper(); return newStream(t, bootstrap, trained(t)) },
		"responses": func(t *testing.T) *stream { t.Helper(); return newResponses(t, bootstrap, fitted(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kill(t, open(t), kills, total)
		})
	}
}

// kill sends so many messages while it kills so often.
func kill(t *testing.T, s *stream, kills, total int) {
	t.Helper()
	scorers := [2]*running{s.scorer(start), s.scorer(start)}
	for _, p := range scorers {
		p.ready()
	}
	// Two kills for each burst, and two bursts at the end.
	burst := total / ((kills+1)/2 + 2)
	began := time.Now()
	for done := 0; done < kills; {
		one, other := &scorers[done/2%2], &scorers[1-done/2%2]
		s.settle() // or answers of the last burst would be taken for new ones
		s.send(burst)
		s.answers(1)
		(*one).kill()
		done++
		switch {
		case done == kills:
		case done%4 == 1:
			*one = s.scorer(start)
			s.read(time.Duration(done)*20*time.Millisecond, func() bool { return false }) // some moment of its start
			(*one).kill()
			done++
		default:
			(*other).kill()
			*other = s.scorer(start)
			done++
		}
		*one = s.scorer(start)
	}
	s.settle()
	killed := time.Since(began)

	for _, p := range scorers {
		p.ready()
	}
	s.send(burst)
	scorers[0].stop() // drains in the midst of it, and the other takes over
	scorers[0] = s.scorer(start)
	s.send(total - len(s.sent))
	scorers[0].ready()
	s.settle()
	for _, p := range scorers {
		p.stop()
	}
	if got := s.committed(); got != len(s.sent) {
		t.Errorf("all is answered and the scorers have drained, but the group lags by %d", len(s.sent)-got)
	}
	repeats := s.verdict()
	t.Logf("%d messages, %d kills in %.0f s, %d repeats, %.0f s in all", len(s.sent), kills, killed.Seconds(), repeats,
		time.Since(began).Seconds())
}
