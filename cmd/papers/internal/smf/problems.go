package smf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// ErrIDX is wrapped by errors for files that are not IDX files of digits.
var ErrIDX = errors.New("malformed IDX file")

// Digits are images of handwritten digits.
type Digits struct {
	Rows, Columns int
	Pixels        []byte // image after image, row after row; 0 is background
	Labels        []byte // the digit of each image
}

// maxBytes bounds an IDX file: the largest of the MNIST site has 47 million bytes.
const maxBytes = 1 << 30

// ReadDigits reads the images and labels of a pair of IDX files, as they are at the MNIST site, gzipped if a name ends
// in .gz. Errors name the file; errors in its content wrap ErrIDX. Memory grows with the content, not with the sizes in
// a header.
func ReadDigits(images, labels string) (*Digits, error) {
	sizes, pixels, err := readIDX(images, 3)
	if err != nil {
		return nil, err
	}
	count, digits, err := readIDX(labels, 1)
	if err != nil {
		return nil, err
	}
	if count[0] != sizes[0] {
		return nil, fmt.Errorf("reading %q: %w: %d labels of the %d images in %q", labels, ErrIDX, count[0],
			sizes[0], images)
	}
	if i := slices.IndexFunc(digits, func(label byte) bool { return label > 9 }); i >= 0 {
		return nil, fmt.Errorf("reading %q: %w: label %d of image %d is not a digit", labels, ErrIDX, digits[i], i+1)
	}
	return &Digits{Rows: sizes[1], Columns: sizes[2], Pixels: pixels, Labels: digits}, nil
}

func readIDX(path string, dims int) (sizes []int, data []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("reading %q: %w", path, err)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	in, err := table.Decompress(file, path)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	return decodeIDX(in, dims)
}

// decodeIDX returns the sizes and the content of an IDX file of unsigned bytes: two zeros, their code 8, the number of
// dimensions, the sizes, and then the bytes.
func decodeIDX(in io.Reader, dims int) (sizes []int, data []byte, err error) {
	file, err := io.ReadAll(io.LimitReader(in, maxBytes))
	if err != nil {
		return nil, nil, err
	}
	begin := 4 + 4*dims
	if magic := []byte{0, 0, 8, byte(dims)}; len(file) < begin || !bytes.HasPrefix(file, magic) {
		return nil, nil, fmt.Errorf("%w: it does not begin with the bytes %x and %d sizes", ErrIDX, magic, dims)
	}
	total := 1
	for at := 4; at < begin; at += 4 {
		size := binary.BigEndian.Uint32(file[at:])
		if size == 0 || int64(size) > int64(maxBytes/total) {
			return nil, nil, fmt.Errorf("%w: its size %d is %d", ErrIDX, at/4, size)
		}
		sizes, total = append(sizes, int(size)), total*int(size)
	}
	if data = file[begin:]; len(data) != total {
		return nil, nil, fmt.Errorf("%w: it has %d bytes, but its sizes %d make %d", ErrIDX, len(data), sizes, total)
	}
	return sizes, data, nil
}

// fingerprint returns the SHA-256 of the images with their labels, "" for none.
func (d *Digits) fingerprint() string {
	if d == nil {
		return ""
	}
	return report.Fingerprint(
		func(add func(string, ...any)) { add("%d %d\n%s%s", d.Rows, d.Columns, d.Pixels, d.Labels) })
}

// The images of section 5. Its supplement, which describes them further, was not available: the digits, their number
// and the noise follow the authors' scripts, or are our choice if these do not specify them.
const (
	digitsRank   = 2   // section 5
	digitsImages = 500 // section 5
	digitsEach   = 10  // images of a digit that are mixed
	digitsNoise  = 0.5 // standard deviation, pixels from 0 to 1
)

// mixedDigits returns 500 images, each a mixture of 20 given ones of 2 and 5 with weights from U(0,1), and noise. A
// label is drawn with the log-odds
//
//	⟨image before noise, sum of ten 4s − sum of ten 7s⟩, less their mean,
//
// where pixels run from 0 to 1. Pixels are then centred, and scaled so that images have a mean square of 1.
func mixedDigits(d *Digits, seed uint64) (*problem, error) {
	random := rand.New(rand.NewPCG(seed, digitsStream))
	p := d.Rows * d.Columns
	given := map[byte]*mat.Dense{}
	for _, digit := range []byte{2, 5, 4, 7} {
		var err error
		if given[digit], err = d.choose(digit, random); err != nil {
			return nil, err
		}
	}
	x, direction := mat.NewDense(digitsImages, p, nil), make([]float64, p)
	for _, digit := range []byte{2, 5} {
		linalg.Threads(0).AddMulTo(x, report.Drawn(digitsImages, digitsEach, random.Float64), given[digit])
	}
	for i := range digitsEach {
		floats.Add(direction, given[4].RawRowView(i))
		floats.Sub(direction, given[7].RawRowView(i))
	}
	odds := make([]float64, digitsImages)
	for i := range odds {
		odds[i] = floats.Dot(x.RawRowView(i), direction)
	}
	floats.AddConst(-stat.Mean(odds, nil), odds)
	data := smf.Data{Labels: drawLabels(odds, random), Classes: 2}
	raw := x.RawMatrix().Data
	for i := range raw {
		raw[i] += digitsNoise * random.NormFloat64()
	}
	for j := range p {
		column := mat.Col(nil, j, x)
		floats.AddConst(-stat.Mean(column, nil), column)
		x.SetCol(j, column)
	}
	floats.Scale(math.Sqrt(digitsImages)/floats.Norm(raw, 2), raw)
	return &problem{name: "digits", x: x, data: data, rank: digitsRank}, nil
}

// choose returns digitsEach images of a digit, without repeats.
func (d *Digits) choose(digit byte, random *rand.Rand) (*mat.Dense, error) {
	var of []int
	for i, label := range d.Labels {
		if label == digit {
			of = append(of, i)
		}
	}
	if len(of) < digitsEach {
		return nil, report.Invalid("%d images of a %d, want at least %d", len(of), digit, digitsEach)
	}
	p := d.Rows * d.Columns
	images := mat.NewDense(digitsEach, p, nil)
	for row, chosen := range random.Perm(len(of))[:digitsEach] {
		pixels := d.Pixels[of[chosen]*p : (of[chosen]+1)*p]
		for j, v := range pixels {
			images.Set(row, j, float64(v)/math.MaxUint8)
		}
	}
	return images, nil
}

// The second words of the generators' seeds.
const (
	digitsStream = 0x6469_6769_7473 // "digits"
	jobsStream   = 0x6a6f_6273      // "jobs"
	startStream  = 0x7374_6172_74   // "start"
)

// problem is a data set on which the algorithms are compared.
type problem struct {
	name string
	x    mat.Matrix
	data smf.Data
	rank int
}

// The made-up job postings: as sparse, as wide and as rarely fraudulent as those of section 5.
const (
	jobsRank   = 20 // section 5
	jobsFields = 20 // topics that words are drawn from
	jobsTokens = 31 // so that the entries of X are 1.8 % of all
	jobsAux    = 72 // section 5
	// auxScale is the value of a feature that a posting has: the authors divide theirs by 10.
	auxScale = 0.1
	// jobsSpread is the standard deviation of the log-odds of fraud and jobsMean their mean: about one posting in
	// twenty is fraudulent.
	jobsSpread = 2
	jobsMean   = -4.4
)

// jobPostings returns tf-idf rows of length 1, neither centred nor scaled, with 72 features that a posting has or
// lacks. The log-odds of fraud are linear in both, with coefficients from N(0,1).
func jobPostings(ctx context.Context, documents, terms int, seed uint64) (*problem, error) {
	var file bytes.Buffer
	if err := synth.WriteMatrix(ctx, &file, synth.MatrixSettings{
		Documents: documents, Terms: terms, Topics: jobsFields, MinTokens: jobsTokens, Seed: seed,
	}); err != nil {
		return nil, err
	}
	x, err := matrixio.ReadMTX(&file)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, jobsStream))
	aux := mat.NewDense(documents, jobsAux, nil)
	for j := range jobsAux {
		share := random.Float64() / 2
		for i := range documents {
			if random.Float64() < share {
				aux.Set(i, j, auxScale)
			}
		}
	}
	odds := mat.NewDense(documents, 1, nil)
	linalg.OperatorOf(x, 0).MulTo(odds, report.Drawn(terms, 1, random.NormFloat64))
	linalg.Threads(0).AddMulTo(odds, aux, report.Drawn(jobsAux, 1, random.NormFloat64))
	raw := odds.RawMatrix().Data
	mean, spread := stat.MeanStdDev(raw, nil)
	for i, v := range raw {
		raw[i] = jobsMean + jobsSpread*(v-mean)/spread
	}
	return &problem{
		name: "jobs", x: x, data: smf.Data{Labels: drawLabels(raw, random), Classes: 2, Aux: aux}, rank: jobsRank,
	}, nil
}

// drawLabels returns labels 1 with the given log-odds.
func drawLabels(odds []float64, random *rand.Rand) []int {
	labels := make([]int, len(odds))
	for i, v := range odds {
		if random.Float64() < 1/(1+math.Exp(-v)) {
			labels[i] = 1
		}
	}
	return labels
}

// start returns the factors that the algorithms begin at: see Convergence.Start.
func (p *problem) start(ctx context.Context, init solver.Init,
	seed uint64,
) (topics, scores *mat.Dense, head *solver.Head, err error) {
	n, terms := p.x.Dims()
	if init != StartUniform {
		problem := &solver.Problem{
			X: linalg.OperatorOf(p.x, 0), Settings: solver.Settings{Rank: p.rank, Init: init, Seed: seed},
		}
		if topics, err = problem.OrthonormalTopics(ctx); err != nil {
			return nil, nil, nil, err
		}
		scores = mat.NewDense(n, p.rank, nil)
		problem.X.MulTo(scores, topics)
		return topics, scores, nil, nil
	}
	random := rand.New(rand.NewPCG(seed, startStream))
	signed := func() float64 { return -1 + 2*random.Float64() }
	topics, scores = report.Drawn(terms, p.rank, random.Float64), report.Drawn(n, p.rank, random.Float64)
	head = &solver.Head{Coefficients: report.Drawn(1, p.rank, signed), Intercept: report.Drawn(1, 1,
		signed).RawRowView(0)}
	if p.data.Aux != nil {
		_, q := p.data.Aux.Dims()
		head.AuxCoefficients = report.Drawn(1, q, signed)
	}
	return topics, scores, head, nil
}
