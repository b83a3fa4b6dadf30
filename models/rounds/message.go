package rounds

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/textproc"
)

const format = "wardcast-rounds-1"

// Keys of a message.
const (
	formatKey     = "format"
	programKey    = "program"
	whatKey       = "what"       // is asked for
	rowsKey       = "rows"       // SHA-256 of what rows are made by
	shardKey      = "shard"      // i/n, of notes and of rows
	widthKey      = "width"      // number of columns of the rows
	settingsKey   = "settings"   // textproc.Settings, as JSON
	vectorizerKey = "vectorizer" // saved, as JSON
)

// message is numbers, and what they are about.
type message struct {
	tensors safetensors.Tensors
	about   map[string]string
}

func (m *message) write(w io.Writer) error { return safetensors.Write(w, m.tensors, m.about) }

func (m *message) bytes() ([]byte, error) {
	var b bytes.Buffer
	err := m.write(&b)
	return b.Bytes(), err
}

func readMessage(r io.Reader) (*message, error) {
	tensors, about, err := safetensors.ReadNext(r)
	return &message{tensors, about}, err
}

func (m *message) vector(name string, values []float64) {
	m.tensors[name] = safetensors.OfList(values)
}

func (m *message) matrix(name string, a *mat.Dense) {
	m.tensors[name] = safetensors.Of(a)
}

// dense returns a matrix of as many rows, nil if there is none of this name.
func (m *message) dense(name string, rows int) (*mat.Dense, error) {
	x, found := m.tensors[name]
	if !found {
		return nil, nil
	}
	if len(x.Shape) != 2 || x.Shape[0] != rows || x.Shape[1] == 0 {
		return nil, fmt.Errorf("%w: %q is %v, not of %d rows", errMessage, name, x.Shape, rows)
	}
	return mat.NewDense(rows, x.Shape[1], x.Data), nil
}

var errMessage = errors.New("malformed message")

// saved is a vectorizer as JSON.
type saved struct {
	Settings   textproc.Settings  `json:"settings"`
	Vocabulary []textproc.Term    `json:"vocabulary"`
	IDF        []float64          `json:"idf"`
	Pieces     []textproc.Piece   `json:"pieces"`
	Words      []textproc.WordUse `json:"words"`
}

func save(v *textproc.Vectorizer, words *textproc.Words) (string, error) {
	s := saved{Settings: v.Settings(), Vocabulary: v.Vocabulary(), IDF: v.IDF(), Pieces: v.Pieces()}
	if words != nil {
		s.Words = words.Uses()
	}
	data, err := json.Marshal(s)
	return string(data), err
}

func (m *message) vectorizer() (*textproc.Vectorizer, *textproc.Words, error) {
	var s saved
	if err := json.Unmarshal([]byte(m.about[vectorizerKey]), &s); err != nil {
		return nil, nil, fmt.Errorf("%w: reading the vocabulary: %w", errMessage, err)
	}
	v, err := textproc.New(s.Settings, s.Vocabulary, s.IDF, s.Pieces...)
	if err != nil {
		return nil, nil, err
	}
	return v, v.LayWords(s.Words), nil
}

// note is a line of notes.
type note struct {
	Patient int    `json:"patient"`
	Text    string `json:"text"`
}

// notes returns the lines that follow the messages.
func notes(r *bufio.Reader) ([]note, error) {
	var all []note
	for d := json.NewDecoder(r); ; {
		var n note
		switch err := d.Decode(&n); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%w: note %d is not a JSON object", errMessage, len(all)+1) // without what it says
		}
		all = append(all, n)
	}
}
