package rounds

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/internal/lists"
)

// groupSize is the number of shards whose answers are added before they reach the coordinator, if there are more.
const groupSize = 64

// Request is an operation of all shards.
type Request struct {
	Op      Op       `json:"op"`
	Message []byte   `json:"-"`              // to each, the same
	From    []string `json:"from,omitempty"` // names of what each reads behind it
	Keep    string   `json:"keep,omitempty"` // under which each keeps its answer; "" passes it to the coordinator
	Add     bool     `json:"add,omitempty"`  // answers of groupSize shards that follow each other may be added
}

// Relay passes operations on to shards.
type Relay interface {
	Shards() int
	// Hold has each shard hold bytes under a name, in place of what it held.
	Hold(ctx context.Context, name string, each [][]byte) error
	// Run returns the answers in the order of the shards, or of groups of them; none if they are kept.
	Run(ctx context.Context, r Request) ([][]byte, error)
}

// Local is shards in this process or in others on this machine.
type Local struct {
	n     int
	start Start
	held  map[string][][]byte
}

// Start runs one operation of one shard, as Run does.
type Start func(ctx context.Context, op Op, in io.Reader, out io.Writer) error

// NewLocal returns n shards.
func NewLocal(n int, start Start) *Local { return &Local{n, start, map[string][][]byte{}} }

// Shards returns their number.
func (l *Local) Shards() int { return l.n }

// Hold keeps the bytes.
func (l *Local) Hold(_ context.Context, name string, each [][]byte) error {
	l.held[name] = each
	return nil
}

// Run starts a process for each shard, as many at once as there are processors.
func (l *Local) Run(ctx context.Context, r Request) ([][]byte, error) {
	answers, err := l.each(ctx, l.n, r.Op, func(shard int) io.Reader {
		parts := [][]byte{r.Message}
		for _, name := range r.From {
			parts = append(parts, l.held[name][shard])
		}
		return joined(parts)
	})
	switch {
	case err != nil:
		return nil, err
	case r.Keep != "":
		l.held[r.Keep] = answers
		return nil, nil
	case r.Add && l.n > groupSize:
		groups := slices.Collect(slices.Chunk(answers, groupSize))
		return l.each(ctx, len(groups), OpAdd, func(group int) io.Reader { return joined(groups[group]) })
	}
	return answers, nil
}

func (l *Local) each(ctx context.Context, n int, op Op, in func(i int) io.Reader) ([][]byte, error) {
	answers := make([][]byte, n)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i := range answers {
		work.Go(func() error {
			var out bytes.Buffer
			err := l.start(ctx, op, in(i), &out)
			answers[i] = out.Bytes()
			return err
		})
	}
	return answers, work.Wait()
}

// Processes returns what starts the commands `shard OP` of a program. They end with the process that started them, at
// the latest when they read or write next.
func Processes(program string) Start {
	return func(ctx context.Context, op Op, in io.Reader, out io.Writer) error {
		var log bytes.Buffer
		p := exec.CommandContext(ctx, program, "shard", string(op))
		p.Stdin, p.Stdout, p.Stderr = in, out, &log
		p.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := p.Run(); err != nil {
			return fmt.Errorf("shard %s: %w: %s", op, err, bytes.TrimSpace(log.Bytes()))
		}
		return nil
	}
}

// Stdio is shards behind whoever reads out and writes in. Their first line is {"shards":n}. A request is a line, a
// call, with as many bytes behind it as it says, and so is its answer, a reply.
type Stdio struct {
	in     *bufio.Reader
	out    io.Writer
	shards int
	round  int
}

type call struct {
	Round int `json:"round"`
	Request
	Bytes []int `json:"bytes"` // of the message, or of what each shard holds
}

type reply struct {
	Shards int    `json:"shards,omitempty"`
	Round  int    `json:"round,omitempty"`
	Bytes  []int  `json:"bytes"` // of each answer
	Error  string `json:"error,omitempty"`
}

const opHold Op = "hold" // of Stdio.Hold

// NewStdio waits for the first line.
func NewStdio(in io.Reader, out io.Writer) (*Stdio, error) {
	s := &Stdio{in: bufio.NewReaderSize(in, 1<<16), out: out}
	r, err := s.reply()
	if err == nil && r.Shards < 1 {
		err = fmt.Errorf("%w: the first line must be {\"shards\":n}", errMessage)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for whoever relays the rounds: %w", err)
	}
	s.shards = r.Shards
	return s, nil
}

// Shards returns their number.
func (s *Stdio) Shards() int { return s.shards }

// Hold sends the bytes.
func (s *Stdio) Hold(ctx context.Context, name string, each [][]byte) error {
	_, err := s.call(ctx, Request{Op: opHold, Keep: name}, each)
	return err
}

// Run sends the request and waits for the answers.
func (s *Stdio) Run(ctx context.Context, r Request) ([][]byte, error) {
	return s.call(ctx, r, [][]byte{r.Message})
}

func (s *Stdio) call(ctx context.Context, request Request, parts [][]byte) ([][]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.round++
	c := call{s.round, request, lists.Map(parts, func(p []byte) int { return len(p) })}
	line, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	for _, p := range append([][]byte{append(line, '\n')}, parts...) {
		if _, err := s.out.Write(p); err != nil {
			return nil, fmt.Errorf("sending round %d: %w", c.Round, err)
		}
	}
	r, err := s.reply()
	switch {
	case err != nil:
		return nil, fmt.Errorf("waiting for round %d: %w", c.Round, err)
	case r.Error != "":
		return nil, fmt.Errorf("round %d: %s", c.Round, r.Error)
	case r.Round != c.Round:
		return nil, fmt.Errorf("%w: an answer to round %d in place of %d", errMessage, r.Round, c.Round)
	}
	answers := make([][]byte, len(r.Bytes))
	for i, n := range r.Bytes {
		var data bytes.Buffer
		if _, err := io.CopyN(&data, s.in, int64(n)); err != nil {
			return nil, fmt.Errorf("reading round %d: %w", c.Round, err)
		}
		answers[i] = data.Bytes()
	}
	return answers, nil
}

func (s *Stdio) reply() (r reply, err error) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("the relay has ended: %w", err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: %w", errMessage, err)
	}
	return r, nil
}
