package app_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/msg"
)

// waiting starts a scorer whose notes tell where patients are, and a browser.
func (s *site) waiting() (*running, *browser) {
	s.Helper()
	if os.Getenv("WARDCAST_CHROMIUM") == "" {
		s.Skip("WARDCAST_CHROMIUM names no Chromium")
	}
	s.broker()
	s.listen("127.0.0.1:0")
	s.config.HTTP.Label = "fields.location"
	s.config.HTTP.TimeZone = "America/Chicago"
	r, b := s.start().ready(), s.newBrowser("http://"+s.config.HTTP.Listen)
	b.run(chromedp.EmulateViewport(1280, 960))
	return r, b
}

// arrived is the message of note i, of a patient who arrived so many minutes ago and sits at a place.
func arrived(t *testing.T, i, minutes int, change ...func(*msg.Note)) *kgo.Record {
	t.Helper()
	n := note(t, i)
	n.ArrivedAt = time.Now().Add(-time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339)
	n.Fields.Set("location", msg.Text(fmt.Sprint("B", i)))
	for _, f := range change {
		f(&n)
	}
	return record(n)
}

// sampled clicks rows at random, so many times, while answers take up to 3 s, most of them little, and every sixth is
// cut: before the server is asked, behind its answer, or in the middle of it. It looks at each frame whether the
// highlighted row and the explanation are of one patient, and returns what was wrong, and whether it saw many frames.
const sampled = `(async clicks => {
	const links = () => [...document.querySelectorAll("a[data-row]")].filter(a => a.offsetParent),
		why = () => document.querySelector("#why");
	const pause = ms => new Promise(r => setTimeout(r, ms)), honest = window.fetch, wrong = new Set();
	let frames = 0, going = true, seed = 13;
	const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
	const look = () => {
		frames++;
		const on = document.querySelectorAll("a[data-row][aria-current=true]");
		if (on.length > 1) wrong.add(on.length + " rows are highlighted");
		if (on.length && why().dataset.row && on[0].dataset.row !== why().dataset.row)
			wrong.add("another row is highlighted than explained");
		if (on.length !== document.querySelectorAll(".sel").length)
			wrong.add("a row is marked and not named, or named and not marked");
		if (going) requestAnimationFrame(look);
	};
	look();
	window.fetch = async (...a) => {
		const late = 3000 * random() ** 4, cut = Math.floor(random() * 18);
		if (cut === 0) throw new TypeError("cut");
		const r = await honest(...a);
		await pause(late);
		if (cut === 1) throw new TypeError("cut");
		if (cut === 2) r.text = () => Promise.reject(new TypeError("cut"));
		return r;
	};
	let last;
	for (let i = 0; i < clicks; i++) {
		last = links()[Math.floor(random() * links().length)];
		last.click();
		if (why().dataset.row || why().querySelector("table") || !why().textContent.includes("Loading"))
			wrong.add("the explanation before stays while another is loaded");
		await pause(random() < .3 ? 0 : random() * 120);
		for (let j = random() < .1 ? 0 : 60; j < 60 && why().textContent.includes("Loading"); j++) await pause(50);
	}
	window.fetch = () => Promise.reject(new TypeError("cut"));
	links()[3].click();
	await pause(50);
	if (why().dataset.row || !why().textContent.includes("could not be loaded"))
		wrong.add("a failure is not said: " + why().textContent);
	if (document.querySelector("a[data-row][aria-current=true]"))
		wrong.add("a row is highlighted whose explanation failed");
	window.fetch = honest;
	const row = links()[3].dataset.row;
	why().querySelector("button").click();
	for (let i = 0; i < 100 && why().dataset.row !== row; i++) await pause(50);
	await pause(50);
	if (why().dataset.row !== row || document.querySelector("a[data-row][aria-current=true]")?.dataset.row !== row)
		wrong.add("after a failure another try shows another row");
	going = false;
	return [...wrong].join("; ") + "|" + (frames > 100);
})`

// TestWrongPatientPages: at no frame does a page name one patient in its list and another in its explanation; while one
// is loaded there is none; a failure says so; and who has left the list is said to have left. It runs alone, for it looks
// at frames.
func TestWrongPatientPages(t *testing.T) {
	s := newSite(t)
	_, b := s.waiting()
	c := s.stream()
	var all []*kgo.Record
	for i := range 40 {
		all = append(all, arrived(t, i, 10+i))
	}
	c.send(all...)
	c.answers(40)
	clicks := 60
	if os.Getenv("WARDCAST_LONG") != "" {
		clicks = 500
	}
	for _, path := range []string{"/waiting", "/live"} {
		b.await("forty patients on "+path, func() bool {
			b.open(path)
			return b.is(`document.querySelectorAll("a[data-row]").length`) == "40"
		})
		more := sync.WaitGroup{}
		if path == "/live" { // the list moves meanwhile
			more.Go(func() {
				tick := time.Tick(500 * time.Millisecond)
				for i := range 8 {
					r := arrived(t, 60+i, 1)
					r.Topic = c.input
					c.Produce(t.Context(), r, nil)
					<-tick
				}
			})
		}
		said, err := chromedp.Run(b.ctx,
			chromedp.Evaluate[string](fmt.Sprintf("%s(%d)", sampled, clicks), chromedp.EvalAwaitPromise))
		more.Wait()
		if err != nil || said != "|true" {
			t.Errorf("%s: %q (%v), want nothing wrong and many frames", path, said, err)
		}
		own := b.is(`document.querySelector("a[data-row][aria-current=true]").getAttribute("href")`)
		numbers := `[...document.querySelectorAll("#why [data-value]")].map(e => e.dataset.value).join()`
		shown := b.is(numbers)
		b.open(own)
		if alone := b.is(numbers); alone != shown || alone == "" {
			t.Errorf("%s explains %q, the row's own address %q", path, shown, alone)
		}
		b.is(`scrollTo(0, 1e6)`)
		if top := b.is(`document.querySelector("#why h2").getBoundingClientRect().top >= 0`); top != "true" {
			t.Errorf("%s: the explanation is above what is seen at the end of the list", path)
		}
	}
	// On Live newer notes come until the list has no room for the one who is explained.
	b.open("/live")
	n := 100
	b.await("who is explained has left the list", func() bool {
		var more []*kgo.Record
		for range 10 { // as many as the list takes at once
			more = append(more, arrived(t, n, 1))
			n++
		}
		c.send(more...)
		return b.is(`!!document.querySelector("#gone") && !!document.querySelector("#why").dataset.row && `+
			`!document.querySelector("a[data-row][aria-current=true]")`) == "true"
	})
	if said := b.is(`document.querySelector("#gone").textContent`); said != "This patient is no longer in the list, or the list was begun anew." {
		t.Error(said)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wrong != nil {
		t.Errorf("wrong in the browser: %q", b.wrong)
	}
}

// TestWaitingPage drives the page Waiting as a charge nurse would: who is there, found by filters and by words, one who
// comes and one who leaves.
func TestWaitingPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	scorer, b := s.waiting()
	c := s.stream()
	b.open("/")
	b.shoot("waiting-empty")
	if said := b.is(`document.querySelector("#rows").textContent`); !strings.Contains(said, "Nobody is waiting") {
		t.Errorf("without a note: %q", said)
	}
	var all []*kgo.Record
	for i := range 30 {
		all = append(all, arrived(t, i, 10*i+5))
	}
	twin := func(n *msg.Note) {
		n.Complaint, n.Age, n.Sex, n.Text = "Fall", msg.Some(107), "M", "fell, hip pain, confused"
	}
	child := func(n *msg.Note) { n.Age = msg.Some(.58) }
	c.send(append(all, arrived(t, 30, 37, twin), arrived(t, 31, 96, twin), arrived(t, 32, 3, child))...)
	c.answers(33)
	total := func(n int) string { return fmt.Sprintf(`document.querySelector("#say b").textContent === "%d"`, n) }
	b.until(total(33)) // the page reads the list again by itself
	b.until(`document.querySelectorAll("a[data-row]").length === 33`)
	b.shoot("waiting")
	b.special("waiting")
	b.wall("/waiting", "waiting")
	b.open("/waiting")
	text := b.is(`document.querySelector("#rows").innerText`)
	for _, want := range []string{"107 M · B30", "107 M · B31", "7 mo"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	if named := b.is(`document.querySelector("main").parentElement.innerText.split("Chicago").length`); named != "2" {
		t.Errorf("the time zone is named %s times", named)
	}

	// The most urgent, the longest waiting: in the address.
	b.run(chromedp.Click(`thead th:nth-child(5) a`))
	b.until(`location.search === "?sort=waited" && ` +
		`document.querySelector("[aria-sort] a").textContent.startsWith("Waited")`)
	b.run(chromedp.Click(`#kinds a:nth-child(2)`))
	b.until(`location.search === "?decision=admit&sort=waited" && ` +
		`[...document.querySelectorAll("#rows .chance .p")].every(p => p.classList.contains("on"))`)
	b.is(`history.back()`)
	b.until(`location.search === "?sort=waited" && document.querySelectorAll("a[data-row]").length === 33`)

	// Words are in no address, and survive a reload and a filter in this tab.
	b.run(chromedp.SendKeys("#q", "107 m"))
	b.until(`document.querySelectorAll("a[data-row]").length === 2`)
	b.open("/waiting")
	b.until(`document.querySelectorAll("a[data-row]").length === 2 && document.querySelector("#q").value === "107 m"`)
	b.run(chromedp.Click(`thead th:nth-child(5) a`))
	b.until(`location.search === "?sort=waited"`)
	if rows := b.is(`document.querySelectorAll("a[data-row]").length`); rows != "2" {
		t.Errorf("another order shows %s rows of the two who were searched", rows)
	}
	if leaks := b.is(`performance.getEntriesByType("resource").map(e => e.name).concat(location.href).filter(x => ` +
		`x.includes("107")).join()`); leaks != "" {
		t.Errorf("what was searched stands in %s", leaks)
	}
	b.shoot("waiting-found")
	b.is(`(() => { const q = document.querySelector("#q"); q.value = ""; q.dispatchEvent(new Event("input")); })()`)
	b.until(`document.querySelectorAll("a[data-row]").length === 33`)

	// Under the pointer nothing moves; the counts are new, and a button has what changed.
	b.open("/waiting")
	chosen := b.is(`document.querySelector("#why").dataset.row`)
	b.run(chromedp.Focus(`a[data-row][aria-current=true]`))
	first := s.waiters()[0]
	decided := msg.Outcome{
		VisitID: first, Disposition: msg.Discharged,
		DecidedAt: time.Now().UTC().Format(time.RFC3339),
	}
	input := c.input
	c.input = s.config.Kafka.Topics.Outcomes
	c.send(&kgo.Record{Key: []byte(first), Value: decided.AppendJSON(nil)})
	c.input = input
	c.send(arrived(t, 40, 1), arrived(t, 41, 1))
	b.until(total(34))
	b.until(`document.querySelector("#fresh").textContent === "2 new, 1 gone" && ` +
		`!document.querySelector("#fresh").hidden`)
	if rows := b.is(`document.querySelectorAll("a[data-row]").length`); rows != "33" {
		t.Errorf("%s rows are under the pointer, want the 33 before", rows)
	}
	b.run(chromedp.Click("#fresh"))
	b.until(`document.querySelectorAll("a[data-row]").length === 34 && document.querySelector("#gone")`)
	if row := b.is(`document.querySelector("#why").dataset.row`); row != chosen {
		t.Errorf("row %s is explained once %s has left", row, chosen)
	}
	b.shoot("waiting-gone")

	// Whose note says that they come in an hour and a half are in no list, and the page says so.
	c.send(arrived(t, 42, -90))
	b.until(`document.querySelector("#ahead")?.textContent.startsWith("▲ 1 patient is not in the list: their notes say")`)
	b.run(chromedp.Click(`tbody tr:nth-child(3) a`))
	b.until(`document.querySelector("tr:nth-child(3) a[aria-current=true]")`)
	chosen = b.is(`document.querySelector("#why").dataset.row`)
	scorer.stop()
	b.until(`document.querySelector("#conn b").textContent === "Not connected" && ` +
		`!document.querySelector("#stale").hidden`)
	b.shoot("waiting-stale")

	// After a restart the same patient is explained, and has the same address.
	s.options.Registry = prometheus.NewRegistry()
	s.listen(s.config.HTTP.Listen)
	s.start().ready()
	b.run(chromedp.Click("h1")) // nothing is under the pointer
	b.is(`(document.querySelector("#rows").dataset.before = 1)`)
	b.until(`!document.querySelector("#rows").dataset.before && document.querySelectorAll("a[data-row]").length === 34`)
	if now := b.is(`document.querySelector("[aria-current=true][data-row]")?.dataset.row + " " + ` +
		`!!document.querySelector("#gone")`); now != chosen+" false" {
		t.Errorf("after a restart row, and whether it is gone: %s, want %s", now, chosen)
	}
	b.open("/waiting?row=" + chosen)
	if row := b.is(`document.querySelector("#why").dataset.row`); row != chosen {
		t.Errorf("after a restart the address of row %s explains %s", chosen, row)
	}
}

// listen lets the scorer that is started next serve HTTP at an address.
func (s *site) listen(address string) {
	s.Helper()
	listener, err := new(net.ListenConfig).Listen(s.Context(), "tcp", address)
	if err != nil {
		s.Fatal(err)
	}
	s.config.HTTP.Listen, s.options.Listener = listener.Addr().String(), listener
}

// waiters returns the visits that wait, the most probable admission first.
func (s *site) waiters() (visits []string) {
	s.Helper()
	status, body := s.get("/v1/waiting")
	for part := range strings.SplitSeq(body, `"visit_id":"`) {
		id, _, _ := strings.Cut(part, `"`)
		visits = append(visits, id)
	}
	if status != 200 || len(visits) < 2 {
		s.Fatalf("/v1/waiting: %d %s", status, body)
	}
	return visits[1:]
}
