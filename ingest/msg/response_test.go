package msg

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const responseText = `{"schema_version":"1","response_id":"R1","participant_id":"P1","instrument":"bfi","answered_at":"2026-11-20T08:01:02Z",
 "answers":{"A1":2,"A2":null,"A3":4.5},"confounds":{"age":16,"sex":"female","education":null}}`

// contractResponse is what responseText says.
func contractResponse() Response {
	return Response{
		SchemaVersion: "1", ResponseID: "R1", ParticipantID: "P1", Instrument: "bfi",
		AnsweredAt: "2026-11-20T08:01:02Z",
		Answers:    []Answer{{"A1", Some(2), false}, {"A2", Optional{}, false}, {"A3", Some(4.5), false}},
		Confounds: []Confound{
			{"age", Number(16), false}, {"sex", Text("female"), false}, {"education", Value{}, false},
		},
	}
}

// responseWith is a response of these fields besides those that are no answers.
func responseWith(fields string) string {
	return `{"schema_version":"1","response_id":"r","instrument":"bfi",` + fields + `}`
}

// sameResponse compares but for whether an empty list is nil.
func sameResponse(want, got Response) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(Value{}), cmpopts.EquateEmpty())
}

func TestDecodeResponse(t *testing.T) {
	t.Parallel()
	with := func(change func(*Response)) Response {
		r := Response{SchemaVersion: "1", ResponseID: "r", Instrument: "bfi", Answers: []Answer{{"A1", Some(2), false}}}
		change(&r)
		return r
	}
	plain := with(func(*Response) {})
	answers := func(a ...Answer) Response { return with(func(r *Response) { r.Answers = a }) }
	confounds := func(c ...Confound) Response { return with(func(r *Response) { r.Confounds = c }) }
	for name, c := range map[string]struct {
		data string
		want Response
	}{
		"contract": {responseText, contractResponse()},
		"smallest": {responseWith(`"answers":{"A1":2}`), plain},
		"other order": {"\t{ \"answers\" : { \"A1\" :\n2 } " +
			",\"instrument\":\"bfi\",\"response_id\":\"r\",\"schema_version\":\"1\"} \n", plain},
		"unknown fields": {responseWith(`"a":{"answers":[{"A1":"x"}]},"answers":{"A1":2},"Answers":[]`), plain},
		"later minor": {`{"schema_version":"1.3","response_id":"r","instrument":"bfi","answers":{"A1":2}}`, with(
			func(r *Response) { r.SchemaVersion = "1.3" })},
		"null is absent": {
			responseWith(`"answers":{"A1":2},"participant_id":null,"answered_at":null,"confounds":null`), plain,
		},
		"one of two": {responseWith(`"answers":{"A1":2,"A2":null}`), answers(Answer{"A1", Some(2), false},
			Answer{"A2", Optional{}, false})},
		"zero is an answer": {
			responseWith(`"answers":{"A1":-0.0e0}`), answers(Answer{"A1", Some(math.Copysign(0, -1)), false}),
		},
		"escaped names": {responseWith(`"answers":{"\u0041\n":2}`), answers(Answer{"A\n", Some(2), false})},
		"odd names": {responseWith(`"answers":{"":2,"schema_version":3}`), answers(Answer{"", Some(2), false},
			Answer{"schema_version", Some(3), false})},
		"longest name": {responseWith(`"answers":{"` + strings.Repeat("A", MaxField) + `":2}`), answers(
			Answer{strings.Repeat("A", MaxField), Some(2), false})},
		"confounds": {
			responseWith(`"answers":{"A1":2},"confounds":{"age":16.5,"sex":"fe\u006dale","site":"","x":null}`),
			confounds(Confound{"age", Number(16.5), false}, Confound{"sex", Text("female"), false},
				Confound{"site", Text(""), false}, Confound{"x", Value{}, false}),
		},
		"no confounds": {responseWith(`"answers":{"A1":2},"confounds":{}`), plain},
		"repeated item": {responseWith(`"answers":{"A1":1,"A1":2}`), answers(Answer{"A1", Some(1), false},
			Answer{"A1", Some(2), false})},
		"answers of no model": {
			responseWith(`"answers":{"A1":2,"a":"` + strings.Repeat("felt ok ", MaxField) +
				`","b":true,"c":[{"A1":3}],"d":{"A1":4},"e":-1e999}`),
			answers(Answer{"A1", Some(2), false}, Answer{"a", Optional{}, true}, Answer{"b", Optional{}, true},
				Answer{"c", Optional{}, true}, Answer{"d", Optional{}, true}, Answer{"e", Optional{}, true}),
		},
		"only mistyped": {responseWith(`"answers":{"A1":"2"}`), answers(Answer{"A1", Optional{}, true})},
		"mistyped, repeated": {responseWith(`"answers":{"A1":"x","A1":2,"A1":[]}`), answers(
			Answer{"A1", Optional{}, true}, Answer{"A1", Some(2), false}, Answer{"A1", Optional{}, true})},
		"confounds of no model": {
			responseWith(`"answers":{"A1":2},"confounds":{"pregnant":true,"visit":{"a":1},"scans":[],"x":1e999}`),
			confounds(Confound{"pregnant", Value{}, true}, Confound{"visit", Value{}, true},
				Confound{"scans", Value{}, true}, Confound{"x", Value{}, true}),
		},
		"long confound": {responseWith(`"answers":{"A1":2},"confounds":{"a":"` + strings.Repeat("x", MaxField+1) +
			`"}`), confounds(Confound{"a", Text(strings.Repeat("x", MaxField+1)), false})},
		"deepest confound": {responseWith(`"answers":{"A1":2},"confounds":{"a":` + strings.Repeat(`[`, 254) +
			strings.Repeat(`]`, 254) + `}`), confounds(Confound{"a", Value{}, true})},
		"last answers hold": {responseWith(`"answers":{"A2":1,"A3":1},"answers":{"A1":2}`), plain},
		"last confounds hold": {
			responseWith(`"answers":{"A1":2},"confounds":{"sex":"male","age":1},"confounds":{"age":2}`),
			confounds(Confound{"age", Number(2), false}),
		},
		"confounds, null": {responseWith(`"answers":{"A1":2},"confounds":{"age":1},"confounds":null`), plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := contractResponse()
			if err := DecodeResponse([]byte(c.data), &got); err != nil {
				t.Fatal(err)
			}
			if d := sameResponse(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeResponseRefuses(t *testing.T) {
	t.Parallel()
	confounds := func(confounds string) string { return responseWith(`"answers":{"A1":2},"confounds":` + confounds) }
	for name, c := range map[string]struct {
		data string
		want Error
	}{
		"empty":                  {"", Error{NotJSON, ""}},
		"array":                  {`["` + secret + `"]`, Error{WrongType, ""}},
		"cut short":              {responseText[:len(responseText)-1], Error{NotJSON, ""}},
		"cut in the answers":     {responseWith(`"answers":{"A1":2,}`), Error{NotJSON, ""}},
		"answer without a value": {responseWith(`"answers":{"A1":}`), Error{NotJSON, ""}},
		"misspelt null":          {responseWith(`"answers":{"A1":nil}`), Error{NotJSON, ""}},
		"not UTF-8 in a name":    {responseWith("\"answers\":{\"\xff\":2}"), Error{InvalidUTF8, ""}},
		"no version": {
			`{"response_id":"r","instrument":"bfi","answers":{"A1":2}}`, Error{MissingField, "schema_version"},
		},
		"major version": {
			`{"schema_version":"2","answers":[]}`, Error{UnknownSchemaVersion, "schema_version"},
		},
		"no response": {
			`{"schema_version":"1","instrument":"bfi","answers":{"A1":2}}`, Error{MissingField, "response_id"},
		},
		"blank response": {
			`{"schema_version":"1","response_id":"\t","instrument":"bfi","answers":{"A1":2}}`,
			Error{MissingField, "response_id"},
		},
		"response is a number": {
			`{"schema_version":"1","response_id":7,"instrument":"bfi","answers":{"A1":2}}`,
			Error{WrongType, "response_id"},
		},
		"no instrument": {
			`{"schema_version":"1","response_id":"r","answers":{"A1":2}}`, Error{MissingField, "instrument"},
		},
		"instrument is a list": {
			`{"schema_version":"1","response_id":"r","instrument":["bfi"],"answers":{"A1":2}}`,
			Error{WrongType, "instrument"},
		},
		"long instrument": {`{"schema_version":"1","response_id":"r","instrument":"` + strings.Repeat("x",
			MaxField+1) + `","answers":{"A1":2}}`, Error{TooLarge, "instrument"}},
		"participant is a number": {
			responseWith(`"participant_id":7,"answers":{"A1":2}`), Error{WrongType, "participant_id"},
		},
		"time is a number": {
			responseWith(`"answered_at":7,"answers":{"A1":2}`), Error{WrongType, "answered_at"},
		},
		"no answers":              {responseWith(`"confounds":{}`), Error{MissingField, "answers"}},
		"null for answers":        {responseWith(`"answers":null`), Error{MissingField, "answers"}},
		"answers, then null":      {responseWith(`"answers":{"A1":2},"answers":null`), Error{MissingField, "answers"}},
		"answers are empty":       {responseWith(`"answers":{}`), Error{NoAnswers, "answers"}},
		"answers are all missing": {responseWith(`"answers":{"A1":null,"A2":null}`), Error{NoAnswers, "answers"}},
		"answers, then none": {
			responseWith(`"answers":{"A1":2},"answers":{"A1":null}`), Error{NoAnswers, "answers"},
		},
		"answers are a list": {responseWith(`"answers":[2,3]`), Error{WrongType, "answers"}},
		"cut in a list":      {responseWith(`"answers":{"A1":[2,}`), Error{NotJSON, ""}},
		"deep confound": {
			confounds(`{"a":` + strings.Repeat(`[`, 255) + strings.Repeat(`]`, 255) + `}`), Error{NotJSON, ""},
		},
		"deep answer": {
			responseWith(`"answers":{"A1":` + strings.Repeat(`{"a":`, 100000)), Error{NotJSON, ""},
		},
		"endless name of an item": {
			responseWith(`"answers":{"` + strings.Repeat(secret, MaxField) + `":2}`), Error{TooLarge, "answers"},
		},
		"confounds are a list": {confounds(`[16]`), Error{WrongType, "confounds"}},
		"endless name": {
			confounds(`{"` + strings.Repeat(secret, MaxField) + `":1}`), Error{TooLarge, "confounds"},
		},
		"first of two": {responseWith(`"confounds":7,"answers":[]`), Error{WrongType, "confounds"}},
		"type before size": {
			responseWith(`"participant_id":"` + strings.Repeat("x", MaxField+1) + `","answers":[]`),
			Error{WrongType, "answers"},
		},
		"size before absence": {
			`{"schema_version":"1","participant_id":"` + strings.Repeat("x", MaxField+1) + `"}`,
			Error{TooLarge, "participant_id"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Response
			err := DecodeResponse([]byte(c.data), &r)
			var got *Error
			if !errors.As(err, &got) || *got != c.want {
				t.Fatalf("got %v, want %v", err, &c.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the message: %v", err)
			}
		})
	}
}

// TestRepeatedAnswers: whatever two values an answer has, it is what the last
// alone says; in a note, where every number is used, both must be of the type.
func TestRepeatedAnswers(t *testing.T) {
	t.Parallel()
	values := []string{`1`, `2.5`, `null`, `"x"`, `1e999`}
	for _, first := range values {
		for _, last := range values {
			var r Response
			if err := DecodeResponse(
				[]byte(responseWith(fmt.Sprintf(`"answers":{"A0":0,"hr":%s,"hr":%s}`, first, last))), &r); err != nil {
				t.Fatal(err)
			}
			got := r.Answers[len(r.Answers)-1]
			var n Note
			err := DecodeNote(
				fmt.Appendf(nil, `{"schema_version":"1","visit_id":"v","text":"x","vitals":{"hr":%s}}`, last), &n)
			if want := (Answer{"hr", n.Vitals.HR, err != nil}); got != want {
				t.Errorf("%s, %s: got %v, in a note %v", first, last, got, want)
			}
			twice := DecodeNote(fmt.Appendf(nil,
				`{"schema_version":"1","visit_id":"v","text":"x","vitals":{"hr":%s,"hr":%s}}`, first, last), &n)
			if wrong := r.Answers[1].Mistyped || r.Answers[2].Mistyped; wrong != (twice != nil) {
				t.Errorf("%s, %s: in a note %v", first, last, twice)
			}
		}
	}
}

// TestDecodeResponseKeepsNothing decodes a short response after a long one:
// nothing but storage is left of the long one.
func TestDecodeResponseKeepsNothing(t *testing.T) {
	t.Parallel()
	var r Response
	decode := func(data string) {
		t.Helper()
		if err := DecodeResponse([]byte(data), &r); err != nil {
			t.Fatal(err)
		}
	}
	decode(responseText)
	answers, confounds := &r.Answers[0], &r.Confounds[0]
	decode(responseWith(`"answers":{"x":1,"y":2},"answers":{"A1":2}`))
	if &r.Answers[0] != answers || &r.Confounds[:1][0] != confounds {
		t.Error("the storage is another")
	}
	for i, a := range r.Answers[:cap(r.Answers)] {
		if i > 0 && a != (Answer{}) {
			t.Errorf("answer %d is left: %v", i, a)
		}
	}
	for i, c := range r.Confounds[:cap(r.Confounds)] {
		if c != (Confound{}) {
			t.Errorf("confound %d is left: %v", i, c)
		}
	}
}

func TestDecodeResponseAllocatesOnce(t *testing.T) {
	data := []byte(longResponse(t, 100))
	var r Response
	// The copy of the message, as of a note.
	if got := testing.AllocsPerRun(100, func() {
		if err := DecodeResponse(data, &r); err != nil {
			t.Fatal(err)
		}
	}); got != 1 {
		t.Errorf("%v allocations", got)
	}
}

// longResponse answers so many items.
func longResponse(t interface{ Fatal(...any) }, items int) string {
	r := contractResponse()
	r.Answers = nil
	for i := range items {
		r.Answers = append(r.Answers, Answer{fmt.Sprintf("Q%d", i+1), Optional{float64(i % 5), i%7 != 6}, false})
	}
	return encode(t, &r)
}

// plainResponse is a Response to encoding/json, which reads and writes the
// object of answers as a map. A value of another type is an empty object.
type plainResponse struct {
	SchemaVersion string         `json:"schema_version"`
	ResponseID    string         `json:"response_id"`
	ParticipantID string         `json:"participant_id,omitempty"`
	Instrument    string         `json:"instrument"`
	AnsweredAt    string         `json:"answered_at,omitempty"`
	Answers       map[string]any `json:"answers"`
	Confounds     map[string]any `json:"confounds,omitempty"`
}

// plainOf returns the response as maps, in which the last of a name holds.
func plainOf(r *Response) plainResponse {
	p := plainResponse{
		SchemaVersion: r.SchemaVersion, ResponseID: r.ResponseID, ParticipantID: r.ParticipantID,
		Instrument: r.Instrument, AnsweredAt: r.AnsweredAt, Answers: map[string]any{}, Confounds: map[string]any{},
	}
	for _, a := range r.Answers {
		p.Answers[a.Item] = nil
		switch {
		case a.Mistyped:
			p.Answers[a.Item] = map[string]any{}
		case a.Value.Set:
			p.Answers[a.Item] = a.Value.Value
		}
	}
	for _, c := range r.Confounds {
		p.Confounds[c.Name] = nil
		if c.Mistyped {
			p.Confounds[c.Name] = map[string]any{}
		} else if v, ok := c.Value.Number(); ok {
			p.Confounds[c.Name] = v
		} else if v, ok := c.Value.Text(); ok {
			p.Confounds[c.Name] = v
		}
	}
	return p
}

// encode returns the response as JSON, the last of a name alone.
func encode(t interface{ Fatal(...any) }, r *Response) string { return reencode(t, plainOf(r)) }

// responseGen draws responses whose names are in order, as encode writes them.
func responseGen() *rapid.Generator[Response] {
	return rapid.Custom(func(t *rapid.T) Response {
		str := func() string { return rapid.String().Draw(t, "string") }
		num := func() float64 { return finite().Draw(t, "number") }
		r := Response{
			SchemaVersion: rapid.SampledFrom([]string{"1", "1.0", "1.42"}).Draw(t, "version"), ResponseID: "r" + str(),
			ParticipantID: str(),
			Instrument:    "i" + str(), AnsweredAt: str(), Answers: []Answer{{str(), Some(num()), false}},
		}
		for range rapid.IntRange(0, 5).Draw(t, "answers") {
			a := rapid.SampledFrom([]Answer{{}, {Value: Some(num())}, {Mistyped: true}}).Draw(t, "answer")
			a.Item = str()
			r.Answers = append(r.Answers, a)
		}
		for range rapid.IntRange(0, 3).Draw(t, "confounds") {
			c := rapid.SampledFrom([]Confound{{}, {Value: Number(num())}, {Value: Text(str())}, {Mistyped: true}}).
				Draw(t, "confound")
			c.Name = str()
			r.Confounds = append(r.Confounds, c)
		}
		slices.SortFunc(r.Answers, func(a, b Answer) int { return strings.Compare(a.Item, b.Item) })
		r.Answers = slices.CompactFunc(r.Answers, func(a, b Answer) bool { return a.Item == b.Item })
		slices.SortFunc(r.Confounds, func(a, b Confound) int { return strings.Compare(a.Name, b.Name) })
		r.Confounds = slices.CompactFunc(r.Confounds, func(a, b Confound) bool { return a.Name == b.Name })
		return r
	})
}

func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := responseGen().Draw(t, "response")
		data := encode(t, &want)
		got := contractResponse()
		if err := DecodeResponse([]byte(data), &got); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if d := sameResponse(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzDecodeResponse(f *testing.F) {
	for _, s := range []string{
		responseText, longResponse(f, 30), ``, `{}`, `[]`, `null`, responseWith(`"answers":{}`),
		responseWith(`"answers":{"A1":1,"A1":null,"\ud83e":-0}`),
		responseWith(`"answers":{"A1":"4","A2":1e999,"A3":[{"a":{}}]},"confounds":{"a":[{}],"b":true,"c":-1e999}`),
		responseWith(`"answers":{"A1":"4","A1":1,"A2":1,"A2":{}},"confounds":{"a":1,"a":[],"b":[],"b":"x"}`),
		responseWith(`"answers":{"A1":1e999}`),
		responseWith(`"answers":{"a":1},"answers":{"b":2},"confounds":{"a":"\ud83e\uddb4\u0000"},"confounds":null`),
		`{"schema_version":"2","response_id":7}`, "{\"answers\":{\"\xff\":1}}",
		responseWith(`"answers":` + strings.Repeat(`{"a":`, 300)),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Response
		if err := DecodeResponse(data, &r); err != nil {
			checkRefusal(t, data, err)
			return
		}
		// By way of a map, which unlike a struct matches names exactly.
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		p := plainOf(&r)
		if d := cmp.Diff(plainValues(t, fields["answers"], false), p.Answers); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(plainValues(t, fields["confounds"], true), p.Confounds); d != "" {
			t.Error(d)
		}
		text := []byte(encode(t, &r))
		for _, problem := range validate(t, Schema("response"), text) {
			t.Error(problem)
		}
		again := contractResponse()
		if err := DecodeResponse(text, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, plainOf(&again), cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}

// plainValues returns the values of a JSON object as encoding/json reads them, in the form of plainResponse.
func plainValues(t *testing.T, object []byte, text bool) map[string]any {
	t.Helper()
	values := map[string]any{}
	if object == nil {
		return values
	}
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	var read map[string]any
	if err := dec.Decode(&read); err != nil {
		t.Fatal(err)
	}
	for name, v := range read {
		values[name] = map[string]any{}
		switch v := v.(type) {
		case nil:
			values[name] = nil
		case json.Number:
			if f, err := v.Float64(); err == nil {
				values[name] = f
			}
		case string:
			if text {
				values[name] = v
			}
		}
	}
	return values
}
