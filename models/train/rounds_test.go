package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models/rounds"
)

func inProcess(_ context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
	return rounds.Run(op, "v1", in, out)
}

// TestRounds: shards give the vocabulary of one process byte for byte, its topics within 1e-10 and its coefficients
// within 1e-9, whether features are laid out or not, and topics come from a sample or from all.
func TestRounds(t *testing.T) {
	t.Parallel()
	notes, _ := generated(t, 0, 750)
	s := small()
	s.Text.NGrams, s.manyRows = 2, 600
	laid := s
	laid.manyRows = len(notes) + 1
	all := s
	all.TopicsFromAll = true
	for name, s := range map[string]Settings{"sample": s, "laid out": laid, "topics from all": all} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit := func(shards int) *Fitted {
				d := Data{Rows: notes, Aux: auxColumns(), Pooled: true}
				if shards > 0 {
					d.Rounds = rounds.New(rounds.NewLocal(shards, inProcess), "v1")
				}
				f, err := Fit(t.Context(), d, s)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			want := fit(0)
			got := fit(3)
			const shards = 3
			if diff := cmp.Diff(want.Vectorizer.Vocabulary(), got.Vectorizer.Vocabulary()); diff != "" ||
				!cmp.Equal(want.Vectorizer.IDF(), got.Vectorizer.IDF()) ||
				!cmp.Equal(want.Vectorizer.Pieces(), got.Vectorizer.Pieces()) {
				t.Errorf("%d shards: the vocabulary differs\n%s", shards, diff)
			}
			if !mat.EqualApprox(want.Topics, got.Topics, 1e-10) {
				t.Errorf("%d shards: topics differ", shards)
			}
			a, b := want.Heads[0], got.Heads[0]
			for what, pair := range map[string][2][]float64{
				"β": {a.Beta, b.Beta}, "words": {a.Words, b.Words}, "pieces": {a.Grams, b.Grams},
				"auxiliary": {a.Gamma, b.Gamma}, "intercept": {{a.Intercept}, {b.Intercept}},
				"out of fold": {want.OutOfFold, got.OutOfFold},
			} {
				if worst := apart(pair[0], pair[1]); !(worst < 1e-9) {
					t.Errorf("%d shards: %s differs by %v", shards, what, worst)
				}
			}
			if name != "topics from all" {
				return
			}
			if again := fit(3); !mat.Equal(again.Topics, got.Topics) || !slices.Equal(again.OutOfFold, got.OutOfFold) {
				t.Error("as many shards give other bits")
			}
		})
	}
}

func apart(a, b []float64) (worst float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i, v := range a {
		worst = max(worst, math.Abs(v-b[i]))
	}
	return worst
}

// TestRoundsFail: a training ends with the error of any operation of a shard, and with the refusal of another version
// of the program, which is named.
func TestRoundsFail(t *testing.T) {
	t.Parallel()
	notes, _ := generated(t, 0, 400)
	s := small()
	s.Text.NGrams, s.manyRows, s.TopicsFromAll = 1, 300, true
	lost := errors.New("lost")
	fit := func(start rounds.Start) error {
		d := Data{Rows: notes, Aux: auxColumns(), Pooled: true, Rounds: rounds.New(rounds.NewLocal(2, start), "v1")}
		_, err := Fit(t.Context(), d, s)
		return err
	}
	if err := fit(inProcess); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1, 5, 9, 90} {
		calls := make(chan int, 1)
		calls <- 0
		err := fit(func(ctx context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
			n := <-calls + 1
			calls <- n
			if n == at {
				return fmt.Errorf("shard: %w", lost)
			}
			return inProcess(ctx, op, in, out)
		})
		if !errors.Is(err, lost) {
			t.Errorf("operation %d is lost: %v", at, err)
		}
	}
	err := fit(func(_ context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
		return rounds.Run(op, "v2", in, out)
	})
	if !errors.Is(err, rounds.ErrRefused) || !strings.Contains(err.Error(), "wardcast v1, this is v2") {
		t.Errorf("another version: %v", err)
	}
	err = fit(func(ctx context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
		if op != rounds.OpRound {
			return inProcess(ctx, op, in, out)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		at := bytes.LastIndex(data, []byte(`"rows":"`)) + len(`"rows":"`)
		data[at] ^= 1 // of what the shard holds
		return inProcess(ctx, op, bytes.NewReader(data), out)
	})
	if !errors.Is(err, rounds.ErrRefused) || !strings.Contains(err.Error(), "another vocabulary") {
		t.Errorf("rows of another vocabulary: %v", err)
	}
}
