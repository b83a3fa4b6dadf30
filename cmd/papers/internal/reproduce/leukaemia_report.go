package reproduce

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/smf"
)

// LeukaemiaResult is the outcome of Leukaemia.Run.
type LeukaemiaResult struct {
	Settings LeukaemiaSettings `json:"settings"`
	Samples  int               `json:"samples"`
	Genes    int               `json:"genes"`
	Outcomes []Outcome         `json:"outcomes"`
	// Cells are the splits, Summaries their means.
	Cells     []LeukaemiaCell    `json:"cells"`
	Summaries []LeukaemiaSummary `json:"summaries"`
	// Supervised are the topics of all samples for the first outcome, by SMF-W and by SMF-H.
	Supervised []SupervisedTopics `json:"supervised"`
}

// LeukaemiaSummary is the mean over the splits, with the standard deviation between them, 0 for one split.
type LeukaemiaSummary struct {
	Outcome            string  `json:"outcome"`
	Method             string  `json:"method"`
	Splits             int     `json:"splits"`
	Accuracy           float64 `json:"accuracy"`
	AccuracySD         float64 `json:"accuracy_sd"`
	BalancedAccuracy   float64 `json:"balanced_accuracy"`
	BalancedAccuracySD float64 `json:"balanced_accuracy_sd"`
	AUROC              float64 `json:"auroc"`
	AUROCSD            float64 `json:"auroc_sd"`
	LogLoss            float64 `json:"log_loss"`
	LogLossSD          float64 `json:"log_loss_sd"`
	Ranks              []int   `json:"ranks,omitempty"` // chosen
}

// SupervisedTopics are those of all samples, ξ, ν and rank of the least cross-validated log loss. Genes are standardized.
type SupervisedTopics struct {
	Variant smf.Variant `json:"variant"`
	hyperparameters
	Intercept float64 `json:"intercept"`
	// Topics have length 1 and are orthogonal, the one that explains most first; with them the log-odds of a sample are
	// Intercept + Σ Coefficient·⟨topic, sample⟩. The last, of number 0 and coefficient 1, are the two parts of their sum
	// Σ Coefficient·topic: the genes that move the log-odds most, down and up.
	Topics []SupervisedTopic `json:"topics"`
}

// SupervisedTopic is a topic with its coefficient. A positive one means towards the class that is not the reference.
type SupervisedTopic struct {
	Topic       int           `json:"topic"` // from 1; 0 is all together
	Coefficient float64       `json:"coefficient"`
	Genes       []GeneLoading `json:"genes"` // those of the largest loadings, largest first
}

// GeneLoading is one gene.
type GeneLoading struct {
	Gene    string  `json:"gene"`
	Loading float64 `json:"loading"`
	// Effect is what one standard deviation more of the gene adds to the log-odds by way of the topic.
	Effect  float64 `json:"effect"`
	Towards string  `json:"towards"` // class that more of the gene speaks for
}

// summarize fills in the summaries.
func (r *LeukaemiaResult) summarize() {
	for _, o := range r.Outcomes {
		for _, m := range contestants(len(o.Classes)) {
			var accuracy, balanced, auroc, loss []float64
			s := LeukaemiaSummary{Outcome: o.Name, Method: m.name}
			for _, c := range r.Cells {
				if c.Outcome != o.Name || c.Method != m.name {
					continue
				}
				s.Splits++
				accuracy, balanced = append(accuracy, c.Accuracy), append(balanced, c.BalancedAccuracy)
				auroc, loss = append(auroc, c.AUROC), append(loss, c.LogLoss)
				if c.Rank > 0 {
					s.Ranks = append(s.Ranks, c.Rank)
				}
			}
			if s.Splits == 0 {
				continue
			}
			s.Accuracy, s.AccuracySD = meanDeviation(accuracy)
			s.BalancedAccuracy, s.BalancedAccuracySD = meanDeviation(balanced)
			s.AUROC, s.AUROCSD = meanDeviation(auroc)
			s.LogLoss, s.LogLossSD = meanDeviation(loss)
			r.Summaries = append(r.Summaries, s)
		}
	}
}

// name returns the number of a topic.
func (t *SupervisedTopic) name() string {
	if t.Topic == 0 {
		return "all"
	}
	return strconv.Itoa(t.Topic)
}

// topics returns the supervised topics of training samples.
func (l *Leukaemia) topics(ctx context.Context, e *Expressions, t *training, v smf.Variant) (*SupervisedTopics, error) {
	method, r, chosen, err := t.factorize(ctx, v)
	if err != nil {
		return nil, err
	}
	if r, err = method.Orthonormal(r); err != nil {
		return nil, err
	}
	out := &SupervisedTopics{Variant: v, hyperparameters: chosen, Intercept: r.Head.Intercept[0]}
	together := make([]float64, len(e.Genes))
	for k := range chosen.Rank {
		coefficient := r.Head.Coefficients.At(0, k)
		loadings := mat.Col(nil, k, r.Topics)
		floats.AddScaled(together, coefficient, loadings)
		out.Topics = append(out.Topics, SupervisedTopic{Topic: k + 1, Coefficient: coefficient, Genes: l.largest(e, loadings, coefficient)})
	}
	for _, sign := range []float64{-1, 1} {
		towards := make([]float64, len(together))
		for j, v := range together {
			towards[j] = sign * max(0, sign*v)
		}
		if genes := l.largest(e, towards, 1); len(genes) > 0 {
			out.Topics = append(out.Topics, SupervisedTopic{Coefficient: 1, Genes: genes})
		}
	}
	return out, nil
}

// largest returns the genes of the largest |loading| that is not 0, of equal ones the first.
func (l *Leukaemia) largest(e *Expressions, loadings []float64, coefficient float64) []GeneLoading {
	order := make([]int, len(loadings))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(loadings[b]), math.Abs(loadings[a])) })
	var genes []GeneLoading
	for _, j := range order[:min(l.Genes, len(order))] {
		if loadings[j] == 0 {
			break
		}
		g := GeneLoading{Gene: e.Genes[j], Loading: loadings[j], Effect: loadings[j] * coefficient / math.Sqrt(float64(len(loadings)))}
		if g.Effect != 0 {
			g.Towards = e.Outcomes[0].Classes[0]
			if g.Effect > 0 {
				g.Towards = e.Outcomes[0].Classes[1]
			}
		}
		genes = append(genes, g)
	}
	return genes
}

// Tables lays the results out: one table of the methods for each outcome, and one of the genes for each variant.
func (r *LeukaemiaResult) Tables() []TextTable {
	var tables []TextTable
	for _, o := range r.Outcomes {
		t := TextTable{Header: []string{"method", "splits", "accuracy", "balanced accuracy", "AUROC", "log loss", "ranks chosen"}}
		for c, class := range o.Classes {
			t.Title += fmt.Sprintf(", %d %s", o.Counts[c], class)
		}
		t.Title = t.Title[2:]
		for _, s := range r.Summaries {
			if s.Outcome == o.Name {
				t.Lines = append(t.Lines, []string{
					s.Method, strconv.Itoa(s.Splits), spread(s.Accuracy, s.AccuracySD), spread(s.BalancedAccuracy, s.BalancedAccuracySD),
					spread(s.AUROC, s.AUROCSD), spread(s.LogLoss, s.LogLossSD), strings.Trim(fmt.Sprint(s.Ranks), "[]"),
				})
			}
		}
		if t.Lines != nil {
			tables = append(tables, t)
		}
	}
	for _, s := range r.Supervised {
		t := TextTable{Title: fmt.Sprintf("Genes of %s, ξ = %.3g, ν = %.3g", s.Variant, s.Xi, s.Ridge), Header: []string{"topic", "β", "gene", "loading", "effect", "towards"}}
		for _, topic := range s.Topics {
			for _, g := range topic.Genes {
				t.Lines = append(t.Lines, []string{topic.name(), fmt.Sprintf("%+.3f", topic.Coefficient), g.Gene, fmt.Sprintf("%+.4f", g.Loading), fmt.Sprintf("%+.4f", g.Effect), g.Towards})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

func spread(mean, deviation float64) string { return fmt.Sprintf("%.3f ± %.3f", mean, deviation) }

// known writes a hyperparameter, nothing where a method has none.
func known(v float64) string {
	if v == 0 {
		return ""
	}
	return exact(v)
}

// Write puts everything into a folder, made where it is missing: results.json, splits.csv, genes.csv and for each variant an
// SVG of the genes.
func (r *LeukaemiaResult) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	files := map[string][]byte{"results.json": append(data, '\n')}
	splits := [][]string{{"outcome", "method", "split", "train", "test", "rank", "xi", "ridge", "lambda", "accuracy", "balanced_accuracy", "auroc", "log_loss", "seconds"}}
	for _, c := range r.Cells {
		splits = append(splits, []string{
			c.Outcome, c.Method, strconv.Itoa(c.Split), strconv.Itoa(c.Train), strconv.Itoa(c.Test), known(float64(c.Rank)), known(c.Xi), known(c.Ridge), known(c.Lambda),
			exact(c.Accuracy), exact(c.BalancedAccuracy), exact(c.AUROC), exact(c.LogLoss), exact(c.Seconds),
		})
	}
	if files["splits.csv"], err = csvBytes(splits); err != nil {
		return err
	}
	genes := [][]string{{"variant", "topic", "coefficient", "gene", "loading", "effect", "towards"}}
	for _, s := range r.Supervised {
		for _, t := range s.Topics {
			for _, g := range t.Genes {
				genes = append(genes, []string{string(s.Variant), t.name(), exact(t.Coefficient), g.Gene, exact(g.Loading), exact(g.Effect), g.Towards})
			}
		}
		if files["genes-"+string(s.Variant)+".svg"], err = s.svg(r.Outcomes[0].Classes); err != nil {
			return err
		}
	}
	if files["genes.csv"], err = csvBytes(genes); err != nil {
		return err
	}
	return writeFiles(dir, files)
}
