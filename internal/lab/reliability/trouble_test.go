//go:build linux

package reliability_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// The load of the trial: notes a second by Kafka, and the pause between messages of HL7.
const (
	notesRate  = 50
	hl7Every   = 500 * time.Millisecond
	calmLength = 20 * time.Second
	// lastly is how long the trial takes to hold all against the truth in the end.
	lastly = 2 * time.Minute
)

// seed draws the order of the faults and how long each lasts: another one each day, or WARDCAST_TRIAL_SEED.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := cmp.Or(os.Getenv("WARDCAST_TRIAL_SEED"), time.Now().UTC().Format("20060102"))
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("WARDCAST_TRIAL_SEED: %v", err)
	}
	t.Logf("WARDCAST_TRIAL_SEED=%d repeats the faults", n)
	return n
}

// trial is all that TestReliability does things to.
type trial struct {
	*site
	rand    *rand.Rand
	longest time.Duration // of a fault
	l       *ledger
	w       *watch
	bridge  *process

	mu      sync.Mutex
	scorers []*process

	stopReading             func()
	trained, rolled, killed int
	happened                []event
}

// event is something that was done. It lasts until the next.
type event struct {
	what     []string
	from, to time.Time
}

// fault is something that is done to the site for a while.
type fault struct {
	what string
	do   func(r *rand.Rand, d time.Duration)
}

// TestReliability: three brokers, three scorers, a bridge and retraining, with one fault after another to one of them,
// to the network or the disks, and often two at once. At the end every note by its id has become a prediction, a dead
// letter or an erasure, what was said twice was said alike, and no page or metric has lied for long.
func TestReliability(t *testing.T) {
	began, total := time.Now(), length(t)
	random := rand.New(rand.NewPCG(seed(t), 0)) //nolint:gosec // repeatable
	c := startCluster(t)
	s := newSite(t, c)
	x := &trial{site: s, rand: random, longest: min(total/30, time.Minute), l: c.ledger(s.notes)}
	key, err := os.ReadFile(s.path("bridge.key"))
	if err == nil {
		x.l.key, err = hex.DecodeString(strings.TrimSpace(string(key)))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		x.scorers = append(x.scorers, s.scorer(name))
	}
	x.bridge = s.process("bridge", bridgeAddress, "bridge", "--config", s.path("wardcast.yaml"))
	x.w = &watch{site: s, l: x.l, false: map[string]*falsehood{}, scorers: x.current}

	x.read()
	stopLetters := background(t, func(ctx context.Context) error { return x.l.read(ctx, letters) })
	stopFeeding := background(t, func(ctx context.Context) error { return x.l.feed(ctx, notesRate) })
	stopLeaving := background(t, x.l.discharge)
	stopHospital := background(t, func(ctx context.Context) error { return x.l.hospital(ctx, x.bridge.host, hl7Every) })
	stopWatching := background(t, x.w.run)

	x.suffer(began.Add(total - lastly))
	x.w.setCalm(true)
	x.exact()
	stopWatching()
	stopHospital()
	stopFeeding()
	stopLeaving()
	pause(t, 5*time.Second) // for repeats
	x.stopReading()
	stopLetters()
	x.report(began)
}

// current returns the scorers.
func (x *trial) current() []*process {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.scorers)
}

// read takes down the predictions, until stopReading.
func (x *trial) read() {
	x.stopReading = background(x.T, func(ctx context.Context) error { return x.l.read(ctx, answers) })
}

// suffer does one fault after another until end. Two of three turns have one of the brokers or the network, and two of
// three one of the program.
func (x *trial) suffer(end time.Time) {
	outside, inside := x.deck(x.outside()), x.deck(x.inside())
	for turn := 0; time.Now().Before(end); turn++ {
		pause(x.T, calmLength)
		if turn%5 == 4 { // time for what is only said after a while of calm
			pause(x.T, settled)
		}
		x.w.setCalm(false)
		e := event{from: time.Now()}
		var all sync.WaitGroup
		do := func(f fault, after time.Duration) {
			d := time.Duration((.25 + .75*x.rand.Float64()) * float64(x.longest))
			e.what = append(e.what, f.what)
			x.Logf("%s: %s, %.0f s", time.Now().Format(time.TimeOnly), f.what, d.Seconds())
			own := rand.New(rand.NewPCG(x.rand.Uint64(), 0)) //nolint:gosec // repeatable
			all.Go(func() { pause(x.T, after); f.do(own, d) })
		}
		if turn%3 != 1 {
			do(outside(), 0)
		}
		if turn%3 != 0 {
			do(inside(), time.Duration(x.rand.Float64()*float64(x.longest)/3))
		}
		all.Wait()
		x.w.setCalm(true)
		e.to = time.Now()
		x.happened = append(x.happened, e)
		if x.Failed() && x.Context().Err() != nil {
			return
		}
	}
}

// deck returns a function that draws one of the faults, each once before any comes again.
func (x *trial) deck(faults []fault) func() fault {
	var left []fault
	return func() fault {
		if len(left) == 0 {
			left = slices.Clone(faults)
			x.rand.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		}
		f := left[0]
		left = left[1:]
		return f
	}
}

func (x *trial) anyBroker(r *rand.Rand) *broker  { return x.c.brokers[r.IntN(len(x.c.brokers))] }
func (x *trial) anyScorer(r *rand.Rand) *process { return x.scorers[r.IntN(len(x.scorers))] }

// outside are the faults of brokers, disks and network. None begins before another has ended.
func (x *trial) outside() []fault {
	killed := func(of func(r *rand.Rand) *broker) func(r *rand.Rand, d time.Duration) {
		return func(r *rand.Rand, d time.Duration) { b := of(r); b.kill(); pause(x.T, d); b.up() }
	}
	denied := func(topic string, op kadm.ACLOperation) func(r *rand.Rand, d time.Duration) {
		return func(_ *rand.Rand, d time.Duration) { giveBack := x.c.deny(topic, op); pause(x.T, d); giveBack() }
	}
	return []fault{
		{"a broker is killed", killed(x.anyBroker)},
		{
			"the leader of a partition is killed",
			killed(func(r *rand.Rand) *broker { return x.c.leader(int32(r.IntN(partitions))) }),
		},
		{"all brokers are killed at once", func(_ *rand.Rand, d time.Duration) {
			for _, b := range x.c.brokers {
				b.signal(syscall.SIGKILL)
			}
			for _, b := range x.c.brokers {
				<-b.ended
			}
			pause(x.T, d/2)
			for _, b := range x.c.brokers {
				b.start()
			}
			for _, b := range x.c.brokers {
				b.answers()
			}
		}},
		{"a broker is halted", func(r *rand.Rand, d time.Duration) {
			b := x.anyBroker(r)
			b.signal(syscall.SIGSTOP)
			pause(x.T, d)
			b.signal(syscall.SIGCONT)
		}},
		{"a broker is off the network", func(r *rand.Rand, d time.Duration) {
			b := x.anyBroker(r)
			b.cut()
			pause(x.T, d)
			b.join()
		}},
		{"two brokers do not reach each other", func(r *rand.Rand, d time.Duration) {
			a := x.anyBroker(r)
			b := x.c.brokers[a.id%len(x.c.brokers)]
			a.miss(b.host)
			b.miss(a.host)
			pause(x.T, d)
			a.find(b.host)
			b.find(a.host)
		}},
		{"a broker's disk stands still", func(r *rand.Rand, d time.Duration) {
			b := x.anyBroker(r)
			b.disk.freeze()
			pause(x.T, d)
			b.disk.thaw()
		}},
		{"a broker's disk is slow", func(r *rand.Rand, d time.Duration) {
			b := x.anyBroker(r)
			for end := time.Now().Add(d); time.Now().Before(end); pause(x.T, 200*time.Millisecond) {
				b.disk.freeze()
				pause(x.T, 2*time.Second)
				b.disk.thaw()
			}
		}},
		{"a broker's disk is full", func(r *rand.Rand, d time.Duration) {
			b := x.anyBroker(r)
			b.disk.fill()
			pause(x.T, d)
			b.disk.empty()
			select {
			case <-b.ended: // it gives up when it cannot write
				b.up()
			default:
				b.kill()
				b.up()
			}
		}},
		{"predictions may not be written", denied(answers, kadm.OpWrite)},
		{"notes may not be read", denied(notesTopic, kadm.OpRead)},
		{"dead letters may not be written", x.permanent},
		{"the topic of predictions is deleted and made anew", func(_ *rand.Rand, d time.Duration) {
			// What the brokers have deleted nobody can read, so nothing is under way when it goes.
			x.l.pause(true)
			x.l.everybodyLeaves()
			x.stopReading()
			x.c.delete(answers)
			x.l.pause(false)
			pause(x.T, d)
			x.c.create(answers, partitions, nil)
			x.read()
		}},
	}
}

// permanent takes away the right to write dead letters while a record must become one. Its partition waits, and is
// named in log, metric and readiness, until soon after the permission is given.
func (x *trial) permanent(_ *rand.Rand, d time.Duration) {
	giveBack := x.c.deny(letters, kadm.OpWrite)
	defer giveBack()
	n := x.l.open("", poison)
	x.l.produce(n, &kgo.Record{Value: []byte("no note")})
	await(x.T, "scorer that names the partition", func() bool {
		return slices.ContainsFunc(x.current(), func(p *process) bool {
			code, body := p.get("/readyz")
			return code == http.StatusServiceUnavailable &&
				strings.Contains(body, fmt.Sprintf("partition %d ", n.partition)) &&
				p.logged(`"ERROR"`, fmt.Sprintf(`"partition":%d`, n.partition), "[29]") &&
				p.metric(`wardcast_ingest_permanent_errors_total{code="29"`) > 0 &&
				p.metric("wardcast_ingest_blocked_partitions") > 0
		})
	})
	pause(x.T, d)
	giveBack()
	mended := time.Now()
	await(x.T, "dead letter", func() bool {
		x.l.mu.Lock()
		defer x.l.mu.Unlock()
		return n.dead
	})
	if took := time.Since(mended); took > time.Minute {
		x.Errorf("the partition goes on %s after the permission is given back", took)
	}
}

// inside are the faults of the program's processes and of what they are given.
func (x *trial) inside() []fault {
	return []fault{
		{"a scorer is killed", func(r *rand.Rand, d time.Duration) {
			p := x.anyScorer(r)
			p.kill()
			pause(x.T, d)
			p.start()
		}},
		{"all scorers are drained and started, one by one", func(*rand.Rand, time.Duration) {
			for _, p := range x.current() {
				p.restart()
			}
		}},
		{"a scorer is halted", func(r *rand.Rand, d time.Duration) {
			p := x.anyScorer(r)
			p.halt()
			pause(x.T, d)
			p.resume()
		}},
		{"a scorer is off the network", func(r *rand.Rand, d time.Duration) {
			p := x.anyScorer(r)
			p.lose()
			pause(x.T, d)
			p.regain()
		}},
		{"a scorer does not reach a leader", func(r *rand.Rand, d time.Duration) {
			p, b := x.anyScorer(r), x.c.leader(int32(r.IntN(partitions)))
			p.host.miss(b.host)
			pause(x.T, d)
			p.host.find(b.host)
		}},
		{"scorers come and go", func(_ *rand.Rand, d time.Duration) {
			p := x.scorer(fmt.Sprintf("guest%d", x.hosts))
			x.mu.Lock()
			x.scorers = append(x.scorers, p)
			x.mu.Unlock()
			pause(x.T, d)
			x.mu.Lock()
			x.scorers = slices.DeleteFunc(x.scorers, func(o *process) bool { return o == p })
			x.mu.Unlock()
			p.stop()
		}},
		{"the bridge is killed", func(_ *rand.Rand, d time.Duration) {
			x.bridge.kill()
			pause(x.T, d)
			x.bridge.start()
		}},
		{"the bridge is off the network", func(_ *rand.Rand, d time.Duration) {
			x.bridge.lose()
			pause(x.T, d)
			x.bridge.regain()
		}},
		{"a retraining is killed", func(_ *rand.Rand, d time.Duration) {
			before := x.champion()
			ended := x.retrain(nil)
			select {
			case <-ended.done:
			case <-time.After(d / 2):
				_ = ended.cmd.Process.Kill() // it may have ended
				<-ended.done
				x.killed++
			}
			x.sound("after a retraining was killed, with " + before + " before")
		}},
		{"a retraining promotes, and is rolled back", func(*rand.Rand, time.Duration) {
			run := x.retrain(nil)
			<-run.done
			x.trained++
			pause(x.T, pollEvery)
			if out, err := x.run(nil, "models", "rollback", "--model-dir", x.store.folder, "--signing-key",
				x.path("key"),
				"--trusted-keys", x.path("key.pub"), "--why", "trial"); err != nil {
				x.Errorf("a rollback: %v\n%s", err, out)
			}
			x.rolled++
		}},
		{"a retraining finds the disk full", func(*rand.Rand, time.Duration) {
			before := x.champion()
			x.store.fill()
			run := x.retrain(nil)
			<-run.done
			if after := x.champion(); run.cmd.ProcessState.ExitCode() == 0 || after != before {
				x.Errorf("a retraining on a full disk ends with %d, and %s is served after %s",
					run.cmd.ProcessState.ExitCode(), after, before)
			}
			x.store.empty()
			x.sound("after the disk was full")
		}},
		{"records that are no notes", func(_ *rand.Rand, d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); pause(x.T, 2*time.Second) {
				x.l.poison()
			}
		}},
		{"the token is replaced", func(_ *rand.Rand, d time.Duration) {
			x.rotate()
			pause(x.T, max(d, revoked+5*time.Second))
		}},
	}
}

// training is a run of retrain.
type training struct {
	cmd  *exec.Cmd
	said *ingesttest.Log
	done chan struct{}
}

// retrain begins a retraining, on a host or the trial's own.
func (x *trial) retrain(h *host) *training {
	args := []string{"retrain", "--once", "--config", x.path("wardcast.yaml"), "--force", "--why", "trial"}
	//nolint:gosec // the test's own words
	r := &training{
		cmd:  exec.CommandContext(context.WithoutCancel(x.Context()), x.program, args...),
		said: &ingesttest.Log{}, done: make(chan struct{}),
	}
	if h != nil {
		r.cmd = h.command(append([]string{x.program}, args...)...)
	}
	r.cmd.Stdout, r.cmd.Stderr = r.said, r.said
	if err := r.cmd.Start(); err != nil {
		x.Fatal(err)
	}
	go func() {
		err := r.cmd.Wait()
		if err != nil && r.cmd.ProcessState.ExitCode() != -1 { // it was not killed
			lines := strings.Split(strings.TrimSpace(r.said.String()), "\n")
			x.Logf("a retraining: %v: %s", err, lines[len(lines)-1])
		}
		close(r.done)
	}()
	return r
}

// sound checks that the store is whole.
func (x *trial) sound(when string) {
	x.Helper()
	if out, err := x.run(nil, "models", "verify", "--model-dir", x.store.folder, "--trusted-keys",
		x.path("key.pub")); err != nil {
		x.Errorf("%s: %v\n%s", when, err, out)
	}
}

// exact holds metrics and pages against the truth when all is over, to the last record.
func (x *trial) exact() {
	x.l.pause(true)
	x.l.everybodyLeaves()
	pause(x.T, settled)
	x.compare(x.w.counters(), map[string]float64{"partitions": partitions})
	before := x.w.counters()
	x.l.mu.Lock()
	sent := len(x.l.notes)
	x.l.mu.Unlock()
	x.l.poison()
	x.l.pause(false)
	pause(x.T, 20*time.Second)
	x.l.pause(true)
	x.l.everybodyLeaves()
	pause(x.T, 10*time.Second)
	after, truth := x.w.counters(), map[string]float64{"partitions": partitions}
	x.l.mu.Lock()
	for _, n := range x.l.notes[sent:] {
		truth[[]string{good: "answered", bridged: "answered", poison: "dead_letter", erasure: "erased"}[n.kind]]++
	}
	x.l.mu.Unlock()
	for _, name := range []string{"answered", "dead_letter", "erased"} {
		after[name] -= before[name]
	}
	x.compare(after, truth)
	for _, p := range x.current() {
		if code, body := p.get("/v1/waiting?limit=1"); code != 200 || !strings.Contains(body, `"total":0,`) {
			x.Errorf("%s says who waits, when nobody does: %d %.300s", p.host.name, code, body)
		}
	}
	lags, err := kadm.NewClient(x.l.producer).Lag(x.Context(), "wardcast")
	if err != nil || lags["wardcast"].Lag.Total() != 0 {
		x.Errorf("the group has not committed all that was sent: %d, %v", lags["wardcast"].Lag.Total(), err)
	}
}

// compare compares readings of counters with the truth, in which absent is 0.
func (x *trial) compare(said, truth map[string]float64) {
	x.Helper()
	for name, v := range said {
		_, counted := map[string]bool{"answered": true, "dead_letter": true, "erased": true}[name]
		if _, known := truth[name]; (known || !counted) && v != truth[name] {
			x.Errorf("in the end %s is %g, truly %g", name, v, truth[name])
		}
	}
}

// report writes what became of all, and fails the test if anything was lost, said in two ways or a lie.
func (x *trial) report(began time.Time) {
	lost, wrong := x.l.missing()
	kinds := map[kind]int{}
	for _, n := range x.l.notes {
		kinds[n.kind]++
	}
	x.Logf("%d notes by Kafka, %d by the bridge, %d that are none, %d erasures, in %s", kinds[good], kinds[bridged],
		kinds[poison], kinds[erasure], time.Since(began).Round(time.Second))
	x.Logf("%d lost, %d became what they should not, %d answers to nobody", lost, wrong, x.l.stray)
	x.Logf("%d repeated, of which %d unlike; %d answered by another model too", x.l.repeated, x.l.unalike, x.l.others)
	x.Logf("%d retrainings, %d rolled back, %d killed, %d tokens replaced", x.trained, x.rolled, x.killed,
		len(x.retired))
	x.Logf("waits: %s; longest time without an answer %s", summary(x.l.waits(func(*note) bool { return true })),
		x.l.gap(began, x.happened[len(x.happened)-1].to).Round(time.Millisecond))
	alone := map[string]time.Duration{}
	for i, e := range x.happened {
		to := e.to // after the last, sending pauses
		if i+1 < len(x.happened) {
			to = x.happened[i+1].from
		}
		gap := x.l.gap(e.from, to)
		x.Logf("%-110s %4.0f s, longest time without an answer %8s, waits: %s", strings.Join(e.what, " + "),
			e.to.Sub(e.from).Seconds(), gap.Round(time.Millisecond),
			summary(x.l.waits(func(n *note) bool { return n.sent.After(e.from) && n.sent.Before(to) })))
		if len(e.what) == 1 {
			alone[e.what[0]] = max(alone[e.what[0]], gap)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(alone)) {
		x.Logf("alone: %-60s %s", what, alone[what].Round(time.Millisecond))
	}
	lies := x.w.lies()
	x.Logf("%d statements were held against the truth, %d lies:\n%s", x.w.asked, len(lies), strings.Join(lies, "\n"))
	if lost+wrong+x.l.unalike+x.l.stray+len(lies) > 0 {
		x.Error("notes were lost, or something was said in two ways or wrongly")
	}
}

// summary tells of sorted durations.
func summary(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	at := func(q float64) string {
		return strconv.FormatFloat(d[int(q*float64(len(d)-1))].Seconds(), 'f', 1, 64) + " s"
	}
	return fmt.Sprintf("median %s, 99 %% %s, longest %s", at(.5), at(.99), at(1))
}
