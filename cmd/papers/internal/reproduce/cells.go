package reproduce

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gofrs/flock"

	"github.com/wardcast/wardcast/models/train"
)

// header is the first line of a file of cells: what they were computed from.
type header interface {
	// of names the cells; whole reports whether a header that was read is one of theirs.
	of() string
	whole() bool
}

// triageHeader is the header of triage tables.
type triageHeader struct {
	TriageSettings
	Notes string `json:"notes"` // fingerprint
}

func (h triageHeader) of() string { return "triage tables" }

func (h triageHeader) whole() bool { return h.Notes != "" }

// fingerprint returns the SHA-256 of all that cells depend on in the notes.
func fingerprint(groups []train.Group) string {
	h := sha256.New() // which accepts every write
	for _, g := range groups {
		_, _ = fmt.Fprintf(h, "%q\n", g.Complaint)
		for i := range g.Rows {
			_, _ = fmt.Fprintf(h, "%q %q %t\n", g.Rows[i].Visit, g.Rows[i].Text, g.Rows[i].Positive)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cellsFile is a file of JSON lines: the header, then the cells that were computed under it.
type cellsFile[T any] struct {
	path  string
	lock  *flock.Flock
	file  *os.File // nil without a path
	known []T
}

// openCells reads the cells of a file and opens it for more, which no other process may until it is closed. A last line
// without its end, which a killed run leaves, is dropped. A file that begins with another header stays as it is and is an
// error that wraps ErrSettings; what it holds may be what patients said, and is not told. check returns what a cell lacks.
func openCells[T any, H header](path string, h H, check func(*T) error) (_ *cellsFile[T], err error) {
	c := &cellsFile[T]{path: path}
	if path == "" {
		return c, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("opening cells %s: %w", path, errors.Join(err, c.close()))
		}
	}()
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	first = append(first, '\n')
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	c.lock = flock.New(path)
	if locked, err := c.lock.TryLock(); err != nil || !locked {
		return nil, cmp.Or(err, fmt.Errorf("%w: another run is adding to it", ErrSettings))
	}
	data, err := io.ReadAll(c.file)
	if err != nil {
		return nil, err
	}
	if begun := data[:min(len(data), len(first))]; !bytes.HasPrefix(first, begun) {
		return nil, foreign[H](data, first)
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	if err := errors.Join(c.file.Truncate(int64(len(whole))), seek(c.file, int64(len(whole)))); err != nil {
		return nil, err
	}
	if len(whole) == 0 {
		_, err := c.file.Write(first)
		return c, err
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))[1:] {
		var cell T
		if err := json.Unmarshal(line, &cell); err != nil {
			return nil, fmt.Errorf("line %d is no line of a table", i+2)
		}
		if err := check(&cell); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		c.known = append(c.known, cell)
	}
	return c, nil
}

// checkTriageCell returns what a cell lacks that tables show.
func checkTriageCell(c *TriageCell) error {
	if c.Method != train.BagOfWords && (c.Residual == nil || c.SparsityTopics == nil || c.SparsityScores == nil) {
		return errors.New("topics without residual or sparsity")
	}
	return nil
}

// foreign returns why a file does not go on under a header.
func foreign[H header](data, first []byte) error {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var other H
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&other); err != nil || !other.whole() {
		return fmt.Errorf("%w: it is there, and no file of %s of this version", ErrSettings, other.of())
	}
	was, err := json.Marshal(other)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it holds results of %s, not of %s", ErrSettings, was, bytes.TrimSpace(first))
}

func seek(f *os.File, offset int64) error {
	_, err := f.Seek(offset, io.SeekStart)
	return err
}

// find returns the first cell that is the one wanted, nil if the file has none.
func (c *cellsFile[T]) find(wanted func(*T) bool) *T {
	for i := range c.known {
		if wanted(&c.known[i]) {
			return &c.known[i]
		}
	}
	return nil
}

// add writes a cell, so that it outlives the process.
func (c *cellsFile[T]) add(cell *T) error {
	if c.file == nil {
		return nil
	}
	if err := c.write(cell); err != nil {
		return fmt.Errorf("writing cells %s: %w", c.path, err)
	}
	return nil
}

func (c *cellsFile[T]) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(line, '\n'))
	return err
}

func (c *cellsFile[T]) close() error {
	var err error
	if c.file != nil {
		err = c.file.Close()
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return err
}
