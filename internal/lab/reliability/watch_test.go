//go:build linux

package reliability_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// watch asks the processes every second what they say of themselves, and holds it against what the ledger and the trial
// know. A statement that stays false for longer than it may is a lie.
type watch struct {
	*site
	l       *ledger
	scorers func() []*process

	mu    sync.Mutex
	calm  time.Time             // since when nothing is done to anybody; zero while something is
	false map[string]*falsehood // by the statement and who makes it
	asked int
}

type falsehood struct {
	since, last time.Time
	longest     time.Duration
	lies        int
	example     string
}

// The limits of what is a lie.
const (
	cutOff    = 45 * time.Second // ready_after_stall, and a session
	settled   = 45 * time.Second // of calm, after which nothing may be in trouble
	pollEvery = 15 * time.Second // models.poll, and time to load
	revoked   = 10 * time.Second
	news      = 35 * time.Second // how old a list may be that is dated now
)

// setCalm says that nothing is done to anybody from now on, or that something is.
func (w *watch) setCalm(calm bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = time.Time{}
	if calm {
		w.calm = time.Now()
	}
}

func (w *watch) calmFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calm.IsZero() {
		return 0
	}
	return time.Since(w.calm)
}

// claim notes whether a statement is false now. It is a lie once it has been false for longer than may be.
func (w *watch) claim(what string, isFalse bool, may time.Duration, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	now := time.Now()
	f := w.false[what]
	if !isFalse {
		if f != nil {
			f.since = time.Time{}
		}
		return
	}
	if f == nil {
		f = &falsehood{}
		w.false[what] = f
	}
	if f.since.IsZero() || now.Sub(f.last) > 10*time.Second { // in between it was not asked
		f.since = now
	}
	f.last = now
	lasted := now.Sub(f.since)
	if lasted > may && f.longest <= may || lasted > may && f.lies == 0 {
		f.lies++
		f.example = detail
		w.Logf("%s: a lie: %s: %s", now.Format(time.TimeOnly), what, detail)
	}
	f.longest = max(f.longest, lasted)
}

// lies returns the statements that were false for too long.
func (w *watch) lies() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(w.false)) {
		if f := w.false[what]; f.lies > 0 {
			all = append(all, fmt.Sprintf("%s: for up to %.0f s, such as %s", what, f.longest.Seconds(), f.example))
		}
	}
	return all
}

// look is what a scorer says at a moment.
type look struct {
	p       *process
	ready   int
	why     string
	metrics string
}

// run watches until ctx ends.
func (w *watch) run(ctx context.Context) error {
	lag := []int{} // the truth of the last seconds
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		var looks []look
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, p := range w.scorers() {
			p.lock.Lock()
			up, reachable, away, since := p.up, p.reachable, p.away, time.Since(p.changed)
			p.lock.Unlock()
			if !up || !reachable {
				continue
			}
			all.Go(func() {
				if s := w.ask(ctx, p, away, since); s != nil {
					mu.Lock()
					defer mu.Unlock()
					looks = append(looks, *s)
				}
			})
		}
		all.Wait()
		b := w.l.balance()
		lag = append(lag, b.sent-b.done)
		lag = lag[max(0, len(lag)-20):]
		w.together(looks, b, lag)
	}
}

// ask asks one scorer, and judges what it says alone.
func (w *watch) ask(ctx context.Context, p *process, away bool, since time.Duration) *look {
	name := " (" + p.host.name + ")"
	code, why := p.get("/readyz")
	_, metrics := p.get("/metrics")
	if code == 0 || metrics == "" {
		w.claim("it answers"+name, w.calmFor() > settled && since > settled, 5*time.Second, "no answer over HTTP")
		return nil
	}
	calm := w.calmFor() > settled && since > settled
	w.claim("ready, off the network"+name, away && code == http.StatusOK, cutOff, "200")
	w.claim("not ready, in calm"+name, calm && code != http.StatusOK, 5*time.Second, why)
	for _, trouble := range []string{
		"wardcast_ingest_topic_missing", "wardcast_ingest_blocked_partitions", "wardcast_model_refused",
		"wardcast_model_history_disagrees", "wardcast_beds_fit_damaged",
	} {
		v := sumOf(metrics, trouble)
		w.claim(trouble+" in calm"+name, calm && v != 0, 5*time.Second, fmt.Sprint(v))
	}
	oldest := sumOf(metrics, "wardcast_ingest_oldest_unanswered_seconds")
	w.claim("an old note in calm"+name, calm && oldest > 30, 5*time.Second, fmt.Sprintf("%.0f s", oldest))
	w.models(p, name)
	w.tokens(p, name)
	w.waiting(ctx, p, name)
	return &look{p, code, why, metrics}
}

// models: the generation in use is the champion.
func (w *watch) models(p *process, name string) {
	before := w.champion()
	code, body := p.get("/v1/models")
	var said struct{ Generation string }
	if code != http.StatusOK || json.Unmarshal([]byte(body), &said) != nil {
		return
	}
	if after := w.champion(); before == after && before != "" {
		w.claim("another generation than the champion"+name, said.Generation != after, pollEvery,
			said.Generation+", not "+after)
	}
}

// tokens: the last one that was taken away is refused, and its successor accepted.
func (w *watch) tokens(p *process, name string) {
	w.site.mu.Lock()
	token, old := w.token, ""
	if i := len(w.retired); i > 0 {
		old = w.retired[i-1]
	}
	w.site.mu.Unlock()
	code, _ := p.getWith(token, "/v1/models")
	w.claim("the new token is refused"+name, code == http.StatusUnauthorized, revoked, "401")
	if old != "" {
		code, _ = p.getWith(old, "/v1/models")
		w.claim("the old token is accepted"+name, code == http.StatusOK, revoked, "200")
	}
}

// waiting: who waits at the time that the list is of.
func (w *watch) waiting(ctx context.Context, p *process, name string) {
	code, body := p.get("/v1/waiting?limit=1")
	var said struct {
		At    time.Time `json:"as_of"`
		Total int
	}
	if code != http.StatusOK || json.Unmarshal([]byte(body), &said) != nil {
		return
	}
	go func() {
		wait(ctx, patience)
		if ctx.Err() != nil {
			return
		}
		low, high := w.l.waiting(said.At, news)
		w.claim("how many wait"+name, said.Total < low || said.Total > high, 3*time.Second,
			fmt.Sprintf("%d at %s, truly %d to %d", said.Total, said.At.Format(time.TimeOnly), low, high))
	}()
}

// together judges what all scorers say: somebody must name what is wrong.
func (w *watch) together(looks []look, b balance, lag []int) {
	if len(looks) == 0 {
		return
	}
	said, unknown, readyAll := 0., 0., true
	for _, s := range looks {
		said += sumOf(s.metrics, "wardcast_ingest_lag_records")
		unknown += sumOf(s.metrics, "wardcast_ingest_lag_unknown_partitions")
		readyAll = readyAll && s.ready == http.StatusOK
	}
	w.claim("all are ready while nothing is answered", readyAll && b.waited > time.Minute && b.since > cutOff,
		5*time.Second, fmt.Sprintf("the oldest note waits %.0f s, the last answer is %.0f s old", b.waited.Seconds(),
			b.since.Seconds()))
	least, most := slices.Min(lag), slices.Max(lag)
	w.claim("the lag is less than half of the truth", unknown == 0 && said < float64(least)/2 && least > 500, cutOff,
		fmt.Sprintf("%.0f, truly %d to %d", said, least, most))
	w.claim("the lag is more than twice the truth", said > 2*float64(most)+500, cutOff,
		fmt.Sprintf("%.0f, truly %d to %d", said, least, most))
	calm := w.calmFor() > settled
	w.claim("a lag in calm", calm && said > float64(most)+100, 5*time.Second,
		fmt.Sprintf("%.0f, truly %d to %d", said, least, most))
}

// exactly holds what the counters of the scorers say of the records since an earlier reading against the truth.
func (w *watch) counters() map[string]float64 {
	sums := map[string]float64{}
	for _, p := range w.scorers() {
		_, text := p.get("/metrics")
		for _, disposition := range []string{"answered", "dead_letter", "erased"} {
			sums[disposition] += sumOf(text,
				`wardcast_ingest_records_total{disposition="`+disposition+`",stream="triage"}`)
		}
		for _, zero := range []string{
			"wardcast_ingest_lag_records", "wardcast_ingest_oldest_unanswered_seconds",
			"wardcast_ingest_in_flight_records",
			"wardcast_ingest_blocked_partitions", "wardcast_ingest_handler_panics_total",
			"wardcast_beds_patients_waiting",
		} {
			if v := sumOf(text, zero); v != 0 {
				sums[zero+" of "+p.host.name] = v
			}
		}
		sums["partitions"] += sumOf(text, "wardcast_ingest_assigned_partitions")
		if !strings.Contains(text, "wardcast_ingest_ready") {
			w.Errorf("%s has no metrics", p.host.name)
		}
	}
	return sums
}
