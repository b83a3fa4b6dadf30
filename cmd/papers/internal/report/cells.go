package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gofrs/flock"
)

// Cell is one result of an experiment, as JSON a line of its file.
type Cell interface {
	// Key returns a comparable value that differs between the cells of an experiment.
	Key() any
}

// Job computes one cell.
type Job[C Cell] struct {
	// Cell holds the key and nothing else.
	Cell C
	// Fill computes the rest of the cell.
	Fill func(context.Context, *C) error
	// Parts counts the calls of Session.Step by Fill. If it is 0, Resume takes the job for one step.
	Parts int
}

// Resume returns the cells of the jobs, in their order. It reads those that the session's file holds. The others it
// computes one after another, so that their seconds can be compared, and adds each to the file at once. When a job
// fails, the cells before it come with the error; they are nil if the file cannot be used.
//
// The first line of the file is the header: all that the cells depend on. A file with another header, or one that another
// run adds to, stays as it is and is an error that wraps ErrSettings. The error does not quote a line that is no header:
// the line may hold patients' text.
func Resume[C Cell, H any](ctx context.Context, s *Session, header H, jobs []Job[C]) (cells []C, err error) {
	file, err := openCells[C](s.Cells, header)
	if err != nil {
		return nil, fmt.Errorf("opening cells %s: %w", s.Cells, err)
	}
	defer func() { err = cmp.Or(err, file.close()) }()
	cells = make([]C, 0, len(jobs))
	for _, j := range jobs {
		s.Expect(max(1, j.Parts))
	}
	for _, j := range jobs {
		cell, known := file.known[j.Cell.Key()]
		if !known {
			cell = j.Cell
			if err := j.Fill(ctx, &cell); err != nil {
				return cells, fmt.Errorf("%v: %w", j.Cell.Key(), err)
			}
			if err := file.add(cell); err != nil {
				return cells, fmt.Errorf("writing cells %s: %w", s.Cells, err)
			}
		}
		cells = append(cells, cell)
		if known || j.Parts == 0 {
			s.Step(max(1, j.Parts))
		}
	}
	return cells, nil
}

// cellsFile is a file of JSON lines: the header, then the cells that were computed under it.
type cellsFile[C Cell] struct {
	known map[any]C
	lock  *flock.Flock
	file  *os.File // nil without a path
}

// openCells reads the cells of a file and locks it. A killed run may leave a last line without its end, which is dropped.
func openCells[C Cell, H any](path string, header H) (_ *cellsFile[C], err error) {
	c := &cellsFile[C]{known: map[any]C{}}
	if path == "" {
		return c, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	first, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	first = append(first, '\n')
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	c.lock = flock.New(path)
	if locked, err := c.lock.TryLock(); err != nil || !locked {
		return nil, cmp.Or(err, Invalid("another run is adding to it"))
	}
	data, err := io.ReadAll(c.file)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(first, data[:min(len(data), len(first))]) {
		line, _, _ := bytes.Cut(data, []byte("\n"))
		if parse(line, new(H)) != nil {
			return nil, Invalid("it exists, but this version did not write it")
		}
		return nil, Invalid("it holds results of %s, not of %s", line, bytes.TrimSpace(first))
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	if err := c.file.Truncate(int64(len(whole))); err != nil {
		return nil, err
	}
	if _, err := c.file.Seek(int64(len(whole)), io.SeekStart); err != nil {
		return nil, err
	}
	if len(whole) == 0 {
		_, err := c.file.Write(first)
		return c, err
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))[1:] {
		var cell C
		if err := parse(line, &cell); err != nil {
			return nil, fmt.Errorf("line %d is not a cell that this version writes", i+2)
		}
		if _, twice := c.known[cell.Key()]; !twice {
			c.known[cell.Key()] = cell
		}
	}
	return c, nil
}

// parse reads a line that was written from a value of v's type. Any other line, even one that only lacks a field, is an
// error.
func parse(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return err
	}
	again, err := json.Marshal(v)
	if err == nil && !bytes.Equal(again, line) {
		err = errors.New("not as written")
	}
	return err
}

func (c *cellsFile[C]) add(cell C) error {
	if c.file == nil {
		return nil
	}
	line, err := json.Marshal(cell)
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(line, '\n'))
	return err
}

func (c *cellsFile[C]) close() error {
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return err
}
