package httpapi_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

const note = `{"schema_version":"1","visit_id":"` + secret + `","text":"hip pain ` + secret +
	`","complaint":"Chest pain"}`

const reason = `{"reason":"reviewed by the triage board"}`

// TestRoles asks every route as nobody, as a viewer and as an operator.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Access = httpapi.Access{Tokens: tokens}
		page := func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(httpapi.CallerOf(r.Context()).Name))
		}
		o.Routes = []httpapi.Route{{Pattern: "GET /page", Role: httpapi.Viewer, Handler: http.HandlerFunc(page)}}
	})
	wrong := map[string]string{"Authorization": "Bearer " + strings.Repeat("0", 30)}
	basic := with(nil, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("any:"+viewerToken)))
	for _, c := range []struct {
		what, body               string
		nobody, viewer, operator int
	}{
		{"GET /healthz", "", 200, 200, 200},
		{"GET /readyz", "", 200, 200, 200},
		{"GET /metrics", "", 401, 200, 200},
		{"GET /page", "", 401, 200, 200},
		{"POST /v1/predictions", note, 401, 200, 200},
		{"HEAD /v1/predictions/stream", "", 401, 200, 200},
		{"GET /v1/models", "", 401, 200, 200},
		{"GET /v1/models/_other/topics", "", 401, 200, 200},
		{"GET /v1/generations", "", 401, 200, 200},
		{"GET /v1/history", "", 401, 200, 200},
		{"GET /v1/topics/search?q=hip", "", 401, 501, 501},
		{"GET /v1/bed-demand", "", 401, 501, 501},
		{"POST /v1/generations/none/promote", reason, 401, 403, 404},
		{"POST /v1/rollback", reason, 401, 403, 200},
	} {
		for who, ask := range map[string]struct {
			headers map[string]string
			want    int
		}{
			"nobody": {nil, c.nobody}, "a wrong token": {wrong, c.nobody}, "viewer": {bearer(viewerToken), c.viewer},
			"viewer in a browser": {basic, c.viewer}, "operator": {bearer(operatorToken), c.operator},
		} {
			if c.what == "POST /v1/rollback" && who == "operator" {
				s.load()
			}
			got := s.ask(c.what, c.body, ask.headers)
			if got.status != ask.want {
				t.Errorf("%s as %s: %d %s, want %d", c.what, who, got.status, got.body, ask.want)
			}
			if challenge := len(got.header.Values("WWW-Authenticate")) == 2; challenge != (ask.want == 401) {
				t.Errorf("%s as %s: %d challenges", c.what, who, len(got.header.Values("WWW-Authenticate")))
			}
		}
	}
	if got := s.ask("GET /page", "", bearer(viewerToken)); got.body != "ward-board" {
		t.Errorf("the page takes the caller for %q", got.body)
	}
	log := s.log.String()
	for _, want := range []string{
		`"msg":"audit","who":"ward-board","role":"viewer","method":"POST","route":"/v1/predictions","status":200,`,
		`"msg":"audit","who":"ward-board","role":"viewer","method":"GET","route":"/v1/predictions/stream",` +
			`"status":200,`,
		`"address":"127.0.0.1"`,
		`"msg":"audit","who":"ward-board","role":"viewer","method":"POST","route":"/v1/rollback","status":403,`,
		`"msg":"audit","who":"j.doe","role":"operator","method":"POST","route":"/v1/rollback","status":200,`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if strings.Contains(log, viewerToken) || strings.Contains(log, "reviewed by") {
		t.Error("the log holds a token or a reason")
	}
}

// TestOpen: without tokens only those on the machine itself may change anything.
func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		local bool
		want  int
	}{"loopback": {true, 200}, "insecure": {false, 403}} {
		s := newSite(t, func(o *httpapi.Options) { o.Access.Local = c.local })
		if got := s.ask("POST /v1/rollback", reason, nil); got.status != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestHost: a page of another site that has its own name lead to loopback gets no answer.
func TestHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:1": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "10.0.0.1:8080": 421,
	} {
		if got := s.ask("GET /v1/models", "", with(nil, "Host", host)); got.status != want {
			t.Errorf("%s: %d, want %d", host, got.status, want)
		}
	}
	s = newSite(t, func(o *httpapi.Options) { o.Access.Tokens = tokens })
	if got := s.ask("GET /v1/models", "",
		with(bearer(viewerToken), "Host", "wardcast.hospital.example")); got.status != 200 {
		t.Errorf("with a token, behind a proxy: %+v", got)
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, headers := range []map[string]string{{
		"Sec-Fetch-Site": "cross-site",
	}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}} {
		for _, what := range []string{"POST /v1/predictions", "POST /v1/rollback"} {
			same(t, what, "cross_origin", s.problem(what, s.ask(what, note, headers), http.StatusForbidden))
		}
		if got := s.ask("GET /v1/models", "", headers); got.status != 200 {
			t.Errorf("%+v", got)
		}
	}
	for _, headers := range []map[string]string{
		{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": s.url},
	} {
		if got := s.ask("POST /v1/predictions", note, headers); got.status != 200 {
			t.Errorf("%v: %+v", headers, got)
		}
	}
}

// TestRate: each token has a limit of its own, wrong ones that of their address on every route, and health has none.
func TestRate(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Access = httpapi.Access{Tokens: tokens, Rate: 1e-6, Burst: 3}
		fine := httpapi.Answering(func(*http.Request) http.Handler { return httpapi.JSON(1) })
		o.Routes = []httpapi.Route{{Pattern: "GET /anyone", Handler: fine}}
	})
	for i, want := range []int{200, 200, 200, 429} {
		wrong := bearer("wrong-0123456789abcdef")
		if got := s.ask("GET /anyone", "", wrong); got.status != want {
			t.Errorf("wrong token %d: %+v", i, got)
		}
		if got := s.ask("GET /healthz", "", wrong); got.status != 200 {
			t.Errorf("%+v", got)
		}
	}
	if got := s.ask("GET /anyone", "", nil); got.status != 200 {
		t.Errorf("without a token: %+v", got)
	}
	for i := range 5 {
		want := 200
		if i >= 3 {
			want = 429
		}
		got := s.ask("GET /v1/models", "", bearer(viewerToken))
		if got.status != want || (want == 429) != (got.header.Get("Retry-After") != "") {
			t.Errorf("request %d: %+v", i, got)
		}
		if got := s.ask("GET /healthz", "", nil); got.status != 200 {
			t.Errorf("%+v", got)
		}
	}
	if got := s.ask("GET /v1/models", "", bearer(operatorToken)); got.status != 200 {
		t.Errorf("another token: %+v", got)
	}
}

// TestRateOfAddresses: without a token each client has a limit of its own, as told by proxies that are trusted.
func TestRateOfAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Access.Rate, o.Access.Burst = 1e-6, 2
		o.Access.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.1/32")}
	})
	for _, c := range []struct {
		forwarded string
		want      int
	}{
		{"192.0.2.1", 200},
		{"192.0.2.1", 200},
		{"192.0.2.1", 429},
		{"192.0.2.1, 192.0.2.2", 200},           // what a client says itself is not believed
		{"192.0.2.9, 192.0.2.1, 10.0.0.1", 429}, // two trusted proxies
		{"2001:db8::1", 200},
		{"2001:db8::2", 200}, // one host
		{"2001:db8::3", 429},
		{"2001:db8:0:1::1", 200},
		{"192.0.2.7:4711", 200}, // with its port
		{"192.0.2.7:4712", 200},
		{"192.0.2.7", 429},
		{"[2001:db8:7::1]:4711", 200},
		{"nonsense", 200},
		{"", 200},
		{"", 429}, // the proxy's own address
	} {
		if got := s.ask("GET /v1/models", "", with(nil, "X-Forwarded-For", c.forwarded)); got.status != c.want {
			t.Errorf("%q: %d, want %d", c.forwarded, got.status, c.want)
		}
	}
	s = newSite(t, func(o *httpapi.Options) { o.Access.Rate, o.Access.Burst = 1e-6, 1 })
	for i, want := range []int{200, 429} {
		got := s.ask("GET /v1/models", "", with(nil, "X-Forwarded-For", "192.0.2."+strconv.Itoa(i)))
		if got.status != want {
			t.Errorf("a header of nobody who is trusted: %d, want %d", got.status, want)
		}
	}
}

// TestConnections: beyond the limit only health, readiness and metrics are answered.
func TestConnections(t *testing.T) {
	t.Parallel()
	all := &httpapi.Connections{Most: 2}
	s := newSite(t, func(o *httpapi.Options) { o.Connections = all })
	server := httptest.NewUnstartedServer(s.api)
	all.Watch(server.Config)
	server.Start()
	t.Cleanup(server.Close)
	ask := func(conn net.Conn, path string) int {
		t.Helper()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return 0
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	dial := func() net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	for i, want := range []int{200, 200, 503} {
		if got := ask(dial(), "/v1/models"); got != want {
			t.Errorf("connection %d: %d, want %d", i+1, got, want)
		}
	}
	conn := dial() // one for all: the server may learn late that another was closed
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if got := ask(conn, path); got != 200 {
			t.Errorf("%s: %d", path, got)
		}
	}
}
