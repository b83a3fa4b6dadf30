package smf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver/smf"
)

// LeukaemiaResult is the result of Leukaemia.
type LeukaemiaResult struct {
	Settings *Leukaemia `json:"settings"`
	Samples  int        `json:"samples"`
	Genes    int        `json:"genes"`
	Outcomes []Outcome  `json:"outcomes"`
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

// SupervisedTopics are topics of all samples, with the ξ, ν and rank of the least cross-validated log loss. Genes are
// standardized.
type SupervisedTopics struct {
	Variant smf.Variant `json:"variant"`
	hyperparameters
	Intercept float64 `json:"intercept"`
	// Topics have length 1 and are orthogonal, the one that explains most first; with them the log-odds of a sample are
	// Intercept + Σ Coefficient·⟨topic, sample⟩. The last, of number 0 and coefficient 1, are the two parts of their
	// sum Σ Coefficient·topic: the genes that move the log-odds most, down and up.
	Topics []SupervisedTopic `json:"topics"`
}

// SupervisedTopic is a topic with its coefficient. A positive one points to the class that is not the reference.
type SupervisedTopic struct {
	Topic       int           `json:"topic"` // from 1; 0 is their sum
	Coefficient float64       `json:"coefficient"`
	Genes       []GeneLoading `json:"genes"` // those of the largest loadings, largest first
}

// GeneLoading is one gene.
type GeneLoading struct {
	Gene    string  `json:"gene"`
	Loading float64 `json:"loading"`
	// Effect is the change of the log-odds through the topic when the gene rises by one standard deviation.
	Effect  float64 `json:"effect"`
	Towards string  `json:"towards"` // the class that more of the gene points to
}

// topics returns the supervised topics of the training samples.
func (t *training) topics(ctx context.Context, v smf.Variant) (*SupervisedTopics, error) {
	method, r, chosen, err := t.factorize(ctx, v)
	if err != nil {
		return nil, err
	}
	if r, err = method.Orthonormal(r); err != nil {
		return nil, err
	}
	out := &SupervisedTopics{Variant: v, hyperparameters: chosen, Intercept: r.Head.Intercept[0]}
	together := make([]float64, len(t.read.Genes))
	for k := range chosen.Rank {
		coefficient, loadings := r.Head.Coefficients.At(0, k), mat.Col(nil, k, r.Topics)
		floats.AddScaled(together, coefficient, loadings)
		out.Topics = append(out.Topics, SupervisedTopic{k + 1, coefficient, t.largest(loadings, coefficient)})
	}
	for _, sign := range []float64{-1, 1} {
		towards := make([]float64, len(together))
		for j, v := range together {
			towards[j] = sign * max(0, sign*v)
		}
		if genes := t.largest(towards, 1); len(genes) > 0 {
			out.Topics = append(out.Topics, SupervisedTopic{Coefficient: 1, Genes: genes})
		}
	}
	return out, nil
}

// largest returns the genes of the largest |loading| other than 0, the first of equal ones first.
func (l *Leukaemia) largest(loadings []float64, coefficient float64) []GeneLoading {
	var genes []GeneLoading
	for j, v := range loadings {
		if v == 0 {
			continue
		}
		g := GeneLoading{Gene: l.read.Genes[j], Loading: v, Effect: v * coefficient / math.Sqrt(float64(len(loadings)))}
		switch {
		case g.Effect > 0:
			g.Towards = l.read.Outcomes[0].Classes[1]
		case g.Effect < 0:
			g.Towards = l.read.Outcomes[0].Classes[0]
		}
		genes = append(genes, g)
	}
	slices.SortStableFunc(genes,
		func(a, b GeneLoading) int { return cmp.Compare(math.Abs(b.Loading), math.Abs(a.Loading)) })
	return genes[:min(l.Genes, len(genes))]
}

// report fills in the summaries. It returns a table of the methods for each outcome and one of the genes for each
// variant, splits.csv, genes.csv, and for each variant an SVG of the genes.
func (r *LeukaemiaResult) report() *report.Report {
	splits := report.NewTable("",
		"outcome,method,split,train,test,rank,xi,ridge,lambda,accuracy,balanced_accuracy,auroc,log_loss,seconds")
	genes := report.NewTable("", "variant,topic,coefficient,gene,loading,effect,towards")
	out := &report.Report{
		Data: r, CSV: map[string]*report.Table{"splits.csv": splits, "genes.csv": genes},
		SVG: map[string]report.Figure{},
	}
	for _, c := range r.Cells {
		splits.Add(c.Outcome, c.Method, c.Split, c.Train, c.Test, known(c.Rank), known(c.Xi), known(c.Ridge),
			known(c.Lambda), c.Accuracy, c.BalancedAccuracy, c.AUROC, c.LogLoss, c.Seconds)
	}
	for _, o := range r.Outcomes {
		t := report.NewTable("", "method,splits,accuracy,balanced accuracy,AUROC,log loss,ranks chosen")
		for c, class := range o.Classes {
			t.Title += fmt.Sprintf(", %d %s", o.Counts[c], class)
		}
		t.Title = t.Title[2:]
		for _, m := range methods(len(o.Classes)) {
			s := LeukaemiaSummary{Outcome: o.Name, Method: m.name}
			var values [4][]float64
			for _, c := range r.Cells {
				if c.Outcome != o.Name || c.Method != m.name {
					continue
				}
				for i, v := range []float64{c.Accuracy, c.BalancedAccuracy, c.AUROC, c.LogLoss} {
					values[i] = append(values[i], v)
				}
				if c.Rank > 0 {
					s.Ranks = append(s.Ranks, c.Rank)
				}
			}
			if s.Splits = len(values[0]); s.Splits == 0 {
				continue
			}
			line := []any{s.Method, s.Splits}
			for i, to := range [][2]*float64{{
				&s.Accuracy, &s.AccuracySD,
			}, {&s.BalancedAccuracy, &s.BalancedAccuracySD}, {&s.AUROC, &s.AUROCSD}, {&s.LogLoss, &s.LogLossSD}} {
				*to[0], *to[1] = report.MeanDeviation(values[i])
				line = append(line, fmt.Sprintf("%.3f ± %.3f", *to[0], *to[1]))
			}
			t.Add(append(line, strings.Trim(fmt.Sprint(s.Ranks), "[]"))...)
			r.Summaries = append(r.Summaries, s)
		}
		if t.Lines != nil {
			out.Tables = append(out.Tables, *t)
		}
	}
	for _, s := range r.Supervised {
		t := report.NewTable(fmt.Sprintf("Genes of %s, ξ = %.3g, ν = %.3g", s.Variant, s.Xi, s.Ridge),
			"topic,β,gene,loading,effect,towards")
		var panels []*report.Panel
		for _, topic := range s.Topics {
			name := "all"
			if topic.Topic > 0 {
				name = strconv.Itoa(topic.Topic)
			}
			for _, g := range topic.Genes {
				t.Add(name, fmt.Sprintf("%+.3f", topic.Coefficient), g.Gene, fmt.Sprintf("%+.4f", g.Loading),
					fmt.Sprintf("%+.4f", g.Effect), g.Towards)
				genes.Add(s.Variant, name, topic.Coefficient, g.Gene, g.Loading, g.Effect, g.Towards)
			}
			panels = append(panels, topic.panel(s.Variant, r.Outcomes[0].Classes))
		}
		out.Tables = append(out.Tables, *t)
		out.SVG["genes-"+string(s.Variant)+".svg"] = report.Figure{panels}
	}
	return out
}

// known returns a hyperparameter, nil if the method lacks it.
func known[T int | float64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}

// drawnGenes is the number of bars that fit in a panel.
const drawnGenes = 10

// panel draws the first genes as bars, the largest on top, coloured by the class that they point to.
func (t *SupervisedTopic) panel(v smf.Variant, classes []string) *report.Panel {
	p := &report.Panel{Title: fmt.Sprintf("%s, topic %d, β = %+.2f", v, t.Topic, t.Coefficient), X: "loading"}
	if t.Topic == 0 {
		p.Title = string(v) + ", together"
	}
	for _, class := range classes {
		p.Curves = append(p.Curves, report.Curve{Name: "towards " + class})
	}
	for _, g := range slices.Backward(t.Genes[:min(drawnGenes, len(t.Genes))]) {
		for c, class := range classes {
			if g.Towards == class {
				p.Curves[c].Points = append(p.Curves[c].Points, plotter.XY{X: g.Loading, Y: float64(len(p.Bars))})
			}
		}
		p.Bars = append(p.Bars, g.Gene)
	}
	return p
}
