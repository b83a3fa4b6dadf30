package retrain

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/table"
)

// Source holds past outcomes and notes. Outcomes and Notes call each for every message, always in the same order, and
// return its error. They may leave out what was recorded before from, if they know.
type Source interface {
	// Names returns the names of the files, without their folders, or of the KafkaTopics: reports name them.
	Names() []string
	Outcomes(ctx context.Context, from time.Time, each func(*Message) error) error
	Notes(ctx context.Context, from time.Time, each func(*Message) error) error
}

// Message is one message of a source. It is valid until the function that gets it returns.
type Message struct {
	Key      []byte    // the visit; nil if the source has no keys
	Value    []byte    // JSON; empty if the message erases what its key names
	Recorded time.Time // when the message was written; zero if the source does not know
	Own      bool      // the message did not come through Kafka: schema_version may be absent
	Place    Place
}

// Place is where a message stands in its source.
type Place struct {
	Source   string // file, or KafkaTopic and partition
	Position int64  // line from 1, or offset
}

func (p Place) String() string { return p.Source + ":" + strconv.FormatInt(p.Position, 10) }

// Files is a Source of JSON lines. Files are read in their order; their names may end in .gz or .zst.
type Files struct {
	NoteFiles, OutcomeFiles []string
	// Progress is called with the bytes read of all files and their total; nil means nobody looks.
	Progress func(done, total int64)
}

// Names returns the names of all files.
func (f *Files) Names() []string {
	return lists.Map(slices.Concat(f.NoteFiles, f.OutcomeFiles), filepath.Base)
}

// Outcomes reads the files of outcomes. It ignores from: lines have no time of their own.
func (f *Files) Outcomes(ctx context.Context, _ time.Time, each func(*Message) error) error {
	return f.read(ctx, f.OutcomeFiles, each)
}

// Notes reads the files of notes. It ignores from.
func (f *Files) Notes(ctx context.Context, _ time.Time, each func(*Message) error) error {
	return f.read(ctx, f.NoteFiles, each)
}

func (f *Files) read(ctx context.Context, paths []string, each func(*Message) error) error {
	if len(paths) == 0 {
		return errors.New("no files of notes, or none of outcomes")
	}
	var progress progress
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("reading messages: %w", err)
		}
		progress.total += info.Size()
	}
	progress.report = f.Progress
	for _, path := range paths {
		if err := readFile(ctx, path, &progress, each); err != nil {
			return err
		}
	}
	return nil
}

type progress struct {
	in          io.Reader
	done, total int64
	report      func(done, total int64)
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.done += int64(n)
	if p.report != nil && n > 0 {
		p.report(p.done, p.total)
	}
	return n, err
}

// maxLine bounds a line: a note of msg.MaxText bytes with every character escaped, and its other fields.
const maxLine = 1 << 20

// readFile calls each for every line that is not blank. An error of reading names file and line, since what is behind
// it is lost; an overlong line is passed on cut off, for each to refuse.
func readFile(ctx context.Context, path string, p *progress, each func(*Message) error) error {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("reading messages: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	p.in = file
	fail := func(line int64, err error) error { return &table.Error{File: path, Line: int(line), Err: err} }
	text, err := table.Decompress(p, path)
	if err != nil {
		return fail(1, err)
	}
	defer func() { _ = text.Close() }()
	lines := bufio.NewReaderSize(text, 64<<10)
	m := Message{Own: true, Place: Place{Source: path}}
	for {
		m.Place.Position++
		if err := ctx.Err(); err != nil {
			return err
		}
		var last error
		if m.Value, last = table.AppendLine(m.Value[:0], lines, maxLine); last != nil && !errors.Is(last, io.EOF) {
			return fail(m.Place.Position, last)
		}
		if m.Place.Position == 1 {
			m.Value = bytes.TrimPrefix(m.Value, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(m.Value)) > 0 {
			if err := each(&m); err != nil {
				return err
			}
		}
		if last != nil {
			return nil
		}
	}
}
