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
	// Key returns a comparable value, different for each cell of an experiment.
	Key() any
}

// Job computes one cell.
type Job[C Cell] struct {
	// Cell has only its key.
	Cell C
	// Fill computes the rest of the cell.
	Fill func(context.Context, *C) error
	// Parts counts the calls of Session.Step by Fill. If it is 0, Resume counts the job as one step.
	Parts int
}

// Resume returns the cells of the jobs, in their order. It reads the cells in the session's file. It computes the
// others one after another, so that their seconds can be compared, and adds each to the file at once. When a job fails,
// it returns the cells before it with the error; they are nil if the file cannot be used.
//
// The first line of the file is the header: everything that the cells depend on. A file with a different header, or one
// that another run adds to, is not changed and causes an error that wraps ErrSettings. The error does not quote a line
// that is not a header: the line may contain patients' text.
func Resume[C Cell, H any](ctx context.Context, s *Session, header H, jobs []Job[C]) (cells []C, err error) {
	known, file, release, err := openCells[C](s.Cells, header)
	if err != nil {
		return nil, fmt.Errorf("opening cells %s: %w", s.Cells, err)
	}
	defer func() { err = cmp.Or(err, release()) }()
	cells = make([]C, 0, len(jobs))
	for _, j := range jobs {
		s.Expect(max(1, j.Parts))
	}
	for _, j := range jobs {
		cell, done := known[j.Cell.Key()]
		if !done {
			cell = j.Cell
			if err := j.Fill(ctx, &cell); err != nil {
				return cells, fmt.Errorf("%v: %w", j.Cell.Key(), err)
			}
			if err := file.Encode(cell); err != nil {
				return cells, fmt.Errorf("writing cells %s: %w", s.Cells, err)
			}
		}
		cells = append(cells, cell)
		if done || j.Parts == 0 {
			s.Step(max(1, j.Parts))
		}
	}
	return cells, nil
}

// openCells reads and locks a file of cells. It returns the known cells, a function that adds others, and one that
// releases the file. An incomplete last line, from a run that was killed, is dropped.
func openCells[C Cell,
	H any](path string, header H) (known map[any]C, out *json.Encoder, release func() error, err error) {
	known = map[any]C{}
	if path == "" {
		return known, json.NewEncoder(io.Discard), func() error { return nil }, nil
	}
	first, err := json.Marshal(header)
	if err != nil {
		return nil, nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, nil, err
	}
	out = json.NewEncoder(file)
	lock := flock.New(path)
	unlock := func() error { return errors.Join(file.Close(), lock.Close()) }
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil, nil, nil, cmp.Or(err, Invalid("another run is adding to it"))
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, nil, nil, err
	}
	if line, _, _ := bytes.Cut(data, []byte("\n")); !bytes.HasPrefix(append(first, '\n'),
		data[:min(len(data), len(first)+1)]) {
		if parse(line, new(H)) != nil {
			return nil, nil, nil, Invalid("it exists, but this version did not write it")
		}
		return nil, nil, nil, Invalid("it holds results of %s, not of %s", line, first)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	_, err = file.Seek(int64(len(whole)), io.SeekStart)
	if err := cmp.Or(err, file.Truncate(int64(len(whole)))); err != nil {
		return nil, nil, nil, err
	}
	if len(whole) == 0 {
		return known, out, unlock, out.Encode(header)
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))[1:] {
		var cell C
		if parse(line, &cell) != nil {
			return nil, nil, nil, fmt.Errorf("line %d is not a cell that this version writes", i+2)
		}
		if _, twice := known[cell.Key()]; !twice {
			known[cell.Key()] = cell
		}
	}
	return known, out, unlock, nil
}

// parse reads a line that was written from a value of v's type. Any other line, even with only one field missing, is an
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
