package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/textproc"
)

type tokensCmd struct {
	Text     *string    `help:"Read this text (default: JSON lines with a field text on standard input)." type:"text"`
	Concepts string     `help:"File of concepts that extend or, with the same name, replace the built-in ones; none: single words only." placeholder:"FILE|none" xor:"settings"`
	Dialect  string     `help:"Where dialects contradict each other and the context does not decide, read words as nurses there mean them: us, uk, au (New Zealand too), in or ca." enum:"us,uk,au,in,ca," default:"" placeholder:"COUNTRY"`
	ModelDir string     `help:"Model store: read the text like its champion." placeholder:"DIR" xor:"settings"`
	Model    string     `help:"Model of --model-dir." default:"_other" placeholder:"NAME"`
	Output   cli.Format `help:"Format: table, or json with one line per note." enum:"table,json" default:"table" short:"o"`
}

type tokens struct {
	Tokens []token `json:"tokens"`
}

// token is a part of the note with a meaning.
type token struct {
	Start  int      `json:"start"` // in Unicode code points
	End    int      `json:"end"`
	Text   string   `json:"text"`
	Terms  []string `json:"terms"`
	Status string   `json:"status"`
	Known  *bool    `json:"known,omitempty"` // nil without a model
}

// maxNote bounds a line of standard input, in bytes.
const maxNote = 1 << 20

func (c *tokensCmd) Run(ctx context.Context, d *cli.Deps) error {
	reader, err := c.reader(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(d.Out)
	write := func(text string) error {
		note := c.read(text, reader)
		if c.Output == cli.Table {
			return cli.PrintGrids(out, c.grid(note))
		}
		return json.NewEncoder(out).Encode(note)
	}
	if c.Text != nil {
		return cmp.Or(write(*c.Text), out.Flush())
	}
	d.Await("notes, one JSON object with a field text on each line (--text reads one text)")
	lines := bufio.NewScanner(d.In)
	lines.Buffer(nil, maxNote)
	for number := 1; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var note struct{ Text *string }
		if err := json.Unmarshal(lines.Bytes(), &note); err != nil || note.Text == nil {
			return errors.Join(out.Flush(), fmt.Errorf("line %d is not a JSON object with a text field", number))
		}
		if err := write(*note.Text); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(out.Flush(), fmt.Errorf("reading standard input: %w", err))
	}
	return out.Flush()
}

// reader returns the transformer of a champion, or one with the default settings.
func (c *tokensCmd) reader(ctx context.Context) (_ *textproc.Transformer, err error) {
	if c.Text != nil && !utf8.ValidString(*c.Text) {
		return nil, cli.Usagef("--text is not UTF-8")
	}
	if c.ModelDir != "" {
		if c.Dialect != "" {
			return nil, cli.Usagef("--dialect cannot be used with --model-dir: the model has its own")
		}
		store, err := (&store{ModelDir: c.ModelDir}).ProvideStore(ctx)
		if err != nil {
			return nil, err
		}
		model, err := loadModel(ctx, store, c.Model, "")
		if err != nil {
			return nil, err
		}
		return model.Vectorizer().Transformer(), nil
	}
	s := textproc.DefaultSettings()
	if s.Concepts, err = concepts(c.Concepts, c.Dialect); err != nil {
		return nil, err
	}
	return textproc.Reader(s)
}

// concepts returns the built-in concepts in a dialect and extended by a file, or nil without both.
func concepts(path, dialect string) (c *textproc.Concepts, err error) {
	if path == "none" {
		return textproc.Builtin().WithoutConcepts(), nil
	}
	c = textproc.Builtin()
	if dialect != "" {
		if c, err = c.In(dialect); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return c, nil
	}
	const limit = 16 << 20 // bytes, some 200,000 concepts
	data, err := files.Read(path, limit)
	if err != nil {
		return nil, cli.Usagef("--concepts %s: %w", path, table.Cause(err))
	}
	c, err = c.With(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", path, err)
	}
	return c, nil
}

func (c *tokensCmd) read(text string, reader *textproc.Transformer) tokens {
	note := tokens{Tokens: []token{}}
	var positions []int
	for _, t := range reader.Tokens(text) {
		k := token{Text: text[t.Start:t.End], Terms: t.Terms, Status: t.Status.String()}
		if c.ModelDir != "" {
			k.Known = &t.Known
		}
		note.Tokens = append(note.Tokens, k)
		positions = append(positions, t.Start, t.End)
	}
	textproc.CodePoints(text, positions)
	for i := range note.Tokens {
		note.Tokens[i].Start, note.Tokens[i].End = positions[2*i], positions[2*i+1]
	}
	return note
}

func (c *tokensCmd) grid(note tokens) *cli.Grid {
	grid := cli.NewGrid("start", "end", "text", "status", "terms")
	for _, k := range note.Tokens {
		grid.Add(k.Start, k.End, strconv.Quote(k.Text), k.Status, strings.Join(k.Terms, ", "))
	}
	if c.ModelDir != "" {
		known := map[bool]string{true: "yes", false: "no"}
		grid.Column("known", func(i int) any { return known[*note.Tokens[i].Known] })
	}
	return grid
}
