package msg

import (
	"fmt"
	"testing"
)

func BenchmarkDecodeNote(b *testing.B) {
	data := []byte(contractNote)
	var n Note
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := DecodeNote(data, &n); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
}

func BenchmarkDecodeResponse(b *testing.B) {
	for _, items := range []int{25, 135} {
		b.Run(fmt.Sprintf("items=%d", items), func(b *testing.B) {
			data := []byte(longResponse(b, items))
			var r Response
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := DecodeResponse(data, &r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "responses/s")
		})
	}
}

// BenchmarkScores writes scores with their numbers rounded by Round.
func BenchmarkScores(b *testing.B) {
	for _, size := range []struct{ factors, items int }{{5, 5}, {20, 12}} {
		b.Run(fmt.Sprintf("factors=%d/items=%d", size.factors, size.items), func(b *testing.B) {
			s := contractScores()
			s.Scores = s.Scores[:0]
			for i := range size.factors {
				score := Score{Factor: fmt.Sprintf("factor%d", i+1), Score: Round(1 / float64(i+3))}
				for j := range size.items {
					score.Items = append(score.Items, Loading{
						Item: "N1", Text: "Get angry easily.", Reversed: false, Loading: Round(4 / float64(j+3)),
					})
				}
				s.Scores = append(s.Scores, score)
			}
			buf := s.AppendJSON(nil)
			b.ReportAllocs()
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				buf = s.AppendJSON(buf[:0])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "scores/s")
		})
	}
}

// BenchmarkPrediction writes a prediction with its numbers at full length, or
// rounded by Round.
func BenchmarkPrediction(b *testing.B) {
	for _, size := range []struct {
		topics, terms int
		round         bool
	}{{5, 5, false}, {5, 5, true}, {50, 10, true}} {
		b.Run(fmt.Sprintf("topics=%d/terms=%d/round=%v", size.topics, size.terms, size.round), func(b *testing.B) {
			p := contractPrediction()
			p.Topics = p.Topics[:0]
			x := 1.0
			next := func() float64 {
				x = x*1.37 - float64(int(x*1.37))
				if size.round {
					return Round(x - .5)
				}
				return x - .5
			}
			for i := range size.topics {
				t := Topic{
					Topic: i + 1, Label: "hip rotate glf", Score: next(), Coefficient: next(), Contribution: next(),
				}
				for range size.terms {
					t.Terms = append(t.Terms, Term{
						Term: "shorten", Surface: []string{"shortened", "shortening"},
						Weight: next(), Contribution: next(),
					})
				}
				p.Topics = append(p.Topics, t)
			}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = p.AppendJSON(buf[:0])
			}
			b.SetBytes(int64(len(buf)))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "predictions/s")
		})
	}
}
