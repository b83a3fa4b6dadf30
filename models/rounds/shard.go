package rounds

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/textproc"
)

// Op is what a shard does.
type Op string

// The operations, as the package describes them.
const (
	OpCount Op = "count"
	OpRows  Op = "rows"
	OpRound Op = "round"
	OpAdd   Op = "add"
)

// What a round asks for.
const (
	whatNorm    = "norm"
	whatSums    = "sums"
	whatSlopes  = "slopes"
	whatLogOdds = "log-odds"
)

// ErrRefused is wrapped by the error of a shard that does not fit the coordinator.
var ErrRefused = errors.New("the shard refuses the round")

// Run does one operation: it reads from in and writes the answer to out. No error quotes a note.
func Run(op Op, program string, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<16), bufio.NewWriterSize(out, 1<<16)
	var err error
	if op == OpAdd {
		err = add(r, w)
	} else {
		err = answer(op, program, r, w)
	}
	if err != nil {
		return fmt.Errorf("shard %s: %w", op, err)
	}
	return w.Flush()
}

func answer(op Op, program string, r *bufio.Reader, w io.Writer) error {
	m, err := readMessage(r)
	switch {
	case err != nil:
		return err
	case m.about[formatKey] != format:
		return fmt.Errorf("%w: its format is %q, this program's %q", ErrRefused, m.about[formatKey], format)
	case m.about[programKey] != program:
		return fmt.Errorf("%w: the coordinator is wardcast %s, this is %s: give all workers the coordinator's binary",
			ErrRefused, m.about[programKey], program)
	}
	held, err := readMessage(r)
	if err != nil {
		return err
	}
	switch op {
	case OpCount:
		return count(m, r, w)
	case OpRows:
		return m.rows(held, r, w)
	case OpRound:
		if m.about[rowsKey] != held.about[rowsKey] {
			return fmt.Errorf("%w: shard %s holds rows of another vocabulary or of other settings", ErrRefused,
				held.about[shardKey])
		}
		return m.round(held, w)
	default:
		return fmt.Errorf("%w: unknown operation %q", errMessage, op)
	}
}

func count(m *message, r *bufio.Reader, w io.Writer) error {
	all, err := notes(r)
	if err != nil {
		return err
	}
	docs := lists.Map(all, func(n note) textproc.Document {
		return textproc.Document{Patient: strconv.Itoa(n.Patient), Text: n.Text}
	})
	var c *textproc.Counts
	if m.about[vectorizerKey] == "" {
		var s textproc.Settings
		if err := json.Unmarshal([]byte(m.about[settingsKey]), &s); err != nil {
			return fmt.Errorf("%w: reading the settings: %w", errMessage, err)
		}
		c, err = textproc.CountTerms(docs, s)
	} else {
		var v *textproc.Vectorizer
		if v, _, err = m.vectorizer(); err == nil {
			c = v.CountPieces(docs)
		}
	}
	if err != nil {
		return err
	}
	return c.Write(w)
}

// rows writes the rows of notes. held is what stands before them: of the head labels and auxiliary features, then the
// message of the notes.
func (m *message) rows(held *message, r *bufio.Reader, w io.Writer) error {
	v, words, err := m.vectorizer()
	if err != nil {
		return err
	}
	var labels *message
	if _, ok := held.tensors["label"]; ok {
		labels = held
		if held, err = readMessage(r); err != nil {
			return err
		}
	}
	all, err := notes(r)
	if err != nil {
		return err
	}
	out := &message{safetensors.Tensors{}, map[string]string{
		rowsKey: m.about[rowsKey], shardKey: held.about[shardKey],
	}}
	topical := m.tensors["topical"].Data // nil: all terms
	t, rows, width := v.Transformer(), &entries{starts: []float64{0}}, len(v.Vocabulary())
	add := func(column int, value float64) {
		if topical == nil || topical[column] != 0 {
			rows.add(float64(column), value)
		}
	}
	if labels == nil {
		for _, n := range all {
			t.RowWith(n.Text, nil, add)
			rows.end()
		}
	} else {
		aux, err := labels.entries("aux_", len(all))
		if err != nil {
			return err
		}
		auxWidth, err := labels.tensors.Float64("width", 1)
		if err != nil {
			return err
		}
		wordCount, _ := words.Pieces().Dims()
		first := width + wordCount
		for i, n := range all {
			t.RowWith(n.Text, words, add)
			for e := int(aux.starts[i]); e < int(aux.starts[i+1]); e++ {
				rows.add(float64(first)+aux.columns[e], aux.values[e])
			}
			rows.end()
		}
		width = first + int(auxWidth[0])
		out.tensors["label"], out.tensors["fold"] = labels.tensors["label"], labels.tensors["fold"]
	}
	out.about[widthKey] = strconv.Itoa(width)
	out.set("", rows)
	return out.write(w)
}

// entries is sparse rows as they are sent.
type entries struct{ starts, columns, values []float64 }

func (e *entries) add(column, value float64) {
	e.columns, e.values = append(e.columns, column), append(e.values, value)
}

func (e *entries) end() { e.starts = append(e.starts, float64(len(e.columns))) }

func (m *message) set(prefix string, e *entries) {
	m.vector(prefix+"starts", e.starts)
	m.vector(prefix+"columns", e.columns)
	m.vector(prefix+"values", e.values)
}

// entries returns n rows, any number of them for -1.
func (m *message) entries(prefix string, n int) (e *entries, err error) {
	e = &entries{}
	size := -1
	if n >= 0 {
		size = n + 1
	}
	if e.starts, err = m.tensors.Float64(prefix+"starts", size); err == nil && len(e.starts) == 0 {
		err = errMessage
	}
	if err == nil {
		e.columns, err = m.tensors.Float64(prefix+"columns", int(e.starts[len(e.starts)-1]))
	}
	if err == nil {
		e.values, err = m.tensors.Float64(prefix+"values", len(e.columns))
	}
	return e, err
}

func ints[T int | int32](values []float64) []T {
	return lists.Map(values, func(v float64) T { return T(v) })
}

// round writes the sums over the rows that are held.
func (m *message) round(held *message, w io.Writer) error {
	e, err := held.entries("", -1)
	if err != nil {
		return err
	}
	width, err := strconv.Atoi(held.about[widthKey])
	if err != nil {
		return fmt.Errorf("%w: width %q", errMessage, held.about[widthKey])
	}
	out := &message{tensors: safetensors.Tensors{}}
	switch m.about[whatKey] {
	case whatNorm, whatSums:
		err = m.topics(e, width, out)
	default:
		err = m.head(e, width, held, out)
	}
	if err != nil {
		return err
	}
	return out.write(w)
}

func (m *message) topics(e *entries, p int, out *message) error {
	csr, err := matrix.NewCSR(len(e.starts)-1, p, ints[int](e.starts), ints[int32](e.columns), e.values)
	if err != nil {
		return err
	}
	x := linalg.Sparse{CSR: csr}
	if m.about[whatKey] == whatNorm {
		out.vector("norm", []float64{x.NormSquared()})
		return nil
	}
	ahead, err := m.dense("e", p)
	if err == nil && ahead == nil {
		err = errMessage
	}
	if err != nil {
		return err
	}
	positive := func(d *mat.Dense) *mat.Dense {
		_, k := d.Dims()
		w := mat.NewDense(len(e.starts)-1, k, nil)
		x.MulTo(w, d)
		for i, v := range w.RawMatrix().Data {
			w.RawMatrix().Data[i] = max(v, 0)
		}
		return w
	}
	f, err := m.dense("f", p)
	if err != nil {
		return err
	}
	var squared float64
	if f != nil {
		w := positive(f)
		squared = linalg.Dot(w, w)
	}
	cross := linalg.NewLike(ahead)
	x.MulTransTo(cross, positive(ahead))
	out.vector("squared", []float64{squared})
	out.matrix("cross", cross)
	return nil
}

func (m *message) head(e *entries, q int, held, out *message) error {
	none, err := matrix.NewCSR(q, 0, make([]int, q+1), nil, nil)
	if err != nil {
		return err
	}
	x, err := elasticnet.NewProduct(ints[int](e.starts), ints[int32](e.columns),
		lists.Map(e.values, func(v float64) float32 { return float32(v) }), none)
	if err != nil {
		return err
	}
	label, err := held.tensors.Float64("label", len(e.starts)-1)
	if err != nil {
		return err
	}
	fold, err := held.tensors.Float64("fold", len(label))
	if err != nil {
		return err
	}
	y := lists.Map(label, func(v float64) bool { return v == 1 })
	s := elasticnet.Shard{Product: x, Y: y, Folds: ints[int](fold)}
	at, err := m.points(q)
	if err != nil {
		return err
	}
	switch m.about[whatKey] {
	case whatLogOdds:
		eta, err := s.LogOdds(at)
		out.vector("eta", eta)
		return err
	case whatSlopes:
		slopes, err := s.Slopes(at)
		if err != nil {
			return err
		}
		base := mat.NewDense(len(at), q, nil)
		sums := mat.NewDense(len(at), 3, nil)
		for i, s := range slopes {
			copy(base.RawRowView(i), s.Base)
			sums.SetRow(i, []float64{s.Loss, s.Intercept, s.Rows})
		}
		out.matrix("base", base)
		out.matrix("sums", sums)
		return nil
	}
	return fmt.Errorf("%w: a round of %q", errMessage, m.about[whatKey])
}

func (m *message) points(q int) ([]elasticnet.Point, error) {
	of, err := m.tensors.Float64("points", -1, 3)
	if err != nil || len(of) == 0 {
		return nil, errors.Join(errMessage, err)
	}
	base, err := m.dense("base", len(of)/3)
	if err != nil {
		return nil, err
	}
	at := make([]elasticnet.Point, len(of)/3)
	for i := range at {
		at[i] = elasticnet.Point{Fold: int(of[3*i]), Held: of[3*i+1] == 1, Intercept: of[3*i+2]}
		if base != nil {
			if at[i].Base = base.RawRowView(i); len(at[i].Base) != q {
				return nil, fmt.Errorf("%w: coefficients of %d columns, rows of %d", errMessage, len(at[i].Base), q)
			}
		}
	}
	return at, nil
}

func setPoints(m *message, at []elasticnet.Point) {
	points := mat.NewDense(len(at), 3, nil)
	for i, p := range at {
		held := 0.0
		if p.Held {
			held = 1
		}
		points.SetRow(i, []float64{float64(p.Fold), held, p.Intercept})
	}
	m.matrix("points", points)
	if q := len(at[0].Base); q > 0 {
		base := mat.NewDense(len(at), q, nil)
		for i, p := range at {
			base.SetRow(i, p.Base)
		}
		m.matrix("base", base)
	}
}

// add writes the sum of the answers of shards, one after the other in their order.
func add(r *bufio.Reader, w io.Writer) error {
	if first, err := r.Peek(1); err == nil && first[0] == '{' {
		c, err := textproc.ReadCounts(r)
		if err != nil {
			return err
		}
		return c.Write(w)
	}
	all, err := sum(r)
	if err != nil {
		return err
	}
	return all.write(w)
}

func sum(r io.Reader) (*message, error) {
	all, err := readMessage(r)
	if err != nil {
		return nil, err
	}
	for {
		more, err := readMessage(r)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(more.tensors) != len(all.tensors) {
			return nil, fmt.Errorf("%w: answers to different rounds", errMessage)
		}
		for name, x := range more.tensors {
			to := all.tensors[name].Data
			if len(to) != len(x.Data) {
				return nil, fmt.Errorf("%w: %q has %d and %d numbers", errMessage, name, len(to), len(x.Data))
			}
			for i, v := range x.Data {
				to[i] += v
			}
		}
	}
}
