package train

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/solver/smf"
)

func (f *Fitted) bundle(d *Data, o *Outcome, s *Settings, job Job) (*bundle.Bundle, error) {
	rows := d.Rows
	f.Info.Method = string(s.Method)
	b := &bundle.Bundle{}
	if err := f.ToBundle(b); err != nil {
		return nil, err
	}
	penalties := bundle.ByRatio
	if f.plain {
		penalties = bundle.Plain
	}
	record := any(struct {
		Settings
		Lambda    float64 `json:"lambda"`
		Features  int     `json:"features"`
		Penalties string  `json:"penalties"` // of words: see choose
	}{*s, f.Lambda, f.Features, penalties})
	if f.Supervised != nil {
		record = supervisedRecord(f.Supervised, s)
	}
	head, err := encoded("settings", record)
	if err != nil {
		return nil, err
	}
	m := &b.Manifest
	m.Name, m.Complaint, m.Seed, m.Head = o.Model, o.Complaint, s.Seed, head
	m.ThresholdRule, m.Parent = string(s.Threshold), f.Parent
	m.CreatedAt, m.Wardcast = job.Created, job.Version
	m.Training.Documents, m.Training.Positives = len(rows), Positives(rows)
	m.Training.From, m.Training.To = period(rows)
	metrics := measured{o.Metrics, o.Classes}
	if m.Metrics, err = encoded("metrics", metrics); err != nil {
		return nil, err
	}
	if f.Solver != nil {
		if m.Solver, err = encoded("solver settings", struct {
			Status     string     `json:"status"`
			Iterations int        `json:"iterations"`
			Objective  float64    `json:"objective"`
			RelTol     float64    `json:"rel_tol"`
			MaxIter    int        `json:"max_iter"`
			Alignment  *Alignment `json:"alignment,omitempty"`
		}{
			Status: f.Solver.Status.String(), Iterations: f.Solver.Iterations, Objective: f.Solver.Objective,
			RelTol: solverRelTol, MaxIter: solverMaxIter, Alignment: f.Alignment,
		}); err != nil {
			return nil, err
		}
	}
	if b.Evaluation, err = f.evaluation(rows, metrics); err != nil {
		return nil, err
	}
	r, err := f.report(b, d, o, &job)
	if err != nil {
		return nil, err
	}
	return b, r.Write(b)
}

type measured struct {
	*eval.Metrics
	Classes *eval.ClassMetrics `json:"classes,omitempty"`
}

func encoded(what string, v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", what, err)
	}
	return data, nil
}

// supervisedRecord returns the settings of a supervised factorization, with the ξ, ν and rank that were chosen.
func supervisedRecord(c *smf.Choice, s *Settings) any {
	chosen := []string{}
	if s.Xi == nil {
		chosen = append(chosen, "xi")
	}
	if s.Ridge == nil {
		chosen = append(chosen, "ridge")
	}
	if len(s.ranks()) > 1 {
		chosen = append(chosen, "rank")
	}
	return struct {
		Method       Method                 `json:"method"`
		Rank         int                    `json:"rank"`
		Xi           float64                `json:"xi"`
		Ridge        float64                `json:"ridge"`
		Chosen       []string               `json:"chosen"` // by cross-validation
		ClassWeights smf.ClassWeights       `json:"class_weights"`
		Standardize  bool                   `json:"standardize"`
		WarmStart    bool                   `json:"warm_start,omitempty"`
		Folds        int                    `json:"folds"`
		Calibration  bundle.CalibrationKind `json:"calibration"`
		Threshold    eval.Criterion         `json:"threshold"`
		PerComplaint Policy                 `json:"per_complaint"`
		MinDocuments int                    `json:"min_documents"`
		MinEvents    int                    `json:"min_events"`
		Seed         uint64                 `json:"seed"`
		Candidates   []smf.Candidate        `json:"candidates"` // that ran on every fold
	}{
		Method: s.Method, Rank: c.Best.Rank, Xi: c.Best.Xi, Ridge: c.Best.Ridge, Chosen: chosen,
		ClassWeights: cmp.Or(s.ClassWeights, smf.Unweighted), Standardize: s.Standardize,
		WarmStart: s.WarmStart, Folds: s.Folds,
		Calibration: s.Calibration, Threshold: s.Threshold, PerComplaint: s.PerComplaint, MinDocuments: s.MinDocuments,
		MinEvents: s.MinEvents, Seed: s.Seed, Candidates: c.Candidates,
	}
}

const calibrationBins = 10 // in evaluation.json

func (f *Fitted) evaluation(rows []Row, metrics measured) (json.RawMessage, error) {
	bins, err := eval.CalibrationBins(labels(rows), f.OutOfFold, calibrationBins)
	if err != nil {
		return nil, fmt.Errorf("drawing the calibration: %w", err)
	}
	return encoded("the evaluation", struct {
		OutOfFold   measured   `json:"out_of_fold"`
		Calibration []eval.Bin `json:"calibration"`
	}{metrics, bins})
}
