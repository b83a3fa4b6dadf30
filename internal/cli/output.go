package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"
)

// Format is how data is printed: table or json.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// errFormat is returned for another value of --output, such as a path.
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

// JSON reports whether data goes out as JSON.
func (o Output) JSON() bool { return o.Output == JSON }

// Print prints v as JSON, or rows under a header.
func (o Output) Print(d *Deps, v any, header []string, rows [][]string) error {
	if o.JSON() {
		return PrintJSON(d.Out, v)
	}
	return PrintTable(d.Out, header, rows)
}

// PrintJSON writes v as one line.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// PrintTable writes rows under a header, in aligned columns.
func PrintTable(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

// Digits formats a number with this many decimals; "-" if it is nil.
func Digits(v *float64, decimals int) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
}

// Progress is a progress bar on a terminal, and elsewhere a line in the log every minute. The zero value shows nothing.
// It is safe for concurrent use.
type Progress struct {
	mu     sync.Mutex // the bar's own lock does not cover the whole of its Set
	bar    *progressbar.ProgressBar
	log    *slog.Logger
	what   string
	logged time.Time

	done, total int // when it was last set
}

// logEvery is the time between two lines in the log.
const logEvery = time.Minute

// NewProgress returns a bar on d.Err if that is a terminal, otherwise one for d.Log.
func NewProgress(d *Deps, what string) *Progress {
	if !Terminal(d.Err) {
		return &Progress{log: d.Log, what: what, logged: time.Now()}
	}
	return NewBar(d.Err, what)
}

// NewBar returns a bar on w, even if that is not a terminal.
func NewBar(w io.Writer, what string) *Progress {
	return &Progress{bar: progressbar.NewOptions(-1, progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true))}
}

// Set shows how much of the total is done; a total of 0 is unknown. Another total, or one that begins again at 0 or 1,
// is a new stage, of which the bar begins anew.
func (p *Progress) Set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		p.logLine(done, total)
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
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

func (p *Progress) logLine(done, total int) {
	if p.log == nil || time.Since(p.logged) < logEvery {
		return
	}
	p.logged = time.Now()
	line := []any{"what", p.what, "done", done}
	if total > 0 {
		line = append(line, "of", total)
	}
	p.log.Info("still at work", line...)
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
