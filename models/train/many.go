package train

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/textproc"
)

const (
	manyRows = 10_000 // notes from which features are not laid out, which takes a third of the time
	// sampledRows is the size of the evenly spaced sample for the topics: more would change them no more than other
	// notes do. The vocabulary and the coefficients come from all notes.
	sampledRows = 50_000
)

// manyTolerance is for coefficients of many notes. On 60,000 generated notes half of it gave the same held-out log
// loss.
const manyTolerance = 2e-5

// many reports whether features of so many notes are not laid out; standard and supervised ones always are.
func (s *Settings) many(n int) bool {
	return n >= cmp.Or(s.manyRows, manyRows) && !s.Standardize && !s.Method.Supervised()
}

// sampled returns the size of the sample for so many notes, 0 for all of them.
func (s *Settings) sampled(n int) int {
	if most := cmp.Or(s.manyRows, sampledRows); n > most && s.many(n) {
		return most
	}
	return 0
}

// sample returns at most so many of the rows, evenly spaced; all for 0.
func (r *rows) sample(most int) *rows {
	n := len(r.all)
	if most == 0 || n <= most {
		return r
	}
	at := lists.Make(most, func(i int) int { return i * n / most })
	out := *r
	out.all, out.y, out.classes = lists.Take(r.all, at), lists.Take(r.y, at), lists.Take(r.classes, at)
	out.patients, out.docs = lists.Take(r.patients, at), lists.Take(r.docs, at)
	out.values = nil
	for _, values := range r.values {
		out.values = append(out.values, lists.Take(values, at))
	}
	return &out
}

// fitProduct fits the coefficients of many notes. A note is a short row of its terms, words and auxiliary features;
// topics and pieces of words are products of these rows with matrices that all notes share.
func fitProduct(ctx context.Context, r *rows, t *text, s *Settings, foldOf []int) (*coefficients, error) {
	c := &coefficients{vectorizer: t.vectorizer, columns: columns{aux: r.width}, scale: r.auxScales()}
	var words *textproc.Words
	if s.words() && s.Pieces {
		var err error
		if r.rounds != nil {
			c.vectorizer, words, err = r.rounds.LearnPieces(ctx, t.vectorizer)
		} else {
			c.vectorizer, words, err = t.vectorizer.LearnPieces(r.docs)
		}
		if err != nil {
			return nil, fmt.Errorf("taking words to pieces: %w", err)
		}
		_, c.pieces = words.Pieces().Dims()
	}
	if t.topics != nil {
		_, c.topics = t.topics.Dims()
	}
	if s.words() {
		c.take(t)
	}
	b := &base{rows: r, vectorizer: c.vectorizer, words: words, scale: c.scale}
	features, err := c.features(t, words)
	if err != nil {
		return nil, fmt.Errorf("laying out features: %w", err)
	}
	path := s.path(c.columns)
	path.Tolerance, path.OneSE = manyTolerance, s.OneSE
	choose := b.choose
	if r.rounds != nil {
		choose = b.chooseByRounds
	}
	choice, err := choose(ctx, features, foldOf, path)
	if err != nil {
		return nil, fmt.Errorf("fitting coefficients: %w", err)
	}
	c.beta, c.intercept, c.outOfFold = choice.Coefficients, choice.Intercept, choice.OutOfFold
	c.lambda, c.smallest = choice.Lambda[choice.At], !choice.Turned()
	return c, nil
}

// features returns the features that terms, words and auxiliary features add to: topics and the term, pieces of a word.
func (c *coefficients) features(t *text, words *textproc.Words) (*matrix.CSR, error) {
	indptr, indices, values := []int{0}, []int32{}, []float64{}
	end := func() { indptr = append(indptr, len(indices)) }
	for j := range t.vectorizer.Vocabulary() {
		if t.topics != nil {
			for k, v := range t.topics.RawRowView(j) {
				if v != 0 {
					indices, values = append(indices, int32(k)), append(values, v)
				}
			}
		}
		if c.words > 0 {
			indices, values = append(indices, int32(c.topics+j)), append(values, 1)
		}
		end()
	}
	if words != nil {
		pieces := words.Pieces()
		n, _ := pieces.Dims()
		for w := range n {
			at, v := pieces.Row(w)
			for _, g := range at {
				indices = append(indices, int32(c.topics+c.words)+g)
			}
			values = append(values, v...)
			end()
		}
	}
	first := c.topics + c.words + c.pieces
	for f := range c.scale {
		indices, values = append(indices, int32(first+f)), append(values, 1)
		end()
	}
	return matrix.NewCSR(len(indptr)-1, first+len(c.scale), indptr, indices, values)
}

// base is the rows of notes over their terms, words and auxiliary features.
type base struct {
	rows       *rows
	vectorizer *textproc.Vectorizer
	words      *textproc.Words // may be nil
	scale      []float64       // of the auxiliary features

	starts  []int
	columns []int32
	values  []float32
}

func (b *base) choose(ctx context.Context, features *matrix.CSR, foldOf []int, path elasticnet.Settings,
) (*elasticnet.Choice, error) {
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	x, err := elasticnet.NewProduct(b.starts, b.columns, b.values, features)
	if err != nil {
		return nil, err
	}
	return x.Choose(ctx, b.rows.y, foldOf, path)
}

// chooseByRounds is choose where shards read the notes.
func (b *base) chooseByRounds(ctx context.Context, features *matrix.CSR, foldOf []int, path elasticnet.Settings,
) (*elasticnet.Choice, error) {
	aux := make([]float64, len(b.scale))
	rows, err := b.rows.rounds.Head(ctx, b.vectorizer, b.words, rounds.Labels{
		Y: b.rows.y, Folds: foldOf, Width: len(b.scale),
		Aux: func(i int, yield func(feature int, value float64)) { b.rows.eachAux(aux, b.scale, i, yield) },
	})
	if err != nil {
		return nil, err
	}
	b.starts = []int{0}
	b.add(0, len(b.rows.y), elasticnet.Sampled(len(b.rows.y)))
	sample, err := elasticnet.NewProduct(b.starts, b.columns, b.values, features)
	if err != nil {
		return nil, err
	}
	return elasticnet.Shard{Product: sample, Y: b.rows.y, Folds: foldOf}.ChooseRemote(ctx, rows, path)
}

const (
	notesAtOnce = 2048 // that a goroutine reads
	readers     = 16   // goroutines at most
)

func (b *base) read(ctx context.Context) error {
	n := len(b.rows.all)
	b.starts = append(make([]int, 0, n+1), 0)
	for from := 0; from < n; from += readers * notesAtOnce {
		var parts [readers]base
		work, ctx := errgroup.WithContext(ctx)
		for i := range parts {
			first := min(from+i*notesAtOnce, n)
			work.Go(func() error {
				parts[i] = base{rows: b.rows, vectorizer: b.vectorizer, words: b.words, scale: b.scale}
				parts[i].add(first, min(first+notesAtOnce, n), 1)
				return ctx.Err()
			})
		}
		if err := work.Wait(); err != nil {
			return err
		}
		for i := range parts {
			b.join(&parts[i], n)
		}
	}
	return nil
}

// add reads every step-th note of [from, to).
func (b *base) add(from, to, step int) {
	t := b.vectorizer.Transformer()
	aux := len(b.vectorizer.Vocabulary())
	if b.words != nil {
		w, _ := b.words.Pieces().Dims()
		aux += w
	}
	features := make([]float64, len(b.scale))
	entry := func(column int, value float64) {
		b.columns, b.values = append(b.columns, int32(column)), append(b.values, float32(value))
	}
	auxEntry := func(f int, v float64) { entry(aux+f, v) }
	for i := from; i < to; i += step {
		t.RowWith(b.rows.docs[i].Text, b.words, entry)
		b.rows.eachAux(features, b.scale, i, auxEntry)
		b.starts = append(b.starts, len(b.columns))
	}
}

func (b *base) join(more *base, n int) {
	if len(b.starts) == 1 && len(more.starts) > 0 {
		b.columns = slices.Grow(b.columns, n*len(more.columns)/len(more.starts)*11/10)
		b.values = slices.Grow(b.values, cap(b.columns))
	}
	before := len(b.columns)
	for _, s := range more.starts {
		b.starts = append(b.starts, before+s)
	}
	b.columns, b.values = append(b.columns, more.columns...), append(b.values, more.values...)
}

// eachAux calls yield with the auxiliary features of row i that are not 0, as they are penalized: divided by their
// scales. dst has room for them.
func (r *rows) eachAux(dst, scale []float64, i int, yield func(feature int, value float64)) {
	r.featuresTo(dst, i)
	f := 0
	for _, column := range r.columns {
		for _, mean := range column.Mean {
			if column.Kind == bundle.Categorical {
				dst[f] += mean // 0 or 1 again, the mean if the value is missing
			}
			if dst[f] != 0 {
				yield(f, dst[f]/scale[f])
			}
			f++
		}
	}
}
