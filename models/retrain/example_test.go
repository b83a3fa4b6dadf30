package retrain_test

import (
	"context"
	"fmt"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/retrain"
)

// A visit is admitted, another one is discharged, and a third admission is withdrawn. Outcomes and notes are at hand
// here; Files and package internal/service/replay read them from files and from Kafka.
func ExampleCollect() {
	source := &memory{
		outcomes: []retrain.Message{
			outcomeOf(1, 5, msg.Admitted), outcomeOf(2, 6, msg.Discharged), outcomeOf(3, 7, msg.Admitted),
			outcomeOf(3, 7, msg.Admitted, status(msg.Cancelled), recordedAt(9)), outcomeOf(4, 8, msg.Admitted),
			outcomeOf(5, 9, msg.Left),
		},
		notes: []retrain.Message{noteOf(1, 1), noteOf(2, 2), noteOf(3, 3), noteOf(4, 4), noteOf(5, 5)},
	}
	past, err := retrain.Collect(context.Background(), source, retrain.Settings{MinDocuments: 2, MinEvents: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range past.Rows {
		fmt.Println(r.Visit, r.Positive)
	}
	fmt.Println(past.Counts.Excluded, "train", past.Counts.Split.Train, "judge", past.Counts.Split.Judge)
	// Output:
	// v0001 true
	// v0002 false
	// v0004 true
	// v0005 false
	// map[cancelled:1] train 3 judge 1
}
