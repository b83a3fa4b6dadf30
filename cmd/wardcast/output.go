package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// output is the flag of every command that prints data.
type output struct {
	Output string `help:"Print a table or JSON." enum:"table,json" default:"table" short:"o"`
}

func (o output) json() bool { return o.Output == "json" }

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable writes rows under a header, in aligned columns.
func printTable(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

// digits writes a number with so many decimals, "-" for none.
func digits(v *float64, decimals int) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
}

// progress is a bar on the terminal; elsewhere it shows nothing. It is safe for concurrent use.
type progress struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func newProgress(w io.Writer, what string) *progress {
	if !terminal(w) {
		return &progress{}
	}
	return newBar(w, what)
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func newBar(w io.Writer, what string) *progress {
	return &progress{bar: progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))}
}

// set shows that so much of the total is done; a total of 0 is not known.
func (p *progress) set(done, total int) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if total > 0 && p.bar.GetMax() != total {
		p.bar.ChangeMax(total)
	}
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
}

// describe writes what stands before the bar.
func (p *progress) describe(what string) {
	if p.bar == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Describe(what)
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// lineCounter shows how many lines were written.
type lineCounter struct {
	io.Writer
	bar   *progress
	lines int
}

// Write implements io.Writer.
func (c *lineCounter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.lines += bytes.Count(b[:n], []byte{'\n'})
	c.bar.set(c.lines, 0)
	return n, err
}
