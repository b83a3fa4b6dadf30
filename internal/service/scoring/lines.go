package scoring

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
)

const (
	// maxLine is the longest line that is kept: a longer one cannot hold a note, whose text ends at 64 KiB.
	maxLine = 4 << 20
	// maxBatch is how many lines are scored at once.
	maxBatch = 1024
	// maxBatchBytes bounds the lines that are held at once.
	maxBatchBytes = 8 << 20
	readBuffer    = 256 << 10
	// byteOrderMark begins what some programs export as UTF-8.
	byteOrderMark = "\ufeff"
)

// Counts tells what became of lines.
type Counts struct {
	Scored  int
	Refused int // answered by an error
	Blank   int
}

// Lines reads notes from r, one JSON object a line, and writes to w for each the prediction, or for a line that
// cannot be scored
//
//	{"line":N,"error":{"code":"…","detail":"…"}}
//
// in the order of the input. N counts from 1, blank lines included; a byte order mark before the first is skipped.
// What has come is answered without waiting for more. It scores on GOMAXPROCS goroutines; the bytes do not depend on
// how many.
func (s *Set) Lines(ctx context.Context, options classifier.Options, r io.Reader, w io.Writer) (Counts, error) {
	l := &lines{in: bufio.NewReaderSize(r, readBuffer), workers: make([]lineWorker, runtime.GOMAXPROCS(0))}
	for i := range l.workers {
		l.workers[i].scorer = s.Scorer(options)
	}
	var counts Counts
	for {
		if err := ctx.Err(); err != nil {
			return counts, err
		}
		readErr := l.read()
		l.score()
		for i := range l.used {
			if _, err := w.Write(l.workers[i].out); err != nil {
				return counts, fmt.Errorf("writing predictions: %w", err)
			}
			counts.Scored += l.workers[i].counts.Scored
			counts.Refused += l.workers[i].counts.Refused
			counts.Blank += l.workers[i].counts.Blank
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
	workers []lineWorker
	used    int // workers that the batch was shared among
}

// line is data[from:to] of a batch.
type line struct {
	number, from, to int
	tooLong          bool
}

// read fills the batch with what is there, at least one line.
func (l *lines) read() error {
	l.batch, l.data = l.batch[:0], l.data[:0]
	for len(l.batch) < maxBatch && len(l.data) < maxBatchBytes {
		if len(l.batch) > 0 {
			// A line that has not come whole must not hold up the answers to those that have.
			if waiting, _ := l.in.Peek(l.in.Buffered()); bytes.IndexByte(waiting, '\n') < 0 {
				return nil
			}
		}
		next := line{from: len(l.data)}
		for {
			part, err := l.in.ReadSlice('\n')
			if len(l.data)-next.from+len(part) > maxLine {
				next.tooLong = true
			} else {
				l.data = append(l.data, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			next.to = len(l.data)
			if err == nil || next.to > next.from || next.tooLong {
				l.number++
				next.number = l.number
				l.batch = append(l.batch, next)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// score shares the batch among the workers, each taking lines that follow one another.
func (l *lines) score() {
	// A worker wants enough lines to be worth waking.
	const least = 16
	l.used = max(1, min(len(l.workers), len(l.batch)/least))
	var wg sync.WaitGroup
	for i := 1; i < l.used; i++ {
		wg.Go(func() { l.workers[i].run(l.data, l.part(i)) })
	}
	l.workers[0].run(l.data, l.part(0))
	wg.Wait()
}

func (l *lines) part(i int) []line {
	return l.batch[i*len(l.batch)/l.used : (i+1)*len(l.batch)/l.used]
}

type lineWorker struct {
	scorer     *Scorer
	note       msg.Note
	prediction msg.Prediction
	out        []byte
	counts     Counts
}

func (w *lineWorker) run(data []byte, batch []line) {
	w.out, w.counts = w.out[:0], Counts{}
	for _, l := range batch {
		text := bytes.TrimRight(data[l.from:l.to], "\r\n")
		if l.number == 1 {
			text = bytes.TrimPrefix(text, []byte(byteOrderMark))
		}
		if !l.tooLong && len(bytes.TrimSpace(text)) == 0 {
			w.counts.Blank++
			continue
		}
		if err := w.answer(text, l.tooLong); err != nil {
			w.counts.Refused++
			w.out = appendRefusal(w.out, l.number, err)
		} else {
			w.counts.Scored++
			w.out = w.prediction.AppendJSON(w.out)
		}
		w.out = append(w.out, '\n')
	}
}

func (w *lineWorker) answer(text []byte, tooLong bool) error {
	if tooLong {
		return &msg.Error{Reason: msg.TooLarge}
	}
	if err := msg.DecodeNote(text, &w.note); err != nil {
		return err
	}
	return w.scorer.Score(&w.note, time.Now().UTC().Format(msg.TimeFormat), &w.prediction)
}

// appendRefusal appends the line of an error. Codes and details are our own words and need no escapes.
func appendRefusal(dst []byte, number int, err error) []byte {
	code, detail := msg.ScoringFailed, ""
	if e, ok := errors.AsType[*msg.Error](err); ok {
		code, detail = e.Reason, details[e.Reason]
		if e.Field != "" {
			detail += ": " + e.Field
		}
	}
	dst = append(dst, `{"line":`...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, `,"error":{"code":"`...)
	dst = append(dst, code...)
	dst = append(dst, `","detail":"`...)
	dst = append(dst, detail...)
	return append(dst, `"}}`...)
}

var details = map[msg.Reason]string{
	msg.NotJSON:              "the line is not one JSON value",
	msg.WrongType:            "not an object, or a field of the wrong type",
	msg.MissingField:         "a required field is missing",
	msg.EmptyText:            "the text is empty",
	msg.InvalidUTF8:          "the line is not UTF-8",
	msg.TooLarge:             "the text is longer than 64 KiB, or another field too long",
	msg.UnknownSchemaVersion: "the schema version is not one that is known",
	msg.NoModel:              "no model scores this complaint",
	msg.ScoringFailed:        "the note could not be scored",
}
