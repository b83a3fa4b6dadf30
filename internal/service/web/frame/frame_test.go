package frame_test

import (
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// The most bytes that the style sheet and the script take, compressed.
const (
	mostStyle  = 6 << 10
	mostScript = 20 << 10
)

// TestStatic: the style sheet and the script are small, compressed, kept only at their own address, and ask no other
// host. Nothing moves for those who want no motion.
func TestStatic(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	p := s.Page("/page", "Page")
	template := p.Template(`{{define "page"}}<p>` + "\n\t" + `<b>{{.}}</b>` + "\n\t" + `and text` +
		"\n" + `</p>{{end}}`)
	s.Serve([]httpapi.Route{p.Static(), p.Route(func(r *http.Request) http.Handler {
		return template.View(r.URL.Query().Get("q"))
	})})
	_, _, page := s.Ask(webtest.Viewer, "/page?"+url.Values{"q": {"<i>"}}.Encode(), nil)
	if want := "<main id=\"main\">\n<p><b>&lt;i&gt;</b> and text\n</p>\n"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q:\n%s", want, page)
	}
	_, _, page = s.Ask(webtest.Viewer, "/page?"+url.Values{"q": {"a\x1b\u202e\u009b\r\nb"}}.Encode(), nil)
	if want := `<b>a\u001b\u202e\u009b` + "\nb</b>"; !strings.Contains(page, want) {
		t.Errorf("the page lacks %q:\n%s", want, page)
	}
	if want := `<a href="/page" aria-current="page">Page</a>`; strings.Count(page, want) != 2 {
		t.Errorf("the top bar and the menu lack %q:\n%s", want, page)
	}
	own := regexp.MustCompile(`"/static/([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(own) != 2 {
		t.Fatalf("the page has the assets %q", own)
	}
	for _, a := range []struct {
		path, kind string
		most       int
	}{{own[0][1], "text/css", mostStyle}, {own[1][1], "text/javascript", mostScript}} {
		name, _, _ := strings.Cut(a.path, "?")
		for path, kept := range map[string]bool{a.path: true, name: false, name + "?v=x": false} {
			status, header, body := s.Ask("", "/static/"+path, nil)
			if status != 200 || strings.Contains(header.Get("Cache-Control"), "immutable") != kept ||
				header.Get("Content-Type") != a.kind+"; charset=utf-8" {
				t.Errorf("%s: %d %v", path, status, header)
			}
			if bad := webtest.Elsewhere.FindString(body); bad != "" {
				t.Errorf("%s asks for %s", path, bad)
			}
			for part := range strings.SplitSeq(body, "@media ") {
				moves := a.kind == "text/css" && regexp.MustCompile(`animation|transition|@keyframes`).MatchString(part)
				if moves && !strings.HasPrefix(part, "(prefers-reduced-motion:no-preference)") {
					t.Errorf("this moves for those who want no motion: %s", part)
				}
			}
		}
		_, header, small := s.Ask("", "/static/"+a.path, nil, "Accept-Encoding", "br, gzip")
		if n := len(small); header.Get("Content-Encoding") != "gzip" || n == 0 || n > a.most {
			t.Errorf("%s has %d bytes compressed, want at most %d: %v", a.path, n, a.most, header)
		}
	}
	if status, _, _ := s.Ask("", "/static/web.go", nil); status != http.StatusNotFound {
		t.Errorf("web.go: %d", status)
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "<1", 0.0099: "<1", 0.01: "1", 0.495: "50", 0.99: "99", 0.9901: ">99", 1: ">99",
	} {
		if got := frame.Percent(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// TestZone: all times are those of the site's clock, which the page names once.
func TestZone(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	s := webtest.New(t)
	f := frame.New(frame.Options{
		State: func() frame.State { return frame.State{Ready: true} }, Generation: func() string { return "g" },
		Zone: zone, Logger: s.Logger,
	})
	p := f.Add("/page", "Page")
	template := p.Template(`{{define "page"}}{{stamp .}}, {{day .}}, {{clock .}}{{end}}`)
	s.Serve([]httpapi.Route{p.Route(func(*http.Request) http.Handler {
		return template.View(time.Date(2026, 11, 21, 3, 5, 0, 0, time.UTC))
	})})
	_, _, body := s.Ask(webtest.Viewer, "/page", nil)
	if want := "20 Nov 2026 22:05, 20 Nov 2026, 22:05"; !strings.Contains(body, want) ||
		strings.Count(body, "New York") != 1 || !strings.Contains(body, `data-zone="America/New_York"`) {
		t.Errorf("want %q and the zone once:\n%s", want, body)
	}
}

// TestCalibrated: the step from log-odds to the probability shows the numbers of its formula.
func TestCalibrated(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*bundle.Calibration{
		"after calibration: 1 / (1 + e^−z), z = 0.90 × (+2.00) + (−0.30) = +1.50": {
			Kind: bundle.Platt, Slope: 0.9, Intercept: -0.3,
		},
		"after calibration: on the line from +1.00 (60 %) to +3.00 (90 %)": {
			Kind: bundle.Isotonic, Logits: []float64{-1, 1, 3}, Probabilities: []float64{0.2, 0.6, 0.9},
		},
		"after calibration: on the line from +1.00 (60 %) to +1.00 (60 %)": {
			Kind: bundle.Isotonic, Logits: []float64{-1, 1}, Probabilities: []float64{0.2, 0.6},
		},
		"after calibration": nil,
	} {
		if got := calibrated(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := calibrated(&bundle.Calibration{Kind: bundle.Uncalibrated}); got != "after calibration" {
		t.Errorf("of another program's message about a model without calibration: %q", got)
	}
}

// calibrated is what is said of log-odds of 2.
func calibrated(c *bundle.Calibration) string {
	p := frame.New(frame.Options{
		Calibration: func(string, string) *bundle.Calibration { return c },
		Logger:      slog.New(slog.DiscardHandler),
	}).Add("/", "x")
	const page = `{{define "page"}}{{calibrated .M 2.0}}{{end}}`
	return html.UnescapeString(string(p.Template(page).Part("page", struct{ M msg.Model }{})))
}
