package rounds_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/textproc"
)

func inProcess(_ context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
	return rounds.Run(op, "v1", in, out)
}

func docs() (all []textproc.Document) {
	for i := range 160 {
		all = append(all, textproc.Document{
			Patient: fmt.Sprint(i / 2), Text: []string{"chest pain", "fell from ladder", "fever, cough"}[i%3],
		})
	}
	return all
}

func settings() textproc.Settings {
	s := textproc.DefaultSettings()
	s.Concepts, s.Spelling = &textproc.Concepts{}, false
	return s
}

// TestManyShards: answers of more shards than one group holds are added in groups, and give the vocabulary of one
// process.
func TestManyShards(t *testing.T) {
	t.Parallel()
	want, err := textproc.Learn(docs(), settings())
	if err != nil {
		t.Fatal(err)
	}
	adds := make(chan int, 10)
	relay := rounds.NewLocal(70, func(ctx context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
		if op == rounds.OpAdd {
			adds <- 1
		}
		return inProcess(ctx, op, in, out)
	})
	got, err := rounds.New(relay, "v1").Learn(t.Context(), docs(), settings())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Vocabulary(), got.Vocabulary()); diff != "" || len(adds) != 2 {
		t.Errorf("%d groups\n%s", len(adds), diff)
	}
	if _, err := rounds.New(relay, "v1").Learn(t.Context(), docs()[:69], settings()); err == nil {
		t.Error("70 shards take 69 notes")
	}
}

// forgetful loses the answer of the last shard: it is missing, or empty.
type forgetful struct {
	*rounds.Local
	empty bool
}

func (f forgetful) Run(ctx context.Context, r rounds.Request) ([][]byte, error) {
	answers, err := f.Local.Run(ctx, r)
	if last := len(answers) - 1; f.empty {
		answers[last] = nil
	} else {
		answers = answers[:last]
	}
	return answers, err
}

// TestLostAnswer: sums lack no shard.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		relay := forgetful{rounds.NewLocal(3, inProcess), empty}
		_, err := rounds.New(relay, "v1").Learn(t.Context(), docs(), settings())
		if err == nil || !strings.Contains(err.Error(), "2 of 3 answers to shard count came") {
			t.Errorf("empty %v: %v", empty, err)
		}
	}
}

// serve relays the calls that come from out to local shards, as docs/commands/shard.md says, until the n-th fails.
func serve(t *testing.T, out io.Reader, in io.WriteCloser, n int) {
	t.Helper()
	defer func() { _ = in.Close() }()
	local, r := rounds.NewLocal(3, inProcess), bufio.NewReader(out)
	_, _ = io.WriteString(in, `{"shards":3}`+"\n")
	for round := 1; ; round++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var call struct {
			Round    int
			Op, Keep string
			From     []string
			Add      bool
			Bytes    []int
		}
		if err := json.Unmarshal(line, &call); err != nil || call.Round != round ||
			round == 1 && call.Keep != "patients" {
			t.Errorf("call %s: %v", line, err)
		}
		parts := make([][]byte, len(call.Bytes))
		for i, size := range call.Bytes {
			parts[i] = make([]byte, size)
			_, _ = io.ReadFull(r, parts[i])
		}
		var answers [][]byte
		switch {
		case round == n:
			_, _ = fmt.Fprintf(in, "{\"round\":%d,\"error\":\"no more memory\"}\n", round)
			continue
		case call.Op == "hold":
			err = local.Hold(t.Context(), call.Keep, parts)
		default:
			answers, err = local.Run(t.Context(), rounds.Request{
				Op: rounds.Op(call.Op), Message: parts[0], From: call.From, Keep: call.Keep, Add: call.Add,
			})
		}
		if err != nil {
			t.Error(err)
		}
		sizes := []int{}
		for _, a := range answers {
			sizes = append(sizes, len(a))
		}
		reply, _ := json.Marshal(map[string]any{"round": round, "bytes": sizes})
		_, _ = in.Write(append(append(reply, '\n'), bytes.Join(answers, nil)...))
	}
}

// TestStdio: a coordinator behind pipes learns what one process learns; an error that is relayed, and the end of
// whoever relays, end it.
func TestStdio(t *testing.T) {
	t.Parallel()
	learn := func(n int) (*textproc.Vectorizer, error) {
		fromRelay, toCoordinator := io.Pipe()
		fromCoordinator, toRelay := io.Pipe()
		go serve(t, fromCoordinator, toCoordinator, n)
		defer func() { _ = toRelay.Close() }()
		relay, err := rounds.NewStdio(fromRelay, toRelay)
		if err != nil {
			return nil, err
		}
		return rounds.New(relay, "v1").Learn(t.Context(), docs(), settings())
	}
	want, err := textproc.Learn(docs(), settings())
	if err != nil {
		t.Fatal(err)
	}
	got, err := learn(0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Vocabulary(), got.Vocabulary()); diff != "" {
		t.Error(diff)
	}
	if _, err := learn(3); err == nil || !strings.Contains(err.Error(), "round 3: no more memory") {
		t.Errorf("a relayed error: %v", err)
	}
	if _, err := rounds.NewStdio(strings.NewReader(""), io.Discard); !errors.Is(err, io.EOF) {
		t.Errorf("nobody relays: %v", err)
	}
}

// TestRefusals: what is no message, or of another format, is refused without its text.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "Zzsecret pain", "\x18\x00\x00\x00\x00\x00\x00\x00" + `{"__metadata__":{"a":1}}`} {
		err := rounds.Run(rounds.OpCount, "v1", strings.NewReader(in), io.Discard)
		if err == nil || strings.Contains(err.Error(), "Zzsecret") {
			t.Errorf("%q: %v", in, err)
		}
	}
}
