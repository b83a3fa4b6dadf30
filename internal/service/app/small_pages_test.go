package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/msg"
)

// TestLongNotes: a word of two hundred letters wraps, a note of ten thousand ends after four lines, and a press of
// Enter leads into the explanation and says so.
func TestLongNotesPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.options.ShowNotes = true
	_, b := s.waiting()
	c := s.stream()
	long := func(n *msg.Note) {
		n.Text = strings.Repeat("hip", 66) + strings.Repeat(" hip pain", 1100)
		n.Complaint = strings.Repeat("C", 200)
	}
	c.send(arrived(t, 0, 5, long), arrived(t, 1, 5))
	c.answers(2)
	b.await("two notes", func() bool {
		b.open("/live")
		return b.is(`document.querySelectorAll("#feed li[data-kind]").length`) == "2"
	})
	b.run(chromedp.EmulateViewport(320, 640))
	if lines := b.is(`(() => { const e = document.querySelector(".cut"), s = getComputedStyle(e); ` +
		`return Math.round(e.clientHeight / parseFloat(s.lineHeight)) + " " + ` +
		`(e.nextElementSibling.textContent === "more") })()`); lines != "4 true" {
		t.Errorf("a long note has the lines %s, want four and more", lines)
	}
	b.shoot("live-long")
	b.is(`document.querySelector(".cut").closest("li").querySelector("a").focus()`)
	b.run(chromedp.KeyEvent("\r"))
	b.until(`document.activeElement.id === "why" && document.querySelector("#news").textContent.startsWith(` +
		`"The explanation has the focus: CCC")`)
	b.shoot("live-long-row")
	b.open("/waiting")
	b.shoot("waiting-long")
}

// TestPausedPage: that Live is paused is seen, and a button ends it.
func TestPausedPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, b := s.waiting()
	c := s.stream()
	b.open("/live")
	b.until(`!document.querySelector("#pause").hidden`)
	b.run(chromedp.Click("#pause"))
	b.until(`document.querySelector("#paused").checkVisibility() && ` +
		`document.querySelector("#paused").textContent.startsWith("Paused at ")`)
	c.send(arrived(t, 0, 5))
	b.until(`document.querySelector("#fresh").textContent === "1 new"`)
	b.shoot("live-paused")
	b.run(chromedp.Click("#paused button"))
	b.until(`!document.querySelector("#paused").checkVisibility() && document.querySelector("#feed li[data-kind]")`)
}

// TestManyTabsPage: a browser opens six connections to a host, and eight tabs of Live all follow the notes.
func TestManyTabsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, b := s.waiting()
	c := s.stream()
	var tabs []*browser
	for i := range 8 {
		tab, closeTab := chromedp.NewContext(b.ctx)
		t.Cleanup(closeTab)
		tabs = append(tabs, &browser{site: s, ctx: tab, root: b.root})
		tabs[i].run(chromedp.Navigate(b.root + "/live"))
		tabs[i].until(`document.querySelector("#conn b").textContent === "Connected"`)
	}
	c.send([]*kgo.Record{arrived(t, 0, 5), arrived(t, 1, 5)}...)
	for i, tab := range tabs {
		tab.await(fmt.Sprintf("two notes in tab %d", i+1), func() bool {
			return tab.is(`document.querySelectorAll("#feed li[data-kind]").length`) == "2"
		})
	}
}

// TestTryWithoutServer: what was typed stays while the server is away, the prediction before does not, the page says
// so, and goes on once the server is there.
func TestTryWithoutServerPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, b := s.waiting()
	b.open("/try")
	b.run(chromedp.SendKeys("#text", "hip pain"))
	b.until(`document.querySelector("#result .p .v")`)
	b.is(`window.honest = window.fetch, window.fetch = () => Promise.reject(new TypeError("away"))`)
	b.run(chromedp.SendKeys("#text", ", confused"))
	b.until(`document.querySelector("#result").textContent.includes("The server does not answer.")`)
	if got := b.is(`document.querySelectorAll("#result .p").length + document.querySelector("#text").value`); got !=
		"0hip pain, confused" {
		t.Errorf("predictions and text are %q", got)
	}
	b.run(chromedp.Click("button[name=example]"))
	b.shoot("try-away")
	b.is(`window.fetch = window.honest`)
	b.until(`document.querySelector("#result .p .v") && document.querySelector("#text").value === "hip pain, confused"`)
}
