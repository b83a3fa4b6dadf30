package httpapi_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// direct asks the handler without a connection; false if no client can send the path.
func direct(t *testing.T, api *httpapi.API, method, path, body string) (answer, bool) {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(u.Path, "/v1/predictions/stream") ||
		u.Path == "/metrics" {
		return answer{}, false
	}
	r := (&http.Request{
		Method: method, URL: u, Host: "localhost", Header: http.Header{"Content-Type": {"application/json"}},
	}).WithContext(t.Context())
	r.Body = http.NoBody
	if body != "" {
		r.Body = readCloser{strings.NewReader(body)}
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}, true
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// watcher reads a stream of predictions.
type watcher struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	id     string
	lost   int
}

func (s *site) watch(t *testing.T, path, lastID string) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v", response)
	}
	w := &watcher{t: t, lines: bufio.NewScanner(response.Body), cancel: cancel}
	if !w.lines.Scan() || w.lines.Text() != "retry: 2000" {
		t.Fatalf("the stream begins with %q", w.lines.Text())
	}
	return w
}

// next returns the data of the next prediction, "" at the end.
func (w *watcher) next() string {
	w.t.Helper()
	event := ""
	for w.lines.Scan() {
		field, text, _ := strings.Cut(w.lines.Text(), ": ")
		switch {
		case field == "id":
			w.id = text
		case field == "event":
			event = text
		case field == "data" && event == "lost":
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(text, `{"lost":`), "}"))
			if err != nil {
				w.t.Errorf("%q", text)
			}
			w.lost += n
			event = ""
		case field == "data":
			return text
		}
	}
	return ""
}

func publish(l *httpapi.Live, from, to int) {
	for i := from; i < to; i++ {
		l.Publish(fmt.Appendf(nil, `{"n":%d}`, i))
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	publish(s.live, 0, 10) // before anybody watches
	w := s.watch(t, "/v1/predictions/stream", "")
	recent := s.watch(t, "/v1/predictions/stream?recent=3", "")
	publish(s.live, 10, 20)
	for i := 10; i < 20; i++ {
		same(t, "event", fmt.Sprintf(`{"n":%d}`, i), w.next())
	}
	for i := 7; i < 20; i++ {
		same(t, "recent event", fmt.Sprintf(`{"n":%d}`, i), recent.next())
	}
	// It goes on where the client was cut off, and with what is new for ids of another process or of nobody.
	w.cancel()
	publish(s.live, 20, 25)
	again := s.watch(t, "/v1/predictions/stream", w.id)
	same(t, "event after the last seen", `{"n":20}`, again.next())
	for _, id := range []string{"x-1", "-", "1", secret, w.id + "0000"} {
		stranger := s.watch(t, "/v1/predictions/stream", id)
		publish(s.live, 30, 31)
		same(t, "event of a stranger", `{"n":30}`, stranger.next())
	}
	if again.lost+w.lost+recent.lost != 0 {
		t.Error("events are reported as lost")
	}
}

// TestSlowClient: what the ring no longer has is lost, and its number is reported.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	publish(s.live, 0, 1)
	w := s.watch(t, "/v1/predictions/stream?recent=1", "")
	same(t, "event", `{"n":0}`, w.next())
	const n = 5000
	publish(s.live, 1, n)
	got := 1
	for last := ""; last != fmt.Sprintf(`{"n":%d}`, n-1); got++ {
		last = w.next()
	}
	if w.lost == 0 || got+w.lost != n {
		t.Errorf("%d events, %d lost, of %d", got, w.lost, n)
	}
}

// TestLargeEvent: a prediction that is too large to keep is reported as lost; those around it come.
func TestLargeEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	w := s.watch(t, "/v1/predictions/stream", "")
	publish(s.live, 0, 1)
	s.live.Publish(make([]byte, 32<<10+1))
	publish(s.live, 1, 2)
	same(t, "event", `{"n":0}`, w.next())
	same(t, "event", `{"n":1}`, w.next())
	if w.lost != 1 {
		t.Errorf("%d lost", w.lost)
	}
}

func TestPublishFromMany(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	w := s.watch(t, "/v1/predictions/stream", "")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { publish(s.live, 0, 100) })
	}
	counts := map[string]int{}
	for range 800 {
		counts[w.next()]++
	}
	all.Wait()
	if len(counts) != 100 || counts[`{"n":99}`] != 8 || w.lost != 0 {
		t.Errorf("%d kinds of events, %d of the last, %d lost", len(counts), counts[`{"n":99}`], w.lost)
	}
}

// TestDrain: streams end when the process drains, after what was published.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	w := s.watch(t, "/v1/predictions/stream", "")
	publish(s.live, 0, 1)
	s.live.Close()
	same(t, "last event", `{"n":0}`, w.next())
	same(t, "end", "", w.next())
}

// TestManyViewers: streams of all routes together are counted, and bounded for each token and in all.
func TestManyViewers(t *testing.T) {
	t.Parallel()
	const most, each = 4096, 1024 // as docs/api.md says
	var opened, ended sync.WaitGroup
	end := make(chan struct{})
	names := []string{"a", "b", "c", "d", "late"}
	s := newSite(t, func(o *httpapi.Options) {
		o.Access.Tokens = func() (all []httpapi.Token) {
			for _, name := range names {
				all = append(all, httpapi.Token{Name: name, Role: httpapi.Viewer, Sum: sha256.Sum256([]byte(name))})
			}
			return all
		}
		o.Routes = []httpapi.Route{{Pattern: "GET /page/stream", Stream: true, Handler: http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { opened.Done(); <-end })}}
	})
	watch := func(token string, viewers int) {
		opened.Add(viewers)
		for range viewers {
			ended.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
					"http://localhost/page/stream", http.NoBody)
				r.Header.Set("Authorization", "Bearer "+token)
				s.api.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		opened.Wait()
	}
	full := func(token string, status int) {
		for _, path := range []string{"/page/stream", "/v1/predictions/stream"} {
			got := s.ask("GET "+path, "", with(nil, "Authorization", "Bearer "+token))
			same(t, path, "too_many_viewers", s.problem(path, got, status))
			same(t, path, "30", got.header.Get("Retry-After"))
		}
	}
	for _, token := range names[:most/each] {
		watch(token, each)
		if token == "a" {
			full(token, http.StatusTooManyRequests)
		}
	}
	full("late", http.StatusServiceUnavailable)
	if got := s.ask("GET /metrics", "", with(nil, "Authorization", "Bearer a")); !strings.Contains(got.body,
		"\nwardcast_live_viewers 4096\n") {
		t.Errorf("the metrics lack the viewers:\n%s", got.body)
	}
	close(end)
	ended.Wait()
	same(t, "a stream after the others", http.StatusOK,
		s.ask("HEAD /v1/predictions/stream", "", with(nil, "Authorization", "Bearer a")).status)
}

// TestNamelessViewers: callers without a token have half of all streams together.
func TestNamelessViewers(t *testing.T) {
	t.Parallel()
	const most = 2048 // as docs/api.md says
	var opened, ended sync.WaitGroup
	end := make(chan struct{})
	opened.Add(most)
	s := newSite(t, func(o *httpapi.Options) {
		o.Routes = []httpapi.Route{{Pattern: "GET /page/stream", Stream: true, Handler: http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { opened.Done(); <-end })}}
	})
	for range most {
		ended.Go(func() { direct(t, s.api, http.MethodGet, "/page/stream", "") })
	}
	opened.Wait()
	same(t, "one more", "too_many_viewers",
		s.problem("one more", s.ask("GET /page/stream", "", nil), http.StatusTooManyRequests))
	close(end)
	ended.Wait()
}

// BenchmarkPublish measures what the scorer pays for each of 100 published predictions a second, by clients that read
// nothing: their streams fill up and stay so.
func BenchmarkPublish(b *testing.B) {
	value := []byte(`{"visit_id":"` + strings.Repeat("x", 2000) + `"}`)
	for _, clients := range []int{0, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s := newSite(b, nil)
			for range clients {
				slowClient(b, s)
			}
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			var took []time.Duration
			for b.Loop() {
				<-tick.C
				began := time.Now()
				s.live.Publish(value)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(0, "ns/op") // the pace
			b.ReportMetric(float64(took[len(took)/2]), "ns-p50")
			b.ReportMetric(float64(took[len(took)*99/100]), "ns-p99")
		})
	}
}

// slowClient asks for the stream and reads nothing.
func slowClient(b *testing.B, s *site) {
	b.Helper()
	c, err := new(net.Dialer).DialContext(b.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := fmt.Fprintf(c, "GET /v1/predictions/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		b.Fatal(err)
	}
}
