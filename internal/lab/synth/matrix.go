package synth

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/wardcast/wardcast/internal/lists"
)

// MatrixSettings describe a document-term matrix of any size; the Generator has only a few hundred terms.
type MatrixSettings struct {
	Documents int `help:"Rows." default:"13084"`
	Terms     int `help:"Columns." default:"5876"`
	Topics    int `help:"Topics that terms are drawn from." default:"200"`
	// MinTokens is the smallest number of tokens in a document; the largest is about three times as many. 0 means 12.
	MinTokens int    `kong:"-"`
	Seed      uint64 `help:"Seed: equal seeds give equal matrices." default:"1"`
}

// The tokens of a document come from one to three topics and from common words. Both follow Zipf's law.
const (
	topicTerms   = 120  // terms of a topic; topics may share terms
	ownTokens    = 0.6  // share of the tokens that come from the document's topics
	zipfExponent = 1.05 // of frequency as a function of rank
	zipfOffset   = 5
	minTokens    = 12
)

const matrixStream = 0x6d61_7472_6978 // "matrix"

// WriteMatrix writes a document-term matrix of tf-idf rows with norm 1 in the MatrixMarket format: tf is the count in
// the document, idf = ln((1+n)/(1+df)) + 1. Equal settings give equal bytes. It returns an error for invalid settings,
// when ctx ends, and when w fails.
func WriteMatrix(ctx context.Context, w io.Writer, s MatrixSettings) error {
	if s.Documents < 1 || s.Terms < 1 || s.Topics < 1 || s.MinTokens < 0 {
		return errors.New("documents, terms and topics must be at least 1, tokens not negative")
	}
	tokens := cmp.Or(s.MinTokens, minTokens)
	random := rand.New(rand.NewPCG(s.Seed, matrixStream))
	shared := rand.NewZipf(random, zipfExponent, zipfOffset, uint64(s.Terms-1))
	own := rand.NewZipf(random, zipfExponent, zipfOffset, topicTerms-1)
	topics := make([][topicTerms]int, s.Topics)
	for t := range topics {
		for i := range topics[t] {
			topics[t][i] = random.IntN(s.Terms)
		}
	}
	documents, df, entries := make([]map[int]float64, s.Documents), make([]int, s.Terms), 0
	for i := range documents {
		if err := ctx.Err(); err != nil {
			return err
		}
		about := lists.Make(1+random.IntN(3), func(int) int { return random.IntN(s.Topics) })
		tf := map[int]float64{}
		for range tokens + random.IntN(2*tokens) {
			term := int(shared.Uint64())
			if random.Float64() < ownTokens {
				term = topics[about[random.IntN(len(about))]][own.Uint64()]
			}
			tf[term]++
		}
		for term := range tf {
			df[term]++
		}
		documents[i] = tf
		entries += len(tf)
	}
	out := bufio.NewWriter(w)
	if _, err := fmt.Fprintf(out, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", s.Documents, s.Terms,
		entries); err != nil {
		return err
	}
	for i, tf := range documents {
		terms := slices.Sorted(maps.Keys(tf))
		var squares float64
		for _, j := range terms {
			tf[j] *= math.Log(float64(1+s.Documents)/float64(1+df[j])) + 1
			squares += tf[j] * tf[j]
		}
		for _, j := range terms {
			if _, err := fmt.Fprintf(out, "%d %d %.17g\n", i+1, j+1, tf[j]/math.Sqrt(squares)); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
