package questionnaire

// Evaluation is the outcome of Evaluate.
type Evaluation struct {
	Factors      int      `json:"factors"`
	Beta         float64  `json:"beta"`
	Participants int      `json:"participants"`
	Repeats      int      `json:"repeats"`
	HeldOut      float64  `json:"held_out"`
	Labels       []string `json:"labels"`
	Shares       []Share  `json:"shares"`
}

// Share is the outcome of training on a share of the participants.
type Share struct {
	Share        float64   `json:"train_share"`
	Participants int       `json:"participants"`
	Stability    Measure   `json:"stability"`
	AUROC        []Measure `json:"auroc"` // in the order of the labels
}

// Measure is the mean over repeats and their standard deviation.
type Measure struct {
	Count     int     `json:"count"` // of repeats where it is defined
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"standard_deviation"`
}
