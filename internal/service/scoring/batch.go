package scoring

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

const (
	maxLine = 4 << 20 // longest line that is kept: a note, whose text is at most 64 KiB, fits
	// maxBatch is the number of lines scored at once.
	maxBatch      = 1024
	maxBatchBytes = 8 << 20 // bounds the size of these lines
	readBuffer    = 256 << 10
)

// Batch is notes to score and the output for predictions. Set one of Lines and Notes, and one of Out and Rows.
type Batch struct {
	// Lines holds a note, a JSON object, in each line. A leading byte order mark and blank lines are skipped.
	Lines io.Reader
	// Notes reads the next note of a table and returns its line, like Next of *notes.Reader: io.EOF after the last
	// note; a *table.Error with a Line concerns one note, of which n then holds at most the visit; any other error ends
	// the batch.
	Notes func(n *msg.Note) (line int, err error)

	// Out takes a line for each note: its prediction, or for a note that cannot be scored
	//
	//	{"line":N,"error":{"code":"…","detail":"…"}}
	//
	// with the number of its line from 1, blank lines included.
	Out io.Writer
	// Rows takes the predictions as table rows. It must not keep the slice.
	Rows func([]Row) error

	ScoredAt string         // of all predictions; empty for the time of each, NoTime to leave it out
	Workers  int            // notes scored at the same time; 0 is GOMAXPROCS
	Progress func(done int) // called with the number of answered notes; may be nil
}

// NoTime is the ScoredAt of predictions without a time, which are the same bytes in each run.
const NoTime = "none"

// Row is a prediction, or the error of a note that could not be scored, as a table row.
type Row struct {
	VisitID     string   `parquet:"visit_id,optional"`
	Probability *float64 `parquet:"probability,optional"`
	Decision    string   `parquet:"decision,optional"`
	Logit       *float64 `parquet:"logit,optional"`
	Model       string   `parquet:"model,optional"`
	Version     string   `parquet:"version,optional"`
	Abstained   *bool    `parquet:"abstained,optional"`
	Warnings    string   `parquet:"warnings,optional"` // JSON, as in the message
	Evidence    string   `parquet:"evidence,optional"` // JSON, as in the message
	Error       string   `parquet:"error,optional"`
}

// Counts counts notes by result.
type Counts struct {
	Scored  int
	Refused int // answered by an error
	Blank   int // lines without a note
	// Line and Why are the line and reason of the first refused note.
	Line int
	Why  string
}

func (c *Counts) add(d *Counts) {
	if c.Refused == 0 {
		c.Line, c.Why = d.Line, d.Why
	}
	c.Scored += d.Scored
	c.Refused += d.Refused
	c.Blank += d.Blank
}

// Predict answers all notes of a batch in order, without waiting for a full one, and the same on any GOMAXPROCS.
func (s *Set) Predict(ctx context.Context, options classifier.Options, b Batch) (Counts, error) {
	l := &lines{workers: make([]lineWorker, cmp.Or(b.Workers, runtime.GOMAXPROCS(0)))}
	for i := range l.workers {
		l.workers[i] = lineWorker{scorer: s.Scorer(options), rowed: b.Rows != nil, scoredAt: b.ScoredAt}
	}
	read := l.readLines
	if b.Notes != nil {
		read = func() error { return l.readNotes(b.Notes) }
	} else {
		l.in = bufio.NewReaderSize(b.Lines, readBuffer)
	}
	var counts Counts
	for {
		if err := ctx.Err(); err != nil {
			return counts, err
		}
		readErr := read()
		workers := l.score()
		for i := range workers {
			w := &workers[i]
			var err error
			if w.rowed {
				err = b.Rows(w.rows)
			} else {
				_, err = b.Out.Write(w.out)
			}
			if err != nil {
				return counts, fmt.Errorf("writing predictions: %w", err)
			}
			counts.add(&w.counts)
		}
		if b.Progress != nil {
			b.Progress(counts.Scored + counts.Refused)
		}
		if errors.Is(readErr, io.EOF) {
			return counts, nil
		}
		if readErr != nil {
			return counts, fmt.Errorf("reading notes: %w", readErr)
		}
	}
}

type lines struct {
	in      *bufio.Reader
	batch   []line
	data    []byte // of the batch
	number  int    // of the last line read
	note    msg.Note
	workers []lineWorker
}

type line struct {
	number int
	text   []byte
	visit  string // of a note from a table
	err    error  // why it is not a note, if known
}

// readNotes fills the batch with notes as lines, for the same checks.
func (l *lines) readNotes(next func(*msg.Note) (int, error)) error {
	l.batch, l.data = l.batch[:0], l.data[:0]
	visits := 0 // bytes of their names, which share no memory with rows
	for len(l.batch) < maxBatch && len(l.data)+visits < maxBatchBytes {
		number, err := next(&l.note)
		note, from := line{number: number, visit: strings.Clone(l.note.VisitID)}, len(l.data)
		visits += len(note.visit)
		at, _ := errors.AsType[*table.Error](err)
		switch {
		case at != nil && at.Line > 0:
			note.number, note.err = at.Line, at
		case err != nil:
			return err
		case len(l.note.Text) > 2*msg.MaxText: // DecodeOwnNote says so too, of a copy
			note.err = &msg.Error{Reason: msg.TooLarge, Field: "text"}
		default:
			l.data = l.note.AppendJSON(l.data)
		}
		note.text = l.data[from:]
		l.batch = append(l.batch, note)
	}
	return nil
}

// readLines fills the batch with the available lines, at least one.
func (l *lines) readLines() error {
	l.batch, l.data = l.batch[:0], l.data[:0]
	for len(l.batch) < maxBatch && len(l.data) < maxBatchBytes {
		if len(l.batch) > 0 {
			// An incomplete line must not delay the answers to complete ones.
			if waiting, _ := l.in.Peek(l.in.Buffered()); bytes.IndexByte(waiting, '\n') < 0 {
				return nil
			}
		}
		from := len(l.data)
		var err error
		l.data, err = table.AppendLine(l.data, l.in, maxLine+1)
		next := line{text: l.data[from:]}
		if len(next.text) > maxLine {
			next.err = &msg.Error{Reason: msg.TooLarge}
		}
		if err == nil || len(next.text) > 0 {
			l.number++
			next.number = l.number
			l.batch = append(l.batch, next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// score divides the batch into consecutive lines among the workers, and returns those used.
func (l *lines) score() []lineWorker {
	// A worker needs enough lines to be worth waking.
	const least = 16
	used := 0
	var wg sync.WaitGroup
	for part := range slices.Chunk(l.batch, max(least, (len(l.batch)+len(l.workers)-1)/len(l.workers))) {
		w := &l.workers[used]
		used++
		wg.Go(func() { w.run(part) })
	}
	wg.Wait()
	return l.workers[:used]
}

type lineWorker struct {
	scorer     *Scorer
	rowed      bool   // answers are rows, not lines
	scoredAt   string // as in Batch
	note       msg.Note
	prediction msg.Prediction
	out        []byte
	rows       []Row
	counts     Counts
}

func (w *lineWorker) run(batch []line) {
	w.out, w.rows, w.counts = w.out[:0], w.rows[:0], Counts{}
	for _, l := range batch {
		text := bytes.TrimRight(l.text, "\r\n")
		if l.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // the byte order mark of some programs
		}
		if l.err == nil && len(bytes.TrimSpace(text)) == 0 {
			w.counts.Blank++
			continue
		}
		if err := w.score(text, l.err); err != nil {
			code, detail := Refusal(err)
			why := string(code) + ": " + detail
			w.counts.add(&Counts{Refused: 1, Line: l.number, Why: why})
			if w.rowed {
				w.rows = append(w.rows, Row{VisitID: l.visit, Error: fmt.Sprintf("line %d: %s", l.number, why)})
			} else {
				w.out = appendRefusal(w.out, l.number, code, detail)
			}
			continue
		}
		w.counts.Scored++
		if p := &w.prediction; w.rowed {
			w.rows = append(w.rows, Row{
				VisitID: p.VisitID, Probability: new(p.Probability), Decision: string(p.Decision), Logit: new(p.Logit),
				Model: p.Model.Name, Version: p.Model.Version, Abstained: new(p.Abstained),
				Warnings: string(p.AppendWarnings(nil)), Evidence: string(p.AppendEvidence(nil)), Error: "",
			})
		} else {
			w.out = append(p.AppendJSON(w.out), '\n')
		}
	}
}

// score fills the prediction of a note's line, unless it was already refused.
func (w *lineWorker) score(text []byte, err error) error {
	if err != nil {
		return err
	}
	if err := msg.DecodeOwnNote(text, &w.note); err != nil {
		return err
	}
	at := w.scoredAt
	switch at {
	case "":
		at = time.Now().UTC().Format(msg.TimeFormat)
	case NoTime:
		at = ""
	}
	return w.scorer.Score(&w.note, at, &w.prediction)
}

// Refusal returns why DecodeOwnNote or Score refused a note: a code, and a sentence that quotes only names of fields.
func Refusal(err error) (code msg.Reason, detail string) {
	at, ok := errors.AsType[*table.Error](err)
	e, refused := errors.AsType[*msg.Error](err)
	field := ""
	switch {
	case ok:
		code, detail, field = msg.WrongType, at.Err.Error(), at.Column
		if errors.Is(err, table.ErrEncoding) {
			code = msg.InvalidUTF8
		} else if errors.Is(err, table.ErrNotObject) {
			code = msg.NotJSON
		}
	case refused:
		code, detail, field = e.Reason, details[e.Reason], e.Field
	default:
		code = msg.ScoringFailed
	}
	if field != "" {
		detail += ": " + field
	}
	return code, detail
}

func appendRefusal(dst []byte, number int, code msg.Reason, detail string) []byte {
	return fmt.Appendf(dst, `{"line":%d,"error":{"code":"%s","detail":%s}}`+"\n", number, code,
		msg.Text(detail).AppendJSON(nil))
}

var details = map[msg.Reason]string{
	msg.NotJSON:              "not one JSON value",
	msg.WrongType:            "not an object, or a field of the wrong type",
	msg.MissingField:         "a required field is missing",
	msg.EmptyText:            "the text is empty",
	msg.InvalidUTF8:          "not UTF-8",
	msg.TooLarge:             "the text is longer than 64 KiB, or another field too long",
	msg.UnknownSchemaVersion: "the schema version is not one that is known",
	msg.NoModel:              "no model scores this complaint",
	msg.ScoringFailed:        "the note could not be scored",
}
