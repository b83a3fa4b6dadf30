package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/web"
	"github.com/wardcast/wardcast/models/storetest"
)

// browser is a Chromium that remembers what went wrong.
type browser struct {
	*site
	ctx   context.Context
	root  string
	shots string // folder for screenshots, "" for none
	axe   string // the script of axe-core, "" for none
	// broken are the violations that axe-core has found so far.
	broken []string

	mu       sync.Mutex
	wrong    []string
	requests int // since the page was opened
}

// browsers are as many as may run at once: axe-core takes a core in each.
var browsers = make(chan struct{}, 2)

// newBrowser starts the Chromium that WARDCAST_CHROMIUM names.
func (s *site) newBrowser(root string) *browser {
	s.Helper()
	browsers <- struct{}{}
	s.Cleanup(func() { <-browsers })
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("WARDCAST_CHROMIUM")),
		chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(s.Context()), options...)
	s.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	s.Cleanup(func() { _ = chromedp.Cancel(tab); closeTab() })
	b := &browser{site: s, ctx: tab, root: root, shots: os.Getenv("WARDCAST_SCREENSHOTS"), axe: readAxe(s.T)}
	if err := chromedp.Listen(tab, b.hear); err != nil {
		s.Fatalf("starting the browser: %v", err)
	}
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithTimeout(tab, 4*ingesttest.Patience)
	s.Cleanup(cancel)
	command(b, network.Enable, network.EnableParams{})
	command(b, log.Enable, cdp.Empty{})
	return b
}

// command sends a command to the tab.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, c, params); err != nil {
		b.Fatalf("the browser: %s: %v", c.Method, err)
	}
}

// hear remembers errors on the console, and requests to another host.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, fmt.Sprintf("console: %s", e.Type))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			b.requests++
		}
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && "http://"+u.Host != b.root {
			b.wrong = append(b.wrong, "request to "+e.Request.URL)
		}
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatalf("the browser: %v; so far: %q", err, b.wrong)
	}
}

// is evaluates an expression.
func (b *browser) is(expression string) string {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.Fatalf("the browser: %s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.Helper()
	b.await(expression, func() bool {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		return err == nil && v // an error may be that the page is being left
	})
}

func (b *browser) open(path string) {
	b.Helper()
	b.mu.Lock()
	b.requests = 0
	b.mu.Unlock()
	b.run(chromedp.Navigate(b.root + path))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests > mostRequests {
		b.Errorf("%s takes %d requests, want at most %d", path, b.requests, mostRequests)
	}
}

// mostRequests is how many requests the first view of a page may take.
const mostRequests = 5

// screens are the sizes at which the pages are looked at. The narrowest is a desktop of 1280 px at a zoom of 400 %.
var screens = []struct {
	name          string
	width, height int64
	colours       bool // are looked at here even in a short test
}{{"desktop", 1280, 960, true}, {"tablet", 768, 1024, false}, {"phone", 390, 844, true}, {"zoom", 320, 640, false}}

// lost is by how much a page is wider than the screen when it says that its connection is lost, the longest of its
// states.
const lost = `(() => {
	const state = document.querySelector("#conn b"), was = state.textContent;
	state.textContent = "Not connected";
	const wide = document.documentElement.scrollWidth - innerWidth;
	state.textContent = was;
	return wide;
})()`

// shoot looks at what is open, at all sizes, light and dark: it is accessible and scrolls sideways nowhere. It keeps
// screenshots. Unless WARDCAST_LONG is set, it looks at colours on a desktop and a phone alone, which show all that the
// other sizes show, and in the dark at nothing else, for no rule but those of colours knows of it.
func (b *browser) shoot(name string) {
	b.Helper()
	long := os.Getenv("WARDCAST_LONG") != ""
	for _, scheme := range []string{"light", "dark"} {
		b.media("screen", map[string]string{"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"})
		for _, screen := range screens {
			rules := allRules
			switch {
			case long:
			case !screen.colours && scheme == "dark":
				continue
			case !screen.colours:
				rules = layoutRules
			case scheme == "dark":
				rules = colourRules
			}
			b.run(chromedp.EmulateViewport(screen.width, screen.height))
			full := name + "-" + screen.name + "-" + scheme
			b.accessible(full, rules)
			if wide := b.is(lost); wide != "0" {
				b.Errorf("%s is %s px wider than the screen", full, wide)
			}
			b.keep(full)
		}
	}
	b.run(chromedp.EmulateViewport(1280, 960))
}

// keep writes a screenshot of what is open, if there is a folder for it.
func (b *browser) keep(name string) {
	b.Helper()
	if b.shots == "" {
		return
	}
	yes := true
	shot, err := chromedp.Call(b.ctx, protocol.CaptureScreenshot, protocol.CaptureScreenshotParams{
		CaptureBeyondViewport: &yes, OptimizeForSpeed: &yes,
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.shots, name+".png"), shot.Data, 0o600); err != nil {
		b.Fatal(err)
	}
}

// media emulates a medium, screen or print, and its features.
func (b *browser) media(medium string, features map[string]string) {
	b.Helper()
	params := emulation.SetEmulatedMediaParams{Media: medium}
	for name, value := range features {
		params.Features = append(params.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	command(b, emulation.SetEmulatedMedia, params)
}

// special looks at what is open on paper and in forced colours.
func (b *browser) special(name string) {
	b.Helper()
	shown := func(selector string) string {
		return b.is(fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).display !== "none"`, selector))
	}
	b.media("print", nil)
	if shown(".top") != "false" || shown(".printed") != "true" {
		b.Errorf("%s on paper has the top bar, or no footer with its time", name)
	}
	b.keep(name + "-print")
	b.media("screen", map[string]string{"forced-colors": "active", "prefers-color-scheme": "dark"})
	b.keep(name + "-forced")
	b.media("screen", nil)
}

// wall looks at a page as a screen on the wall shows it: without controls and without what notes say.
func (b *browser) wall(path, name string) {
	b.Helper()
	b.open(path + "?wall=1")
	b.run(chromedp.EmulateViewport(1920, 1080))
	if left := b.is(`[...document.querySelectorAll("nav,button,select,input,.note,#why")].filter(e => ` +
		`e.checkVisibility() && !e.closest("#stale")).length`); left != "0" {
		b.Errorf("%s on the wall shows %s controls or notes", name, left)
	}
	b.accessible(name+"-wall", allRules)
	b.keep(name + "-wall")
	for _, screen := range screens {
		b.run(chromedp.EmulateViewport(screen.width, screen.height))
		if wide := b.is("document.documentElement.scrollWidth - innerWidth"); wide != "0" {
			b.Errorf("%s on the wall is %s px wider than a %s", name, wide, screen.name)
		}
	}
	b.run(chromedp.EmulateViewport(1280, 960))
}

// TestPages drives the pages as people would: a note appears within a second of its arrival, with the numbers of the
// published message; a note that is tried follows what is typed; a topic is found; another generation is promoted.
// Nothing is wrong on the console, and no other host is asked. It runs alone, for it looks at the time.
func TestPages(t *testing.T) {
	if os.Getenv("WARDCAST_CHROMIUM") == "" {
		t.Skip("WARDCAST_CHROMIUM names no Chromium")
	}
	s := newSite(t)
	s.broker()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.config.HTTP.Listen, s.options.Listener, s.options.ShowNotes = listener.Addr().String(), listener, true
	scorer := s.start().ready()
	b, c := s.newBrowser("http://"+s.config.HTTP.Listen), s.stream()

	b.open("/live")
	b.shoot("live-empty")
	counts := `["all", "admit", "close"].map(f => document.querySelector("[data-filter=" + f + "] ` +
		`span:last-child").textContent).join()`
	if got := b.is(counts); got != "0,0,0" {
		t.Errorf("the filters count %s without a note", got)
	}
	b.until(`document.querySelector("#conn b").textContent === "Connected" && !document.querySelector("#pause").hidden`)
	n := note(t, 0)
	n.Text += ", hip"
	c.send(record(n))
	c.answers(1)
	sent := time.Now()
	b.until(`document.querySelector("#feed li[data-kind]")`)
	if took := time.Since(sent); took > time.Second {
		t.Errorf("the note appeared after %v, want 1 s", took)
	}
	b.until(counts +
		` === document.querySelector("#n-all").textContent + "," + document.querySelector("#n-admit").textContent + ` +
		`"," + document.querySelectorAll("#feed li[data-kind~=close]").length`)
	if said := b.is(`document.querySelector("[data-filter=admit]").textContent`); !strings.HasPrefix(said,
		"Likely Admission ") {
		t.Errorf("a filter is called %q after a note", said)
	}
	b.run(chromedp.Click("#feed a"))
	b.until(`document.querySelector("#why table.bars")`)
	b.sums(decode(t, c.predictions[0].Value))
	c.send(notes(t, 1, 12)...)
	c.answers(12)
	b.open("/live")
	b.until(`document.querySelectorAll("#feed li[data-kind]").length === 12`)
	b.shoot("live")
	b.open(b.is(`document.querySelector("#feed a").getAttribute("href")`))
	b.shoot("live-row")
	b.special("live-row")
	b.wall("/live", "live")

	b.beds(c)

	for _, p := range web.Pages() {
		b.open(p.Path)
		if current := b.is(`document.querySelector(".nav [aria-current=page]").textContent`); current != p.Title {
			t.Errorf("%s is called %q in the top bar, want %q", p.Path, current, p.Title)
		}
		b.shoot(strings.Trim(p.Path, "/") + "-first")
	}

	b.open("/try")
	b.run(chromedp.SendKeys("#text", "hip pain, unable to bear weight"))
	b.until(`document.querySelector("#result .p .v")`)
	before := b.is(`document.querySelector("#result .tot .num").textContent`)
	b.run(chromedp.SendKeys("#text",
		", hypotensive, found on floor, fell, confused, short of breath, chest pain, leg shortened + rotated"))
	b.until(fmt.Sprintf(`document.querySelector("#result .tot .num").textContent !== %q`, before))
	b.run(chromedp.Click("button[name=example]"))
	b.until(`document.querySelector("#age").value === "82" && document.querySelector("#reading tbody tr")`)
	b.shoot("try")

	b.open("/topics")
	word := strings.ToLower(b.is(`document.querySelector(".bars th[scope=row]").firstChild.textContent`))
	b.run(chromedp.SendKeys("#q", word+"\r"))
	b.until(`location.search.includes("q=") && document.querySelector(".map .on")`)
	if heading := b.is(`document.querySelector("#mp + .muted").textContent`); strings.HasPrefix(heading, "0 ") {
		t.Errorf("the search for a topic's first word %q says %q", word, heading)
	}
	b.shoot("topics")
	b.special("topics")

	b.wall("/health", "health")
	b.open("/health")
	if said := b.is(`document.querySelector("#health .say").textContent`); !strings.HasPrefix(said, "All well") {
		t.Errorf("the page Health says %q", said)
	}

	storetest.Add(t, s.store, generation(t, 1)...)
	b.open("/models")
	b.shoot("models")
	b.run(chromedp.Click(".head .acts .btn"))
	b.until(`document.querySelector("#why")`)
	b.shoot("promote")
	b.run(chromedp.SendKeys("#why", "better on later notes"), chromedp.Click("form .btn.main"))
	b.until(`document.body.innerText.includes("The last change: promoted")`)
	champion, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.store.History(t.Context())
	if last := events[len(events)-1]; err != nil || last.To != champion.Name || last.Why != "better on later notes" ||
		!strings.Contains(last.Command, "/models/promote") {
		t.Errorf("after the promotion the history ends with %+v (%v), the champion is %q", last, err, champion.Name)
	}
	s.await("a topic of both versions", func() bool {
		b.open("/topics?t=1")
		return b.is(`document.querySelectorAll(".insp svg.ch circle").length`) == "2"
	})
	b.lights()
	b.shoot("topics-versions")
	b.open(b.is(`document.querySelector(".insp .tbl a[href*=beside]").getAttribute("href")`))
	if bars := b.is(`document.querySelectorAll("#beside svg").length`); bars == "0" || b.is(
		`document.querySelector("#beside .st").textContent`) != "not served" {
		t.Errorf("a topic of the version before has %s bars beside that of today, or is not marked", bars)
	}
	b.shoot("topics-beside")
	b.open("/models")
	b.open(b.is(
		`[...document.querySelectorAll(".tbl a")].find(e => e.textContent.startsWith("Figures")).getAttribute("href")`))
	b.until(`document.querySelectorAll("svg.ch").length >= 2`)
	b.shoot("figures")
	b.special("figures")
	b.open("/models")
	b.open(b.is(`document.querySelector("a[href$='/report']").getAttribute("href")`))
	b.mu.Lock()
	if b.wrong != nil {
		t.Errorf("wrong in the browser: %q", b.wrong)
	}
	b.mu.Unlock()

	b.open("/health")
	b.is(`window.fetch = () => Promise.reject()`)
	b.until(`document.querySelector("#health .say").innerText.startsWith("Not known since ") && ` +
		`!document.querySelector("#stale").hidden`)
	b.shoot("health-stale")

	b.open("/live")
	b.until(`document.querySelectorAll("#feed li[data-kind]").length === 32 && document.querySelector("#stale").hidden`)
	scorer.stop()
	b.until(
		`document.querySelector("#conn b").textContent === "Not connected" && !document.querySelector("#stale").hidden`)
	b.shoot("live-stale")
}

// lights looks at what a word of the chosen topic lights when it gets the focus, and what a topic lights.
func (b *browser) lights() {
	b.Helper()
	const of = `[...document.querySelectorAll(".map .lit")].map(a => new URL(a.href.baseVal, location)` +
		`.searchParams.get("t")).sort().join(" ")`
	if lit := b.is(of); lit != "" {
		b.Errorf("without a focus the topics %q are lit", lit)
	}
	b.is(`document.querySelector("tr[data-in] a").focus()`)
	want := b.is(`document.querySelector("tr[data-in]").dataset.in.split(" ").sort().join(" ")`)
	if lit := b.is(of); lit != want || want == "" {
		b.Errorf("a word that has the focus lights the topics %q, want %q", lit, want)
	}
	b.is(`document.querySelector(".map .on").dispatchEvent(new MouseEvent("mouseover", {bubbles: true}))`)
	if words := b.is(`document.querySelectorAll("tr[data-in]:not(.lit)").length + " " + ` +
		`document.querySelectorAll("tr.lit[data-in]").length`); !strings.HasPrefix(words, "0 ") || words == "0 0" {
		b.Errorf("under the pointer the chosen topic lights not all of its words: %s", words)
	}
}

// beds looks at the page of beds, of which twenty patients who have just come will need some.
func (b *browser) beds(c *stream) {
	b.Helper()
	b.open("/beds")
	b.shoot("beds-empty")
	var arrived []*kgo.Record
	for i := range 20 {
		n := note(b.T, 100+i)
		n.ArrivedAt = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
		arrived = append(arrived, record(n))
	}
	c.send(arrived...)
	b.await("twenty patients", func() bool {
		b.open("/beds")
		return strings.Contains(b.is(`document.querySelector(".head p").textContent`), "20 patients")
	})
	b.run(chromedp.SendKeys("#free", "1\r"))
	b.until(`location.search.includes("free=1") && document.querySelector(".lead .over")`)
	// as they say in the evening
	b.is(`document.querySelectorAll(".head .seg a").forEach(a => a.textContent = "10:20 tomorrow")`)
	b.shoot("beds")
	b.special("beds")
	b.wall("/beds", "beds")
	c.answers(12 + 20)
}

// TestViewerPages: a viewer sees what is served and is refused to change it, in the browser and behind it.
func TestViewerPages(t *testing.T) {
	t.Parallel()
	if os.Getenv("WARDCAST_CHROMIUM") == "" {
		t.Skip("WARDCAST_CHROMIUM names no Chromium")
	}
	s := newSite(t)
	s.broker()
	s.tokens()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.config.HTTP.Listen, s.options.Listener = listener.Addr().String(), listener
	scorer := s.start().ready()
	storetest.Add(t, s.store, generation(t, 1)...)
	b := s.newBrowser("http://" + s.config.HTTP.Listen)
	before, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Navigate("http://board:" + viewerToken + "@" + s.config.HTTP.Listen + "/models"))
	if said := b.is(`document.body.innerText`); !strings.Contains(said, "Operators promote") ||
		b.is(`document.querySelectorAll("form[method=post],.acts .btn").length`) != "0" {
		t.Errorf("a viewer sees\n%s", said)
	}
	b.shoot("models-viewer")
	b.mu.Lock()
	if b.wrong != nil {
		t.Errorf("wrong in the browser: %q", b.wrong)
	}
	b.mu.Unlock()
	status := b.is(`(() => { const r = new XMLHttpRequest(); r.open("POST", "/models/promote", false); ` +
		`r.setRequestHeader("Content-Type", "application/x-www-form-urlencoded"); r.send("why=mine&to="); return ` +
		`r.status })()`)
	if after, err := s.store.Champion(t.Context()); status != "403" || err != nil || after.Name != before.Name {
		t.Errorf("a viewer's promotion is answered with %s; served is %v (%v)", status, after, err)
	}
	scorer.stop()
}

// sums holds the numbers on the page against those of the message, to the last printed digit.
func (b *browser) sums(p *msg.Prediction) {
	b.Helper()
	want := []string{}
	add := func(v float64) {
		data, err := json.Marshal(msg.Number(v))
		if err != nil {
			b.Fatal(err)
		}
		want = append(want, string(data))
	}
	for _, e := range p.Evidence {
		add(e.Contribution)
	}
	without, absent := 0.0, 0 // what is not given is one row behind the others
	for i := range p.Aux {
		a := &p.Aux[i]
		_, number := a.Value.Number()
		if text, _ := a.Value.Text(); number || text != "" {
			add(a.Contribution)
		} else {
			without, absent = without+a.Contribution, absent+1
		}
	}
	if absent > 0 {
		add(without)
	}
	add(p.Logit)
	got := strings.Split(b.is(`[...document.querySelectorAll("#why `+
		`.bars")[0].querySelectorAll("[data-value]")].map(e => e.dataset.value).join(" ")`), " ")
	if !slices.Equal(got, want) {
		b.Errorf("the page has the contributions %q, the message %q", got, want)
	}
}
