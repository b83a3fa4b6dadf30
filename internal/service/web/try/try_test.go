package try

import (
	"net/url"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

func TestPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	_, _, set := webtest.Store(t)
	s.Serve(New(s.Page("/try", "Try a note"), func() *scoring.Set { return set }, classifier.Options{}))
	try := func(status int, has string, form ...string) webtest.Case {
		values := url.Values{}
		for i := 0; i < len(form); i += 2 {
			values.Set(form[i], form[i+1])
		}
		return webtest.Case{Path: "/try", Form: values, Status: status, Has: has}
	}
	s.Check(map[string]webtest.Case{
		"empty":           {Path: "/try", Status: 200, Has: "Nothing to predict yet."},
		"a note":          try(200, "Why ", "text", "hip pain", "age", "78"),
		"after a word":    try(200, "After “hip” it rose from 62 % to 78 %.", "text", "pain hip"),
		"what it was":     try(200, "<td>denied</td>", "text", "no hip pain"),
		"the example":     try(200, `value="138/74"`, "example", "1"),
		"a decimal comma": try(200, "Why 78 %", "text", "hip", "temp_c", "36,8"),
		"an age too high": try(200, "Age is out of range and was left out.", "text", "hip pain", "age", "999"),
		"Fahrenheit": try(400, "Is that Fahrenheit? In degrees Celsius it is 38.0.", "text", "hip",
			"temp_c", "100.4"),
		"all complaints":    try(200, "Model All complaints · ", "text", "hip"),
		"an unknown note":   try(200, "Not predicted", "text", webtest.Secret),
		"nonsense":          try(400, "such as 138/74", "text", webtest.Secret, "bp", webtest.Secret),
		"half a pressure":   try(400, "such as 138/74", "text", "hip", "bp", "138"),
		"no number":         try(400, "Write degrees, such as 36.8.", "text", "hip", "temp_c", "inf"),
		"too long a note":   try(400, "longer than 64 KiB", "text", strings.Repeat("x ", 33<<10)),
		"too long a reason": try(400, "longer than 200 characters", "complaint", strings.Repeat("x", 201)),
		"too much":          try(400, "too large", "text", strings.Repeat("x", maxForm)),
	})
}

// TestSiteFields: what a site records is read as from a message, with a decimal comma too, and has its limit.
func TestSiteFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]msg.Value{
		"7,5": msg.Number(7.5), "01": msg.Text("01"), "on foot, alone": msg.Text("on foot, alone"),
	} {
		data := view{Errors: map[string]string{}, Fields: []field{{Name: "fields.pain", Value: text}}}
		if got := data.note().Value("pain"); got != want || len(data.Errors) > 0 {
			t.Errorf("%q is %+v, errors %v", text, got, data.Errors)
		}
	}
	long := view{
		Errors: map[string]string{}, Fields: []field{{Name: "fields.pain", Value: strings.Repeat("x", msg.MaxField+1)}},
	}
	if long.note(); len(long.Errors) != 1 {
		t.Errorf("too long: errors %v", long.Errors)
	}
}
