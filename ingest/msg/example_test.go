package msg_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/ingest/msg"
)

func ExampleDecodeNote() {
	var n msg.Note
	err := msg.DecodeNote([]byte(`{"schema_version":"1","visit_id":"V1","text":"78F glf, L hip pain","age":78}`), &n)
	fmt.Println(n.Text, n.Age.Value, n.Acuity.Set, err)

	err = msg.DecodeNote([]byte(`{"schema_version":"1","visit_id":"V1","text":["L hip pain"]}`), &n)
	if refused, ok := errors.AsType[*msg.Error](err); ok {
		fmt.Println(refused.Reason, refused.Field)
	}
	// Output:
	// 78F glf, L hip pain 78 false <nil>
	// wrong_type text
}

func ExamplePrediction_AppendJSON() {
	p := msg.Prediction{
		VisitID: "V1", Probability: 0.75, Threshold: 0.5, Decision: msg.Admit,
		Aux: []msg.Aux{{Name: "age", Value: msg.Number(78), Contribution: msg.Round(2.0 / 3)}},
	}
	_, rest, _ := bytes.Cut(p.AppendJSON(nil), []byte(`"intercept":0,`))
	fmt.Printf("%s\n", rest)
	// Output:
	// "topics":[],"aux":[{"name":"age","value":78,"contribution":0.666666666667}],"evidence":[],"warnings":[],"known_term_share":0,"abstained":false,"abstain_reason":""}
}

func ExampleDecodeResponse() {
	var r msg.Response
	err := msg.DecodeResponse([]byte(`{"schema_version":"1","response_id":"R1","instrument":"bfi","answers":{"A1":2,`+
		`"A2":null,"comment":"often"},"confounds":{"age":16}}`), &r)
	for _, a := range r.Answers {
		fmt.Println(a.Item, a.Value.Value, a.Value.Set, a.Mistyped)
	}
	fmt.Println(err)

	err = msg.DecodeResponse([]byte(`{"schema_version":"1","response_id":"R1","instrument":"bfi","answers":["often"]}`),
		&r)
	fmt.Println(err)
	// Output:
	// A1 2 true false
	// A2 0 false false
	// comment 0 false true
	// <nil>
	// wrong_type: answers
}
