package live

import (
	"bytes"
	"html/template"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/internal/wording"
)

const (
	kept      = 1024     // how many predictions the feed keeps, so that a row that somebody reads stays for a while
	keptBytes = 16 << 20 // bounds what it keeps, some kilobytes each unless somebody sends large ones
	// batchGap is the least time between two batches of rows, and batchRows how many rows a batch has at most. So a
	// viewer gets at most some 25 KB a second, whatever the stream does.
	batchGap    = 500 * time.Millisecond
	batchRows   = 10
	keptBatches = 8 // how far behind a viewer may fall before it loses rows
)

// Feed keeps the latest published predictions for the page Live. The zero value is not ready, see NewFeed.
type Feed struct {
	notes  bool
	epoch  string // of this process, in the ids of events
	base   uint64 // what a row's number in addresses is more than that of its prediction: none is of another process
	closed chan struct{}

	mu    sync.Mutex
	first uint64 // number of the oldest that is kept
	last  uint64 // number of the newest, from 1
	held  int    // bytes
	ring  [kept]*published

	batching sync.Mutex
	batches  []batch // the latest, oldest first
	batched  time.Time
}

// published is a prediction with its note. It never changes.
type published struct {
	number uint64
	at     time.Time
	value  []byte
	note   []byte // nil if the feed keeps no notes

	once sync.Once // draws it
	html template.HTML
	kind string
}

type batch struct {
	first, last uint64 // numbers of the predictions in it
	frame       []byte
}

// NewFeed returns a Feed. It keeps the notes only if they may be shown.
func NewFeed(showNotes bool) *Feed {
	now := time.Now()
	return &Feed{
		first: 1, notes: showNotes, epoch: strconv.FormatInt(now.UnixMilli(), 36), closed: make(chan struct{}),
		base: uint64(max(0, now.UnixMicro())), //nolint:gosec // it is not negative
	}
}

// Publish keeps a copy of a prediction and, if it may be shown, of its note. It is safe for concurrent use.
func (f *Feed) Publish(note, value []byte) {
	p := &published{at: time.Now(), value: bytes.Clone(value)}
	if f.notes {
		p.note = bytes.Clone(note)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.held += p.bytes()
	for f.last-f.first == kept || f.held > keptBytes && f.first < f.last {
		f.held -= f.ring[f.first%kept].bytes()
		f.ring[f.first%kept] = nil
		f.first++
	}
	p.number = f.last
	f.ring[f.last%kept] = p
}

func (f *published) bytes() int { return len(f.value) + len(f.note) }

// Close ends all streams. It must be called once.
func (f *Feed) Close() { close(f.closed) }

// latest returns the n newest predictions after a number, newest first, and the number of the newest of all.
func (f *Feed) latest(n int, after uint64) (list []*published, last uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := f.last; i > after && len(list) < n && i >= f.first; i-- {
		list = append(list, f.ring[i%kept])
	}
	return list, f.last
}

// row returns the prediction of a row, or nil if it is not kept, or is one of another process.
func (f *Feed) row(row uint64) *published {
	if row <= f.base {
		return nil
	}
	return f.at(row - f.base)
}

func (f *Feed) at(number uint64) *published {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.ring[number%kept]; p != nil && p.number == number {
		return p
	}
	return nil
}

// perMinute returns how many predictions came in the minute before now, and false if there were more than are kept.
func (f *Feed) perMinute(now time.Time) (n int, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := f.last; i >= f.first; i-- {
		if now.Sub(f.ring[i%kept].at) > time.Minute {
			return n, true
		}
		n++
	}
	return n, f.first == 1
}

// PerMinute says how many predictions came in the last minute.
func (f *Feed) PerMinute() string {
	n, all := f.perMinute(time.Now())
	text := wording.Count(n, "note") + " a minute"
	if !all {
		text = "over " + text
	}
	return text
}

// id returns the id of the event after which all predictions up to a number are known.
func (f *Feed) id(number uint64) string { return f.epoch + "-" + strconv.FormatUint(number, 10) }

// number returns the number in an id, and false for an id of another process.
func (f *Feed) number(id string) (uint64, bool) {
	epoch, text, _ := strings.Cut(id, "-")
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && epoch == f.epoch
}

// renderRows writes rows, newest first, and how many more there were.
type renderRows func(rows []*published, more int) []byte

// frame returns the event with the rows after a number.
func (f *Feed) frame(after uint64, most int, render renderRows) batch {
	rows, last := f.latest(most, after)
	b := batch{first: after + 1, last: last}
	if len(rows) > 0 {
		b.frame = event("rows", f.id(last), render(rows, int(min(last-after, math.MaxInt32))-len(rows)))
	}
	return b
}

// after returns the batches that end after a number. It makes a new one if there is something new and the last one is
// old enough. The first of them may begin before the number, or later: what lies between is lost.
func (f *Feed) after(number uint64, now time.Time, render renderRows) []batch {
	f.batching.Lock()
	defer f.batching.Unlock()
	var done uint64
	if n := len(f.batches); n > 0 {
		done = f.batches[n-1].last
	}
	f.mu.Lock()
	news := f.last > done
	f.mu.Unlock()
	if news && now.Sub(f.batched) >= batchGap {
		if len(f.batches) == keptBatches {
			f.batches = append([]batch{}, f.batches[1:]...) // viewers hold on to the old slice
		}
		f.batches, f.batched = append(f.batches, f.frame(done, batchRows, render)), now
	}
	for i, b := range f.batches {
		if b.last > number {
			return f.batches[i:len(f.batches):len(f.batches)]
		}
	}
	return nil
}

func event(name, id string, data []byte) []byte {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name)
	for line := range bytes.Lines(data) {
		b.WriteString("\ndata: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
	}
	b.WriteString("\n\n")
	return b.Bytes()
}
