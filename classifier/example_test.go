package classifier_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

func ExampleModel_Scorer() {
	settings := textproc.DefaultSettings()
	vectorizer, err := textproc.New(settings,
		[]textproc.Term{{Text: "hip"}, {Text: "rotat", Surface: []string{"rotated"}}, {Text: "wound"}},
		[]float64{1, 1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := classifier.New(classifier.Parts{
		Vectorizer:  vectorizer,
		Topics:      mat.NewDense(3, 2, []float64{0.8, 0, 0.6, 0, 0, 1}),
		Aux:         []bundle.AuxColumn{{Name: "age", Kind: bundle.Numeric, Mean: []float64{50}}},
		Heads:       []classifier.Head{{Beta: []float64{2, -1}, Gamma: []float64{0.02}, Intercept: -1}},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
		Threshold:   0.5,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var p msg.Prediction
	model.Scorer(classifier.Options{}).Score("hip rotated", []msg.Value{msg.Number(80)}, &p)
	fmt.Printf("%s at %.2f, logit %.2f = %.2f", p.Decision, p.Probability, p.Logit, p.Intercept)
	for _, t := range p.Topics {
		fmt.Printf(" + %.2f for %q", t.Contribution, t.Label)
	}
	for _, a := range p.Aux {
		fmt.Printf(" + %.2f for %s", a.Contribution, a.Name)
	}
	fmt.Println()
	// Output: admit at 0.83, logit 1.58 = -1.00 + 1.98 for "hip, rotated" + 0.60 for age
}
