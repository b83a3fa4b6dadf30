package live

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

func newRoom(s *webtest.Site, f *Feed) *room {
	p := s.Page("/live", "Live")
	return &room{Page: p, feed: f, view: p.Template(prediction.HTML, html)}
}

// TestPage: what the page says without notes, of a row that is gone, and with as many rows as it has.
func TestPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	feed := NewFeed(true)
	s.Serve(New(s.Page("/live", "Live"), feed))
	has := func(path, want string) {
		t.Helper()
		if status, _, body := s.Ask(webtest.Viewer, path, nil); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, want %q:\n%s", path, status, want, body)
		}
	}
	has("/live", "No predictions yet")
	has("/live?row=99", "no longer kept")
	feed.Publish(nil, []byte("{"))
	has("/live", "Prediction cannot be read")
	near, long := webtest.Prediction(), webtest.Note()
	near.Probability, long.Text = 0.55, strings.Repeat("hip pain ", 100)
	feed.Publish(long.AppendJSON(nil), near.AppendJSON(nil))
	has("/live", "within 10 points of the threshold, 50 %")
	has("/live", `</p><span class="s">more</span>`)
	for i := range kept {
		p := webtest.Prediction()
		p.Complaint = fmt.Sprintf("Complaint %d", i)
		feed.Publish(webtest.Note().AppendJSON(nil), p.AppendJSON(nil))
	}
	has("/live", "Complaint 1023")
	has("/live?wall=1", `class="list wall"`)
	has("/live/state", `{"ready":true,"text":""}`)
	for _, want := range []string{`"predictions":0}`, `"predictions":1,"row":`, `"predictions":50,"row":`} {
		if !strings.Contains(s.Log.String(), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, s.Log.String())
		}
	}
	if status, _, body := s.Ask("", "/live", nil); status != 401 || !strings.Contains(body, "Not logged in") {
		t.Errorf("without a token: %d %s", status, body)
	}
}

// TestPerMinute: how many notes came in the last minute, as far as they are kept.
func TestPerMinute(t *testing.T) {
	t.Parallel()
	f := NewFeed(false)
	f.Publish(nil, []byte("{}"))
	if got := f.PerMinute(); got != "1 note a minute" {
		t.Error(got)
	}
	for range kept + 1 {
		f.Publish(nil, []byte("{}"))
	}
	if got := f.PerMinute(); got != fmt.Sprintf("over %d notes a minute", kept) {
		t.Error(got)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	abstains := webtest.Prediction()
	abstains.Abstained, abstains.AbstainReason, abstains.Evidence, abstains.Complaint = true, "no_known_terms", nil, ""
	warned := webtest.Prediction()
	warned.Warnings = []msg.Warning{{Field: "vitals.temp_c", Code: msg.ValueOutOfRange}}
	for name, c := range map[string]struct {
		p    *msg.Prediction
		note *msg.Note
	}{
		"row-note": {warned, webtest.Note()}, "row-words": {webtest.Prediction(), nil},
		"row-abstained": {abstains, webtest.Note()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newRoom(webtest.New(t), NewFeed(c.note != nil))
			r := prediction.NewRow(c.p, c.note)
			r.Number, r.At = 7, time.Date(2026, 11, 20, 8, 1, 2, 0, time.UTC)
			var out strings.Builder
			for _, part := range []struct {
				name string
				data any
			}{{"row", r}, {"vitals", r}, {"why", r.Why}} {
				out.WriteString(string(h.view.Part(part.name, part.data)) + "\n")
			}
			goldentest.Equal(t, "testdata/"+name+".golden.html", []byte(out.String()))
			if c.note == nil && strings.Contains(out.String(), webtest.Secret) {
				t.Error("the page shows what the note holds")
			}
			if bad := regexp.MustCompile(` style=| on[a-z]+=|<b> …|https?:|ZgotmplZ`).FindString(out.String()); bad !=
				"" {
				t.Errorf("the page holds %q", bad)
			}
		})
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	f := NewFeed(false)
	p := newRoom(webtest.New(t), f)
	value := webtest.Prediction().AppendJSON(nil)
	publish := func(n int) {
		for range n {
			f.Publish([]byte(webtest.Secret), value)
		}
	}
	now := time.Now()
	publish(3)
	v := &viewer{room: p}
	first := v.catchUp(now)
	if n := bytes.Count(first, []byte("<li data-kind")); n != 3 || v.seen != 3 ||
		bytes.Contains(first, []byte(webtest.Secret)) {
		t.Errorf("%d rows, up to %d:\n%s", n, v.seen, first)
	}
	publish(30)
	if out := v.catchUp(now.Add(batchGap / 2)); out != nil {
		t.Errorf("a batch comes too early: %s", out)
	}
	late := &viewer{room: p, seen: 30}
	burst := v.catchUp(now.Add(batchGap))
	if n := bytes.Count(burst, []byte("<li data-kind")); n != batchRows ||
		!bytes.Contains(burst, []byte("and 20 more")) || v.seen != 33 {
		t.Errorf("%d rows, up to %d:\n%s", n, v.seen, burst)
	}
	if out := late.catchUp(now.Add(batchGap)); bytes.Count(out, []byte("<li data-kind")) != 3 || late.seen != 33 {
		t.Errorf("who came in the middle of a batch gets up to %d: %s", late.seen, out)
	}
	for i := range keptBatches + 2 {
		publish(1)
		(&viewer{room: p, seen: 33}).catchUp(now.Add(time.Duration(i+2) * batchGap))
	}
	if out := v.catchUp(now.Add(time.Hour)); !bytes.Contains(out, []byte("and 2 more")) || v.seen != 33+keptBatches+2 {
		t.Errorf("who was too slow gets up to %d: %s", v.seen, out)
	}
	publish(kept)
	if f.at(1) != nil || f.at(f.last) == nil {
		t.Error("the feed keeps the wrong rows")
	}
	if _, ok := f.number("other-3"); ok {
		t.Error("an id of another process is taken")
	}
}

// TestFeedMemory: however large the notes are, the feed keeps what it says, the newest of them.
func TestFeedMemory(t *testing.T) {
	t.Parallel()
	f := NewFeed(true)
	note := make([]byte, 1<<20)
	for range 3 * kept {
		f.Publish(note[:keptBytes/kept], nil)
	}
	if list, _ := f.latest(kept+1, 0); len(list) != kept {
		t.Errorf("%d of the usual size are kept, want %d", len(list), kept)
	}
	for range 100 {
		f.Publish(note, []byte("prediction"))
	}
	held := 0
	for _, p := range f.ring {
		if p != nil {
			held += len(p.note) + len(p.value)
		}
	}
	list, last := f.latest(kept, 0)
	if held > keptBytes || held != f.held || len(list) != keptBytes/len(note)-1 || list[0].number != last ||
		f.at(list[len(list)-1].number-1) != nil {
		t.Errorf("%d bytes of %d are held, counted as %d; %d are kept", held, keptBytes, f.held, len(list))
	}
	if n, all := f.perMinute(time.Now()); n != len(list) || all {
		t.Errorf("%d in the last minute, all of them %t", n, all)
	}
}
