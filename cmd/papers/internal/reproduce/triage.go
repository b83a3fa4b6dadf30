package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

// TriageMethods returns the methods of the paper's section 6.
func TriageMethods() []string {
	return []string{methods.SONMF, methods.NMF, methods.ONMF, methods.SemiNMF, methods.SONMFBinary, methods.LogNMF}
}

// TriageSettings say how the tables are made.
type TriageSettings struct {
	Methods []string `json:"methods"`
	Ranks   []int    `json:"ranks"`
	Runs    int      `json:"runs"` // cross-validations that accuracies are averaged over
	Folds   int      `json:"folds"`
	MinDF   int      `json:"min_df"` // least number of visits with a term
	Seed    uint64   `json:"seed"`
	// Version is that of the program, which the numbers depend on.
	Version string `json:"version"`
	// These say which notes Run is given, for the record: they choose none of them.
	Input        []string      `json:"input"`
	Columns      notes.Columns `json:"columns"`
	PerComplaint train.Policy  `json:"per_complaint"`
	MinDocuments int           `json:"min_documents"`
}

// Triage is what Triage.Run does.
type Triage struct {
	TriageSettings
	// Cells is the path of a file of cells, JSON lines, to which each is added as it comes; those that it holds are not
	// computed again. It goes on under the same settings and notes only. "" is none.
	Cells string
	// Progress, when not nil, is told how many of the cross-validations' parts are done. It may be called from several
	// goroutines.
	Progress func(done, total int)
}

// TriageCell is one line of tables 6, 7 and 10 to 15, and one LASSO of table 5 (no rank).
type TriageCell struct {
	Complaint string             `json:"complaint"` // "" for all notes
	Method    train.Method       `json:"method"`
	Weighting textproc.Weighting `json:"weighting"`
	Rank      int                `json:"rank"`
	Documents int                `json:"documents"`
	Positives int                `json:"positives"`
	Terms     int                `json:"terms"`
	// Residual is the mean objective on all notes: ‖X − GFᵀ‖²/(np), or for the binary methods the mean negative
	// log-likelihood. It and the shares of zeros, in percent, are nil for the bag of words.
	Residual       *float64 `json:"residual"`
	SparsityTopics *float64 `json:"sparsity_topics"`
	SparsityScores *float64 `json:"sparsity_scores"`
	Status         string   `json:"status,omitempty"`
	Updates        int      `json:"updates,omitempty"`
	FitSeconds     float64  `json:"fit_seconds,omitempty"` // of that factorization
	Accuracy       float64  `json:"accuracy"`              // of the LASSO on held-out notes, mean of the runs
	AccuracyError  float64  `json:"accuracy_standard_error"`
	AUROC          float64  `json:"auroc"`
	Seconds        float64  `json:"seconds"` // of all of the cell
}

func (t *Triage) check() ([]train.Configuration, error) {
	switch {
	case t.Runs < 1:
		return nil, fmt.Errorf("%w: %d runs", ErrSettings, t.Runs)
	case t.Folds < 2:
		return nil, fmt.Errorf("%w: %d folds", ErrSettings, t.Folds)
	}
	candidates := []train.Configuration{{Method: train.BagOfWords, Weighting: textproc.TFIDF}, {Method: train.BagOfWords, Weighting: textproc.Binary}}
	found, err := train.Configurations(t.Methods, nil, t.Ranks)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		if c.Method == train.BagOfWords || c.Method == train.Majority || c.Method.Supervised() || c.Words {
			return nil, fmt.Errorf("%w: method %q finds no topics of the text alone, or has words beside them; the tables compare topics, and the bag of words stands among them anyway", ErrSettings, c)
		}
	}
	return append(candidates, found...), nil
}

// settings are those of section 6: the LASSO as glmnet runs it by default, on projections X·F or on words, λ of the
// least cross-validated deviance.
func (t *Triage) settings() train.Settings {
	s := train.Default()
	s.Alpha, s.Standardize, s.Seed, s.Text.MinDF = 1, true, t.Seed, t.MinDF
	return s
}

// Run computes the cells of all groups of notes, one after another and each on up to GOMAXPROCS threads. Everything,
// vocabulary and topics included, is trained on the training folds alone; residual and sparsity are those of all notes
// of the group, as in the paper. When ctx ends or a cell fails, the cells before it come with the error.
func (t *Triage) Run(ctx context.Context, groups []train.Group) (_ []TriageCell, err error) {
	candidates, err := t.check()
	if err != nil {
		return nil, err
	}
	file, err := openCells(t.Cells, triageHeader{t.TriageSettings, fingerprint(groups)}, checkTriageCell)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.close()) }()
	progress := t.Progress
	if progress == nil {
		progress = func(int, int) {}
	}
	parts := t.Runs * t.Folds
	total := len(groups) * len(candidates) * parts
	var cells []TriageCell
	for _, g := range groups {
		for _, c := range candidates {
			before := len(cells) * parts
			if known := file.find(func(k *TriageCell) bool {
				return k.Complaint == g.Complaint && k.Method == c.Method && k.Weighting == c.Weighting && k.Rank == c.Rank
			}); known != nil {
				cells = append(cells, *known)
				progress(before+parts, total)
				continue
			}
			cell, err := t.cell(ctx, g, c, func(done, _ int) { progress(before+done, total) })
			if err != nil {
				return cells, fmt.Errorf("%s, %s rows, rank %d: %w", c, c.Weighting, c.Rank, err)
			}
			cells = append(cells, *cell)
			if err := file.add(cell); err != nil {
				return cells, err
			}
		}
	}
	return cells, nil
}

// cell computes one cell.
func (t *Triage) cell(ctx context.Context, g train.Group, c train.Configuration, progress train.Progress) (*TriageCell, error) {
	began := time.Now()
	// Neither auxiliary values nor the complaint: the paper's models read the text alone.
	data := train.Data{Rows: g.Rows}
	whole, err := train.Factorize(ctx, data.Rows, c, t.settings())
	if err != nil {
		return nil, err
	}
	cell := &TriageCell{Complaint: g.Complaint, Method: c.Method, Weighting: c.Weighting, Rank: c.Rank, Documents: whole.Documents, Terms: whole.Terms}
	if r := whole.Result; r != nil {
		topics, scores := sparsity(r.Topics), sparsity(r.Scores)
		cell.Residual, cell.SparsityTopics, cell.SparsityScores = &r.MeanObjective, &topics, &scores
		cell.Status, cell.Updates, cell.FitSeconds = r.Status.String(), r.Iterations, r.Seconds.Init+r.Seconds.Solve
	}
	repeats, err := train.CrossValidation(data.Rows, t.Folds, t.Runs, t.Seed)
	if err != nil {
		return nil, err
	}
	scores, err := train.Evaluate(ctx, data, train.Comparison{Configurations: []train.Configuration{c}, Repeats: repeats, Settings: t.settings(), Progress: progress})
	if err != nil {
		return nil, err
	}
	cell.Positives, cell.Accuracy, cell.AUROC = scores[0].Positives, scores[0].Accuracy, scores[0].AUROC
	cell.AccuracyError = scores[0].AccuracySD / math.Sqrt(float64(t.Runs))
	cell.Seconds = time.Since(began).Seconds()
	return cell, nil
}

// TextTable is a table as it is printed.
type TextTable struct {
	Title  string
	Header []string
	Lines  [][]string
}

// TriageTables lays cells out as the paper does: table 5 over all complaints, then for each one table of the
// continuous and one of the binary methods, as tables 6, 10, 12, 14 and 7, 11, 13, 15.
func TriageTables(cells []TriageCell) []TextTable {
	overview := TextTable{Title: "Notes, words, and the LASSO on them (table 5)", Header: []string{"notes", "documents × words", "discharged %", "LASSO % (tf-idf)", "LASSO % (binary)"}}
	var tables []TextTable
	for len(cells) > 0 {
		complaint := cells[0].Complaint
		end := slices.IndexFunc(cells, func(c TriageCell) bool { return c.Complaint != complaint })
		if end < 0 {
			end = len(cells)
		}
		of := cells[:end]
		cells = cells[end:]
		name := cmp.Or(complaint, "all notes")
		line := []string{name, fmt.Sprintf("%d × %d", of[0].Documents, of[0].Terms), percent(1 - float64(of[0].Positives)/float64(of[0].Documents)), "-", "-"}
		topics := map[textproc.Weighting]*TextTable{
			textproc.TFIDF:  {Title: name + ", tf-idf rows (as tables 6, 10, 12, 14)", Header: []string{"method", "K", "residual", "sparsity % (F, G)", "LASSO %", "AUROC", "fit s"}},
			textproc.Binary: {Title: name + ", binary rows (as tables 7, 11, 13, 15)", Header: []string{"method", "K", "cost", "sparsity % (F, G)", "LASSO %", "AUROC", "fit s"}},
		}
		for _, c := range of {
			if c.Method == train.BagOfWords {
				line[map[textproc.Weighting]int{textproc.TFIDF: 3, textproc.Binary: 4}[c.Weighting]] = c.accuracy()
				continue
			}
			t := topics[c.Weighting]
			t.Lines = append(t.Lines, []string{
				string(c.Method), strconv.Itoa(c.Rank), fmt.Sprintf("%.3g", *c.Residual), fmt.Sprintf("%.2f, %.2f", *c.SparsityTopics, *c.SparsityScores),
				c.accuracy(), fmt.Sprintf("%.4f", c.AUROC), fmt.Sprintf("%.1f", c.FitSeconds),
			})
		}
		overview.Lines = append(overview.Lines, line)
		for _, w := range []textproc.Weighting{textproc.TFIDF, textproc.Binary} {
			if len(topics[w].Lines) > 0 {
				tables = append(tables, *topics[w])
			}
		}
	}
	if overview.Lines == nil {
		return nil
	}
	return append([]TextTable{overview}, tables...)
}

// accuracy returns the accuracy in percent with its standard error, which one run does not have.
func (c *TriageCell) accuracy() string {
	if c.AccuracyError == 0 {
		return percent(c.Accuracy)
	}
	return fmt.Sprintf("%s ± %s", percent(c.Accuracy), percent(c.AccuracyError))
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 2, 64) }
