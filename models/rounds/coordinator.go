package rounds

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/textproc"
)

// Names of what shards hold.
const (
	heldPatients = "patients" // notes, dealt by patient
	heldNotes    = "notes"    // notes, by row number
	heldLabels   = "labels"   // and folds and auxiliary features of these
	heldRows     = "rows"
)

// Coordinator asks the shards for what a training needs of all notes.
type Coordinator struct {
	relay   Relay
	program string // version, which that of the shards must equal
	n       int    // notes
}

// New returns a coordinator of the shards behind a relay.
func New(relay Relay, program string) *Coordinator {
	return &Coordinator{relay: relay, program: program}
}

// first returns the first row number of a shard.
func (c *Coordinator) first(shard int) int { return shard * c.n / c.relay.Shards() }

func (c *Coordinator) message(about map[string]string) *message {
	m := &message{safetensors.Tensors{}, map[string]string{formatKey: format, programKey: c.program}}
	maps.Copy(m.about, about)
	return m
}

func (c *Coordinator) run(ctx context.Context, r Request, m *message) ([][]byte, error) {
	data, err := m.bytes()
	if err != nil {
		return nil, err
	}
	r.Message = data
	answers, err := c.relay.Run(ctx, r)
	if err != nil || r.Keep != "" {
		return nil, err
	}
	want := c.relay.Shards()
	if r.Add && want > groupSize {
		want = (want + groupSize - 1) / groupSize
	}
	answers = slices.DeleteFunc(answers, func(a []byte) bool { return len(a) == 0 })
	if len(answers) != want {
		return nil, fmt.Errorf("%w: %d of %d answers to shard %s came", errMessage, len(answers), want, r.Op)
	}
	return answers, nil
}

// hold has each shard hold a message, and the lines behind it.
func (c *Coordinator) hold(ctx context.Context, name string,
	of func(shard int, m *message, lines *json.Encoder) error,
) error {
	each := make([][]byte, c.relay.Shards())
	for i := range each {
		m := c.message(map[string]string{shardKey: fmt.Sprintf("%d/%d", i, len(each))})
		var lines bytes.Buffer
		e := json.NewEncoder(&lines)
		e.SetEscapeHTML(false)
		if err := of(i, m, e); err != nil {
			return err
		}
		data, err := m.bytes()
		if err != nil {
			return err
		}
		each[i] = append(data, lines.Bytes()...)
	}
	return c.relay.Hold(ctx, name, each)
}

// Learn gives the notes to the shards and returns the vocabulary that they count: textproc.Learn.
func (c *Coordinator) Learn(ctx context.Context, docs []textproc.Document, s textproc.Settings,
) (*textproc.Vectorizer, error) {
	if c.n = len(docs); c.n < c.relay.Shards() {
		return nil, fmt.Errorf("%d notes are fewer than the %d shards", c.n, c.relay.Shards())
	}
	patient, _ := folds.Numbered(lists.Map(docs, func(d textproc.Document) string { return d.Patient }))
	hold := func(name string, holds func(shard, i int) bool) error {
		return c.hold(ctx, name, func(shard int, _ *message, lines *json.Encoder) error {
			for i, d := range docs {
				if holds(shard, i) {
					if err := lines.Encode(note{patient[i], d.Text}); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	err := hold(heldPatients, func(shard, i int) bool { return patient[i]%c.relay.Shards() == shard })
	if err == nil {
		err = hold(heldNotes, func(shard, i int) bool { return c.first(shard) <= i && i < c.first(shard+1) })
	}
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	counts, err := c.count(ctx, map[string]string{settingsKey: string(settings)})
	if err != nil {
		return nil, err
	}
	return counts.Learn(s)
}

// LearnPieces is Vectorizer.LearnPieces of the notes of Learn.
func (c *Coordinator) LearnPieces(ctx context.Context, v *textproc.Vectorizer,
) (*textproc.Vectorizer, *textproc.Words, error) {
	vectorizer, err := save(v, nil)
	if err != nil {
		return nil, nil, err
	}
	counts, err := c.count(ctx, map[string]string{vectorizerKey: vectorizer})
	if err != nil {
		return nil, nil, err
	}
	return counts.LearnPieces(v)
}

func (c *Coordinator) count(ctx context.Context, about map[string]string) (*textproc.Counts, error) {
	answers, err := c.run(ctx, Request{Op: OpCount, From: []string{heldPatients}, Add: true}, c.message(about))
	if err != nil {
		return nil, err
	}
	return textproc.ReadCounts(joined(answers))
}

func joined(parts [][]byte) io.Reader {
	return io.MultiReader(lists.Map(parts, func(p []byte) io.Reader { return bytes.NewReader(p) })...)
}

// made is rows that the shards have made and hold.
type made struct {
	*Coordinator
	ctx context.Context // the interfaces of the solvers take none
	key string          // of the rows
	err error           // the first one
}

// rows has the shards make rows.
func (c *Coordinator) rows(ctx context.Context, v *textproc.Vectorizer, words *textproc.Words, labels bool,
	topical []float64,
) (*made, error) {
	vectorizer, err := save(v, words)
	if err != nil {
		return nil, err
	}
	m := c.message(map[string]string{vectorizerKey: vectorizer})
	from := []string{heldNotes}
	if labels {
		from = []string{heldLabels, heldNotes}
	} else {
		m.vector("topical", topical)
	}
	of, err := m.bytes()
	if err != nil {
		return nil, err
	}
	sha := sha256.Sum256(of)
	m.about[rowsKey] = hex.EncodeToString(sha[:])
	_, err = c.run(ctx, Request{Op: OpRows, From: from, Keep: heldRows}, m)
	return &made{Coordinator: c, ctx: ctx, key: m.about[rowsKey]}, err
}

// ask returns the answers of a round.
func (r *made) ask(what string, add bool, fill func(m *message)) ([][]byte, error) {
	m := r.message(map[string]string{whatKey: what, rowsKey: r.key})
	fill(m)
	return r.run(r.ctx, Request{Op: OpRound, From: []string{heldRows}, Add: add}, m)
}

// sum returns the sum of the answers of a round, and keeps an error.
func (r *made) sum(what string, fill func(m *message)) (*message, error) {
	if r.err != nil {
		return nil, r.err
	}
	answers, err := r.ask(what, true, fill)
	var all *message
	if err == nil {
		all, err = sum(joined(answers))
	}
	if err != nil {
		r.err = fmt.Errorf("round of %s: %w", what, err)
	}
	return all, r.err
}

// Topics is the rows over the terms that topics are made of, for sonmf by its sums.
type Topics struct {
	matrix.Operator // nil: nobody asks for a matrix of all notes
	*made
	p    int
	norm float64
}

// Topics has the shards make rows over those terms of v that have a place: it is -1 of others.
func (c *Coordinator) Topics(ctx context.Context, v *textproc.Vectorizer, place []int32) (*Topics, error) {
	p, mask := len(place), make([]float64, len(place))
	for j, at := range place {
		if at >= 0 {
			mask[j] = 1
		}
	}
	rows, err := c.rows(ctx, v, nil, false, mask)
	if err != nil {
		return nil, err
	}
	t := &Topics{made: rows, p: p}
	norm, err := t.sum(whatNorm, func(*message) {})
	if err == nil {
		t.norm = norm.tensors["norm"].Data[0]
	}
	return t, err
}

// Err returns the first error of a round. Sums after it are NaN.
func (t *Topics) Err() error { return t.err }

// Dims returns the numbers of notes and of terms.
func (t *Topics) Dims() (n, p int) { return t.n, t.p }

// NormSquared returns ‖X‖².
func (t *Topics) NormSquared() float64 { return t.norm }

// SumsTo stores Xᵀ⟨X·E⟩₊ in cross and returns ‖⟨X·F⟩₊‖².
func (t *Topics) SumsTo(cross, f, e *mat.Dense) float64 {
	m, err := t.sum(whatSums, func(m *message) {
		m.matrix("e", e)
		if f != nil {
			m.matrix("f", f)
		}
	})
	if err != nil {
		return math.NaN()
	}
	cross.Copy(mat.NewDense(t.p, cross.RawMatrix().Cols, m.tensors["cross"].Data))
	return m.tensors["squared"].Data[0]
}

// Labels is what the head knows of the notes besides their text.
type Labels struct {
	Y     []bool
	Folds []int
	Width int                                                 // number of auxiliary features
	Aux   func(i int, yield func(feature int, value float64)) // of a note, those that are not 0
}

// Head is the rows over terms, words and auxiliary features: elasticnet.Remote.
type Head struct{ *made }

// Head has the shards make rows for the head. words may be nil.
func (c *Coordinator) Head(ctx context.Context, v *textproc.Vectorizer, words *textproc.Words, l Labels,
) (*Head, error) {
	err := c.hold(ctx, heldLabels, func(shard int, m *message, _ *json.Encoder) error {
		from, to := c.first(shard), c.first(shard+1)
		aux, label, fold := &entries{starts: []float64{0}}, make([]float64, to-from), make([]float64, to-from)
		for i := from; i < to; i++ {
			if fold[i-from] = float64(l.Folds[i]); l.Y[i] {
				label[i-from] = 1
			}
			l.Aux(i, func(f int, v float64) { aux.add(float64(f), v) })
			aux.end()
		}
		m.set("aux_", aux)
		m.vector("label", label)
		m.vector("fold", fold)
		m.vector("width", []float64{float64(l.Width)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err := c.rows(ctx, v, words, true, nil)
	return &Head{rows}, err
}

// Slopes returns the sums at each point: see elasticnet.Remote.
func (h *Head) Slopes(at []elasticnet.Point) ([]elasticnet.Slope, error) {
	m, err := h.sum(whatSlopes, func(m *message) { setPoints(m, at) })
	if err != nil {
		return nil, err
	}
	out := make([]elasticnet.Slope, len(at))
	sums, base := m.tensors["sums"].Data, m.tensors["base"].Data
	q := len(base) / len(at)
	for i := range out {
		out[i] = elasticnet.Slope{
			Loss: sums[3*i], Intercept: sums[3*i+1], Rows: sums[3*i+2], Base: base[i*q : (i+1)*q],
		}
	}
	return out, nil
}

// LogOdds returns those of every row: see elasticnet.Remote.
func (h *Head) LogOdds(at []elasticnet.Point) ([]float64, error) {
	answers, err := h.ask(whatLogOdds, false, func(m *message) { setPoints(m, at) })
	if err != nil {
		return nil, err
	}
	eta := make([]float64, 0, h.n)
	for _, data := range answers {
		m, err := readMessage(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		eta = append(eta, m.tensors["eta"].Data...)
	}
	if len(eta) != h.n {
		return nil, fmt.Errorf("%w: log-odds of %d notes, not of %d", errMessage, len(eta), h.n)
	}
	return eta, nil
}
