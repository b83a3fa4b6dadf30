// Package report is the common part of the papers' experiments: the session of a run, random draws, the file of cells
// that a run resumes from, and the report of tables and figures.
package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/renameio/v2"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/solver"
)

// Report is the result of an experiment.
type Report struct {
	// Data is the complete result, for JSON.
	Data any
	// Tables are the printed tables.
	Tables []Table
	// CSV and SVG are files by name.
	CSV map[string]*Table
	SVG map[string]Figure
}

// Table is rows of text under a header.
type Table struct {
	Title  string
	Header []string
	Lines  [][]string
}

// NewTable returns a table without lines. Its header is separated by commas.
func NewTable(title, header string) *Table {
	return &Table{Title: title, Header: strings.Split(header, ",")}
}

// Add appends a line. Numbers get all their digits, and nil pointers become empty.
func (t *Table) Add(values ...any) {
	line := make([]string, len(values))
	for i, value := range values {
		v := reflect.ValueOf(value)
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Pointer {
			line[i] = fmt.Sprint(v)
		}
	}
	t.Lines = append(t.Lines, line)
}

// text returns the table in aligned columns, and markdown the same as Markdown.
func (t *Table) text() string {
	var b strings.Builder
	// a capital ε looks like an E
	header := strings.ReplaceAll(strings.ToUpper(strings.Join(t.Header, "\t")), "Ε_", "ε_")
	_ = cli.PrintTable(&b, strings.Split(header, "\t"), t.Lines) // a builder takes every write
	return t.Title + "\n" + b.String()
}

func (t *Table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Header, " | "),
		strings.Repeat(" --- |", len(t.Header)))
	for _, line := range t.Lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
	}
	return b.String()
}

// Print writes the report as "table", "markdown" or "json".
func (r *Report) Print(w io.Writer, format string) error {
	if format == "json" {
		return cli.PrintJSON(w, r.Data)
	}
	for _, t := range r.Tables {
		text := t.text()
		if format == "markdown" {
			text = t.markdown()
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// Write writes results.json and the files into a folder, each atomically. It creates the folder if necessary.
func (r *Report) Write(dir string) error {
	var b bytes.Buffer
	write := func(name string, err error) error {
		if err == nil {
			err = renameio.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644, renameio.WithTempDir(dir))
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		b.Reset()
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	if err := write("results.json", json.NewEncoder(&b).Encode(r.Data)); err != nil {
		return err
	}
	for name, t := range r.CSV {
		if err := write(name, csv.NewWriter(&b).WriteAll(append([][]string{t.Header}, t.Lines...))); err != nil {
			return err
		}
	}
	for name, f := range r.SVG {
		if err := write(name, f.draw(&b)); err != nil {
			return err
		}
	}
	return nil
}

// MeanDeviation returns the mean of values and their standard deviation, which is 0 for one value.
func MeanDeviation(values []float64) (mean, deviation float64) {
	if len(values) < 2 {
		return stat.Mean(values, nil), 0
	}
	return stat.MeanStdDev(values, nil)
}

// MeanError returns the mean of values and its standard error, which is 0 for one value.
func MeanError(values []float64) (mean, standardError float64) {
	mean, deviation := MeanDeviation(values)
	return mean, stat.StdErr(deviation, float64(len(values)))
}

// Fingerprint returns the SHA-256 of the text that write adds.
func Fingerprint(write func(add func(format string, args ...any))) string {
	h := sha256.New()
	write(func(format string, args ...any) { _, _ = fmt.Fprintf(h, format, args...) }) // a hash accepts every write
	return hex.EncodeToString(h.Sum(nil))
}

// Printed returns the values that follow the key in a line of text, nil without such a line.
func Printed(text string, key ...any) []string {
	want := strings.Fields(fmt.Sprintln(key...))
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > len(want) && slices.Equal(fields[:len(want)], want) {
			return fields[len(want):]
		}
	}
	return nil
}

// Random returns a generator that depends on the seed and the name of a draw.
func Random(seed uint64, name string, args ...any) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, name, args...) // a hash accepts every write
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Drawn returns a matrix of draws, row after row.
func Drawn(rows, columns int, draw func() float64) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	raw := m.RawMatrix().Data
	for i := range raw {
		raw[i] = draw()
	}
	return m
}

// ErrSettings is wrapped by errors for settings out of range.
var ErrSettings = errors.New("settings out of range")

// Invalid returns an error that wraps ErrSettings.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSettings, fmt.Sprintf(format, args...))
}

// Session is the context of a run. The zero value stores nothing and reports no progress.
type Session struct {
	// Cells is the path of the file that Resume reads and adds to; "" for none.
	Cells string
	// Progress, unless nil, is called with the number of steps done. It may be called from several goroutines.
	Progress func(done, total int)

	done, total atomic.Int64
}

// Expect adds steps to the total of the run.
func (s *Session) Expect(steps int) { s.total.Add(int64(steps)) }

// Step reports that this many more steps are done.
func (s *Session) Step(steps int) {
	if done := s.done.Add(int64(steps)); s.Progress != nil {
		s.Progress(int(done), int(s.total.Load()))
	}
}

// Threads bounds the threads of the process; 0 means one for each processor.
type Threads int

// Limit sets the bound and returns a function that lifts it.
func (t Threads) Limit() (lift func(), err error) {
	if t < 0 || t > solver.MaxThreads {
		return nil, Invalid("%d threads, must be 0 to %d", t, solver.MaxThreads)
	}
	before := runtime.GOMAXPROCS(int(t)) // 0 does not change it
	return func() { runtime.GOMAXPROCS(before) }, nil
}
