package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/wardcast/wardcast/internal/wording"
)

// Format is how data is printed: table or json.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// errFormat is returned for any other value of --output, such as a path.
var errFormat = errors.New("--output is a format (table or json)")

// Decode implements kong.MapperValue.
func (f *Format) Decode(ctx *kong.DecodeContext) error {
	var value string
	if err := ctx.Scan.PopValueInto("format", &value); err != nil {
		return err
	}
	*f = Format(value)
	if *f != Table && *f != JSON {
		return errFormat
	}
	return nil
}

// Output is the flag of every command that prints data.
type Output struct {
	Output Format `help:"Print a table or JSON." enum:"table,json" default:"table" short:"o"`
}

// JSON reports whether data is printed as JSON.
func (o Output) JSON() bool { return o.Output == JSON }

// Print prints v as JSON, or the grids.
func (o Output) Print(d *Deps, v any, grids ...*Grid) error {
	if o.JSON() {
		return PrintJSON(d.Out, v)
	}
	return PrintGrids(d.Out, grids...)
}

// PrintJSON writes v as one line, with escapes for what wording.Visible escapes.
func PrintJSON(w io.Writer, v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, wording.Visible(strings.TrimSuffix(b.String(), "\n"))+"\n")
	return err
}

// Grid is a table for people: rows of cells under a header.
type Grid struct {
	Title, Footer string // lines before and after the table, each with its newline
	Header        []string
	rows          [][]string
}

// NewGrid returns a grid with these columns.
func NewGrid(header ...string) *Grid { return &Grid{Header: header} }

// Add adds a row: times in RFC 3339, float64 values with three decimals (see Digits), nil and NaN as "-".
func (g *Grid) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, v := range cells {
		row[i] = shown(v)
	}
	g.rows = append(g.rows, row)
}

// Column adds a column to the rows that were added.
func (g *Grid) Column(name string, cell func(row int) any) {
	g.Header = append(g.Header, name)
	for i, row := range g.rows {
		g.rows[i] = append(row, shown(cell(i)))
	}
}

func shown(v any) string {
	if t, ok := v.(time.Time); ok {
		return t.Format(time.RFC3339)
	}
	if k := reflect.Indirect(reflect.ValueOf(v)).Kind(); k == reflect.Float64 || k == reflect.Invalid {
		return Digits(v, 3)
	}
	return fmt.Sprint(v)
}

// Sort sorts the rows by their cells.
func (g *Grid) Sort() { slices.SortFunc(g.rows, slices.Compare) }

// PrintGrids writes grids, separated by empty lines. A grid without rows is only its title; the first grid is its
// header if it has no title either.
func PrintGrids(w io.Writer, grids ...*Grid) error {
	var b bytes.Buffer
	for i, g := range grids {
		empty := len(g.rows) == 0
		if i > 0 && empty && g.Title == "" {
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(wording.VisibleLines(g.Title))
		if !empty || g.Title == "" {
			_ = PrintTable(&b, g.Header, g.rows) // a buffer takes every write
		}
		b.WriteString(wording.VisibleLines(g.Footer))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// PrintTable writes rows under a header, in aligned columns, as wording.Visible shows them.
func PrintTable(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range slices.Insert(slices.Clone(rows), 0, header) {
		shown := make([]string, len(row))
		for i, cell := range row {
			shown[i] = wording.Visible(cell)
		}
		fmt.Fprintln(t, strings.Join(shown, "\t"))
	}
	return t.Flush()
}

// Digits formats a float64, or a pointer to one, with this many decimals; nil and NaN are "-".
func Digits(v any, decimals int) string {
	number := reflect.Indirect(reflect.ValueOf(v))
	if !number.IsValid() || math.IsNaN(number.Float()) {
		return "-"
	}
	return negativeZero.ReplaceAllString(strconv.FormatFloat(number.Float(), 'f', decimals, 64), "$1")
}

var negativeZero = regexp.MustCompile(`^-(0[.0]*)$`)

// Progress is a progress bar on a terminal, otherwise a log line every minute. The zero value shows nothing. It is safe
// for concurrent use.
type Progress struct {
	mu     sync.Mutex // the bar's own lock does not cover all of its Set
	bar    *progressbar.ProgressBar
	log    *slog.Logger
	what   string
	logged time.Time

	done, total int // arguments of the last Set
}

// logEvery is the time between two log lines.
const logEvery = time.Minute

// NewProgress returns a bar on d.Err if it is a terminal, otherwise log lines in d.Log.
func NewProgress(d *Deps, what string) *Progress {
	if !Terminal(d.Err) {
		return &Progress{log: d.Log, what: what, logged: time.Now()}
	}
	return NewBar(d.Err, what)
}

// NewBar returns a bar on w, even if w is not a terminal.
func NewBar(w io.Writer, what string) *Progress {
	return &Progress{bar: progressbar.NewOptions(-1, progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true))}
}

// Set shows how much of the total is done; a total of 0 is unknown. The bar starts over for a new stage: if the total
// changes, or done falls back to 0 or 1.
func (p *Progress) Set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		if p.log != nil && time.Since(p.logged) >= logEvery {
			p.logged = time.Now()
			line := []any{"what", p.what, "done", done}
			if total > 0 {
				line = append(line, "of", total)
			}
			p.log.Info("still at work", line...)
		}
		return
	}
	if total != p.total || done <= 1 && done < p.done {
		_ = p.bar.Clear()
		p.bar.Reset()
	}
	p.done, p.total = done, total
	if total > 0 && p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	_ = p.bar.Set(done) // failing to draw a bar is no reason to stop
}

// Describe sets the text before the bar.
func (p *Progress) Describe(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	if p.bar != nil {
		p.bar.Describe(what)
	}
}

// Finish removes the bar from the screen.
func (p *Progress) Finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// NewLogger returns a logger for lines at this level (debug, info, warn or error) and above: text if w is a terminal,
// otherwise JSON.
func NewLogger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("reading log level %q: %w", level, err)
	}
	return slog.New(newHandler(w, l, Terminal(w))), nil
}

func newHandler(w io.Writer, l slog.Level, text bool) slog.Handler {
	if !text {
		return slog.NewJSONHandler(visible{w}, &slog.HandlerOptions{Level: l})
	}
	return slog.NewTextHandler(w,
		&slog.HandlerOptions{Level: l, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.String(a.Key, a.Value.Time().Format(time.TimeOnly))
			}
			return a
		}})
}

// visible escapes what a terminal would obey in lines of JSON, which means the same there.
type visible struct{ io.Writer }

func (w visible) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, wording.VisibleLines(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Terminal reports whether a reader or writer is a terminal.
func Terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
