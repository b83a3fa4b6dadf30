package factorize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/methods"
)

// clusters writes 60 documents of 24 terms: mixtures of 4 topics, each document mostly of one, with noise.
func clusters(t *testing.T) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 0))
	var topics [24][4]float64
	for j := range topics {
		for k := range 4 {
			if topics[j][k] = 0.2 * random.Float64(); j%4 == k {
				topics[j][k] += 0.5 + random.Float64()
			}
		}
	}
	var out strings.Builder
	for i := range 60 {
		var scores [4]float64
		for k := range scores {
			if scores[k] = 0.8 * random.Float64(); i%4 == k {
				scores[k]++
			}
		}
		for j, topic := range topics {
			v := 0.1 * random.NormFloat64()
			for k := range topic {
				v += scores[k] * topic[k]
			}
			fmt.Fprintf(&out, "%.6f", max(0, v))
			out.WriteByte(",\n"[j/23])
		}
	}
	return writeFile(t, "x.csv", out.String())
}

// answers writes 200 participants, 12 items of 3 factors, a tenth of the answers missing; normal ones, or from 1 to 4.
func answers(t *testing.T, likert bool) string {
	t.Helper()
	random := rand.New(rand.NewPCG(2, 0))
	var out strings.Builder
	for range 200 {
		factors := [3]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		for j := range 12 {
			v := 0.8*factors[j%3] + 0.6*random.NormFloat64()
			if likert {
				v = math.Round(min(4, max(1, 2.5+v)))
			}
			field := fmt.Sprintf("%.4f", v)
			if random.Float64() < 0.1 {
				field = "NA"
			}
			out.WriteString(field)
			out.WriteByte(",\n"[j/11])
		}
	}
	return writeFile(t, "answers.csv", out.String())
}

// Every criterion of every method finds four kinds of documents, or three factors.
func TestRank(t *testing.T) {
	t.Parallel()
	documents := clusters(t)
	for _, method := range methods.Names() {
		for _, criterion := range factorize.Criteria(method) {
			if methods.Domain(method) == solver.Binary {
				continue // the documents are not
			}
			t.Run(method+"/"+string(criterion), func(t *testing.T) {
				t.Parallel()
				last := 0
				r, err := factorize.Rank(t.Context(), factorize.RankOptions{
					Method: method, Input: documents, Criterion: criterion, Ranks: []int{2, 3, 4, 5, 7}, Runs: 8,
					RelTol: 1e-6, Seed: 1, Progress: func(done, total int) {
						if done != last+1 || done > total {
							t.Errorf("%d of %d after %d", done, total, last)
						}
						last = done
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				got := r.Rank
				if criterion == factorize.BCV { // past the truth its curve is flat
					got = *r.OneStandardErrorRank
				}
				// Other runs from random starts end in different minima also where the number is right.
				exact := criterion == factorize.BCV || criterion == factorize.BIC || method == methods.NMF
				if exact && got != 4 || len(r.Curve) != 5 || last == 0 {
					t.Errorf("rank %d after %d runs: %+v", got, last, r.Curve)
				}
				for i, k := range []int{2, 3, 4, 5, 7} {
					if p := r.Curve[i]; p.Rank != k || (p.StandardError != nil) != (criterion == factorize.BCV) {
						t.Errorf("point %d: %+v", i, p)
					}
				}
			})
		}
	}
	for _, criterion := range factorize.Criteria(factorize.FactorAnalysis) {
		for _, kind := range []factoranalysis.Kind{"", factoranalysis.Polychoric} {
			r, err := factorize.Rank(t.Context(), factorize.RankOptions{
				Method: factorize.FactorAnalysis, Input: answers(t, kind != ""), Criterion: criterion,
				Correlation: kind, Draws: 20, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			if r.Rank != 3 || r.Settings.Documents != 200 || r.Settings.Terms != 12 {
				t.Errorf("%s %s: %+v", criterion, kind, r)
			}
			if p := r.Curve[0]; (p.Reference != nil) != (criterion == factorize.Parallel) ||
				(p.FourthPower != nil) != (criterion == factorize.MAP) {
				t.Errorf("%s: first point %+v", criterion, p)
			}
		}
	}
}

// Of factor analysis ranks choose the places of the curve; map chooses among them, parallel by all.
func TestRanksOfFactorAnalysis(t *testing.T) {
	t.Parallel()
	input := answers(t, false)
	for criterion, want := range map[factorize.Criterion]int{factorize.MAP: 4, factorize.Parallel: 3} {
		r, err := factorize.Rank(t.Context(), factorize.RankOptions{
			Method: factorize.FactorAnalysis, Input: input, Criterion: criterion, Ranks: []int{4, 5, 50}, Draws: 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Rank != want || len(r.Curve) != 2 || r.Curve[0].Rank != 4 || r.Curve[1].Rank != 5 {
			t.Errorf("%s: %+v", criterion, r)
		}
	}
}

// The report of equal options is equal but for the seconds, whatever the number of threads.
func TestRankIsDeterministic(t *testing.T) {
	documents := clusters(t)
	for _, criterion := range []factorize.Criterion{factorize.BCV, factorize.BIC, factorize.Dispersion} {
		var first string
		for _, threads := range []int{1, 4} {
			r, err := factorize.Rank(t.Context(), factorize.RankOptions{
				Method: "nmf", Input: documents, Criterion: criterion, Ranks: []int{3, 4}, Runs: 3, RelTol: 1e-4,
				Seed: 2, Threads: threads,
			})
			if err != nil {
				t.Fatal(err)
			}
			r.Seconds = factorize.RankSeconds{}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(text)
			} else if diff := cmp.Diff(first, string(text)); diff != "" {
				t.Errorf("%s (-1 +4 threads):\n%s", criterion, diff)
			}
		}
	}
}

// By default ranks go from 2 to what bcv leaves room for; terms by documents are turned; a run that is cut short is
// counted.
func TestRankDefaults(t *testing.T) {
	t.Parallel()
	documents := clusters(t)
	r, err := factorize.Rank(t.Context(), factorize.RankOptions{
		Method: "svd", Input: documents, Orientation: factorize.TermsByDocuments, Criterion: factorize.BCV,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Settings.Documents != 24 || r.Settings.Terms != 60 || r.Curve[0].Rank != 2 ||
		r.Curve[len(r.Curve)-1].Rank != 16 || r.Settings.Folds != 3 {
		t.Errorf("%+v", r)
	}
	r, err = factorize.Rank(t.Context(), factorize.RankOptions{
		Method: "nmf", Input: documents, Criterion: factorize.BIC, Ranks: []int{5, 6}, MaxIter: 1,
	})
	if err != nil || r.Unconverged != 2 {
		t.Errorf("%+v, error %v", r, err)
	}
}

// matrix writes n×p values.
func matrix(t *testing.T, n, p int, value func(i, j int) float64) string {
	t.Helper()
	var out strings.Builder
	for i := range n {
		for j := range p {
			out.WriteString(strconv.FormatFloat(value(i, j), 'g', -1, 64))
			out.WriteByte(",\n"[j/(p-1)])
		}
	}
	return writeFile(t, "matrix.csv", out.String())
}

// Of equal values the fewest topics are chosen, for ccc and dispersion the most, and the report says so.
func TestRankTies(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{0, 3} {
		constant := matrix(t, 10, 6, func(_, _ int) float64 { return v })
		for criterion, want := range map[factorize.Criterion]int{
			factorize.BCV: 2, factorize.BIC: 2, factorize.CCC: 4, factorize.Dispersion: 4,
		} {
			r, err := factorize.Rank(t.Context(), factorize.RankOptions{
				Method: "svd", Input: constant, Criterion: criterion, Ranks: []int{2, 3, 4}, RelTol: 1e-6,
			})
			if criterion == factorize.CCC || criterion == factorize.Dispersion {
				r, err = factorize.Rank(t.Context(), factorize.RankOptions{
					Method: "nmf", Input: constant, Criterion: criterion, Ranks: []int{2, 3, 4}, RelTol: 1e-6, Runs: 3,
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Rank != want {
				t.Errorf("all entries %v, %s: rank %d, want %d: %+v", v, criterion, r.Rank, want, r.Curve)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("all entries %v, %s: %v", v, criterion, err)
			}
			if text := fmt.Sprint(r.Warnings); criterion != factorize.BIC &&
				!strings.Contains(text, "[2 3 4] are equal") {
				t.Errorf("all entries %v, %s: warnings %s", v, criterion, text)
			}
		}
	}
}

// A matrix that fewer topics reproduce has that many: what more of them change is rounding.
func TestRankExact(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{0, 6} { // whose rounding is least at 5 and at 10 topics
		random := rand.New(rand.NewPCG(seed, 7))
		var scores [30][3]float64
		var topics [15][3]float64
		for k := range 3 {
			for i := range scores {
				scores[i][k] = random.NormFloat64()
			}
			for j := range topics {
				topics[j][k] = 1e3 * random.NormFloat64()
			}
		}
		exact := matrix(t, 30, 15, func(i, j int) float64 {
			return scores[i][0]*topics[j][0] + scores[i][1]*topics[j][1] + scores[i][2]*topics[j][2]
		})
		for _, criterion := range []factorize.Criterion{factorize.BCV, factorize.BIC} {
			r, err := factorize.Rank(t.Context(),
				factorize.RankOptions{Method: "svd", Input: exact, Criterion: criterion, RelTol: 1e-6})
			if err != nil {
				t.Fatal(err)
			}
			if r.Rank != 3 {
				t.Errorf("seed %d, %s: rank %d of an exact 3: %+v", seed, criterion, r.Rank, r.Curve)
			}
		}
	}
}

// The choice does not depend on the scale of the entries.
func TestRankScales(t *testing.T) {
	t.Parallel()
	var first []*factorize.RankReport
	for i, scale := range []float64{1, 1e100, 1e-100} {
		random := rand.New(rand.NewPCG(8, 0))
		input := matrix(t, 30, 8, func(_, _ int) float64 { return scale * random.Float64() })
		for m, method := range []string{"svd", "nmf"} {
			r, err := factorize.Rank(t.Context(), factorize.RankOptions{
				Method: method, Input: input, Criterion: factorize.BCV, Ranks: []int{1, 2, 3}, RelTol: 1e-6,
			})
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = append(first, r)
			}
			if want := first[m]; r.Rank != want.Rank || *r.OneStandardErrorRank != *want.OneStandardErrorRank {
				t.Errorf("%s, entries up to %v: rank %d and %d, want %d and %d", method, scale, r.Rank,
					*r.OneStandardErrorRank, want.Rank, *want.OneStandardErrorRank)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s, entries up to %v: %v", method, scale, err)
			}
		}
	}
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	documents, items := clusters(t), answers(t, false)
	for name, c := range map[string]struct {
		options factorize.RankOptions
		want    string
	}{
		"method": {
			factorize.RankOptions{Method: "lda", Input: documents, Criterion: "bcv"}, `method "lda" is not one of sonmf`,
		},
		"criterion": {
			factorize.RankOptions{Method: "svd", Input: documents, Criterion: "ccc"},
			`method "svd" has no criterion "ccc", only bcv, bic`,
		},
		"binary": {
			factorize.RankOptions{Method: "sonmf-binary", Input: documents, Criterion: "bic"}, `only ccc, dispersion`,
		},
		"none": {
			factorize.RankOptions{Method: "log-nmf", Input: documents, Criterion: "bcv"},
			`method "log-nmf" has no criterion:`,
		},
		"parallel of nmf": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "parallel"},
			`only bcv, bic, ccc, dispersion`,
		},
		"ranks of fa": {
			factorize.RankOptions{Method: "fa", Input: items, Criterion: "map", Ranks: []int{30}}, "12 items",
		},
		"rank 0": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "bic", Ranks: []int{0, 1}}, "rank 0",
		},
		"repeated": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "bic", Ranks: []int{3, 3}}, "rank 3",
		},
		"rank too large": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "ccc", Ranks: []int{25}},
			"rank 25: 60 documents and 24 terms leave room for 24",
		},
		"rank of all": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "bic", Ranks: []int{2, 24}},
			"rank 24: 60 documents and 24 terms leave room for 23",
		},
		"no room at all": {
			factorize.RankOptions{Method: "nmf", Input: writeFile(t, "two.csv", "1,2\n3,4\n"), Criterion: "bcv"},
			"rank 2: 2 documents and 2 terms leave room for 1",
		},
		"threads": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "bcv", Ranks: []int{3}, Threads: 100000},
			"100000 threads",
		},
		"one cluster": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "ccc", Ranks: []int{1, 2}},
			"agree on one topic",
		},
		"no room for rank": {
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "bcv", Ranks: []int{17}},
			"rank 17: 60 documents and 24 terms leave room for 16",
		},
		"one run": {factorize.RankOptions{Method: "nmf", Input: documents, Criterion: "ccc", Runs: 1}, "1 runs"},
	} {
		if _, err := factorize.Rank(t.Context(), c.options); !errors.Is(err, solver.ErrSettings) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	// Whatever folds and orientation make of it, an entry stands where it stands in the file.
	negative := writeFile(t, "negative.csv", "1,2,3\n4,5,6\n7,8,9\n1,1,1\n2,4,6\n-9,2,2\n3,3,1\n")
	for _, criterion := range factorize.Criteria("nmf") {
		for _, orientation := range []factorize.Orientation{factorize.DocumentsByTerms, factorize.TermsByDocuments} {
			_, err := factorize.Rank(t.Context(), factorize.RankOptions{
				Method: "nmf", Input: negative, Orientation: orientation, Criterion: criterion, Ranks: []int{2},
			})
			if !errors.Is(err, solver.ErrDomain) || !strings.Contains(err.Error(), "negative.csv") ||
				!strings.Contains(err.Error(), "row 6, column 1 is -9, must be non-negative") {
				t.Errorf("negative entry, %s, %s: error %v", criterion, orientation, err)
			}
		}
	}
	constant := writeFile(t, "constant.csv", "1,2,NA\n2,2,1\n3,2,2\n")
	if _, err := factorize.Rank(t.Context(),
		factorize.RankOptions{Method: "fa", Input: constant, Criterion: factorize.MAP}); err == nil ||
		!strings.Contains(err.Error(), "item 2 has fewer than two different answers") {
		t.Errorf("constant item: error %v", err)
	}
	apart := writeFile(t, "apart.csv", "1,2,NA\n2,1,NA\n3,2,NA\n2,NA,1\n1,NA,2\n3,NA,5\n")
	if r, err := factorize.Rank(t.Context(),
		factorize.RankOptions{Method: "fa", Input: apart, Criterion: factorize.MAP}); err != nil ||
		len(r.Warnings) == 0 || !strings.HasPrefix(r.Warnings[len(r.Warnings)-1], "1 pairs") {
		t.Errorf("items that nobody answered together: %+v, error %v", r, err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, criterion := range []factorize.Criterion{factorize.BCV, factorize.CCC} {
		if _, err := factorize.Rank(ctx,
			factorize.RankOptions{Method: "nmf", Input: documents, Criterion: criterion}); !errors.Is(err, why) {
			t.Errorf("%s cancelled: error %v", criterion, err)
		}
	}
}
