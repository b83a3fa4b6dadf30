package train_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/models/train"
)

// A model of notes in which chest pain is admitted and a sprain is not.
func ExampleTrain() {
	var rows []train.Row
	for i := range 200 {
		row := train.Row{
			Visit: fmt.Sprint("V", i), Complaint: "pain",
			Text: "chest pain since morning, short of breath", Positive: true,
		}
		if i%2 == 1 {
			row.Text, row.Positive = "ankle sprain playing football, walks well", false
		}
		rows = append(rows, row)
	}
	settings := train.Default()
	settings.Rank, settings.Folds, settings.PerComplaint = 2, 3, train.Never
	trained, err := train.Train(context.Background(), train.Data{Rows: rows}, settings,
		train.Job{Created: time.Now(), Version: "1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	o := trained.Outcomes[0]
	fmt.Printf("%d notes, %d admitted, %d model\n", o.Documents, o.Positives, len(trained.Bundles))
	// Output: 200 notes, 100 admitted, 1 model
}
