package waiting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// now is the moment of the lists.
var now = time.Date(2026, 11, 20, 16, 27, 4, 0, time.UTC)

// known is a list, or why there is none.
type known struct {
	list *waitlist.List
	err  error
}

func (k *known) Waiting(context.Context) (*waitlist.List, error) { return k.list, k.err }

// patient is one of visit i, who arrived so many minutes ago.
func patient(i, minutes int, p float64, change ...func(*msg.Prediction, *msg.Note)) *waitlist.Patient {
	prediction, note := webtest.Prediction(), webtest.Note()
	prediction.VisitID, note.Text = fmt.Sprint(webtest.Secret, i), ""
	prediction.Probability, prediction.Decision = p, msg.Discharge
	if p >= prediction.Threshold {
		prediction.Decision = msg.Admit
	}
	note.Site = "North"
	for _, f := range change {
		f(prediction, note)
	}
	v := waitlist.NewVisit(prediction, note, msg.Text(fmt.Sprint("B", i)))
	v.Row, v.Prediction = uint64(i), prediction.AppendJSON(nil)
	return &waitlist.Patient{Visit: v, Arrived: now.Add(-time.Duration(minutes) * time.Minute), Ward: "Medicine"}
}

func abstains(p *msg.Prediction, _ *msg.Note) {
	p.Abstained, p.AbstainReason, p.Evidence = true, "few_known_terms", nil
}

func infant(_ *msg.Prediction, n *msg.Note) { n.Age, n.Site = msg.Some(.58), "South" }

// listOf returns a list of patients, two of them alike but for their arrival.
func listOf(patients ...*waitlist.Patient) *waitlist.List {
	l := waitlist.New(now, patients)
	l.Patience = 24 * time.Hour
	l.Names = waitlist.Names{
		Sites: []string{"North", "South"}, Complaints: []string{"Fall", "Lower Extremity Injury"},
		Wards: []string{"Medicine"},
	}
	return l
}

func serve(t testing.TB, k *known, roles ...httpapi.Role) *webtest.Site {
	t.Helper()
	s := webtest.New(t)
	s.Serve(New(s.Page("/waiting", "Waiting"), k, roles))
	return s
}

func TestPage(t *testing.T) {
	t.Parallel()
	few := []*waitlist.Patient{
		patient(1, 222, .88), patient(2, 12, .71), patient(3, 22, .3, abstains), patient(4, 40, .24, infant),
		patient(5, 370, .53), patient(6, 90, .005),
	}
	s := serve(t, &known{list: listOf(few...)}, httpapi.Operator)
	plain := func(token, path string, form url.Values) string {
		t.Helper()
		status, _, body := s.Ask(token, path, form)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		if strings.Contains(body, webtest.Secret) {
			t.Errorf("%s names a visit, or shows what a note says", path)
		}
		return webtest.Plain(body)
	}
	has := func(what, text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", what, want, text)
			}
		}
	}
	page := plain(webtest.Operator, "/", nil)
	has("the page", page, "6 waiting", "3 likely to be admitted", "1 close call ", "1 not predicted",
		"longest 6 h 10 min",
		"All 6", "Likely admission 3", "Close call 1", "7 mo F · B4 · South", "78 F · B1 · North",
		"3 h 42", "12:45",
		"In by a note, out by an outcome or after 24 hours. Counted 16:27:04 .", "1 to 6 of 6 shown", "Times are UTC.",
		"few known terms", "arrived 12:45", "Medicine", "88 % Lower Extremity Injury , 88 percent")
	if strings.Contains(plain(webtest.Viewer, "/waiting", nil), "B4") {
		t.Error("a viewer sees what only operators may")
	}
	plain(webtest.Viewer, "/waiting", nil) // drawn before
	plain(webtest.Viewer, "/waiting?decision=admit&row=5", nil)
	plain(webtest.Viewer, csvPath, nil)
	for _, want := range []string{
		`"route":"/waiting","status":200,`, `"patients":6,"of":6,"row":1}`, `"patients":3,"of":3,"row":5}`,
		`"patients":6,"of":6}`,
	} {
		has("the audit log", s.Log.String(), want)
	}
	if n := strings.Count(s.Log.String(), `"patients":6,"of":6,"row":1}`); n != 3 {
		t.Errorf("the audit log says %d times of 3 who was seen", n)
	}
	order := func(path string, form url.Values) string {
		t.Helper()
		_, _, body := s.Ask(webtest.Operator, path, form)
		var rows []string
		for _, m := range regexp.MustCompile(`data-row="(\d+)"( aria-current="true")?><bdi>`).
			FindAllStringSubmatch(body,
				-1) {
			rows = append(rows, m[1]+strings.Repeat("*", len(m[2])/20))
		}
		why := regexp.MustCompile(`id="why" data-row="(\d+)"`).FindStringSubmatch(body)
		return strings.Join(rows, " ") + " | " + strings.Join(why[min(1, len(why)):], "")
	}
	for path, want := range map[string]string{
		"/waiting": "1* 2 5 3 4 6 | 1", "/waiting?sort=waited": "5* 1 6 4 3 2 | 5",
		"/waiting?row=4":         "1 2 5 3 4* 6 | 4",
		"/waiting?decision=none": "3* | 3", "/waiting?close=1": "5* | 5", "/waiting?decision=discharge": "4* 6 | 4",
		"/waiting?site=south&row=1": "4 | 1", "/waiting?row=99": "1 2 5 3 4 6 | ", "/waiting?offset=100": " | ",
		"/waiting?complaint=Rare": " | ", "/waiting?row=x": "1 2 5 3 4 6 | ",
	} {
		if got := order(path, nil); got != want {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	for words, want := range map[string]string{
		"7 mo": "4* | 4", "78F": "1* 2 5 3 6 | 1", "b5": "5* | 5", "unable": "1* 2 5 4 6 | 1", webtest.Secret: " | ",
	} {
		if got := order("/waiting", url.Values{"q": {words}}); got != want {
			t.Errorf("searching %q shows %q, want %q", words, got, want)
		}
	}
	sheet := plain(webtest.Operator, "/v1/waiting.csv?site=south", nil)
	if want := "7 mo"; strings.Contains(sheet, want) || strings.Contains(sheet, "B4") {
		t.Errorf("the sheet is written for people, or shows a label:\n%s", sheet)
	}
	_, _, sheet = s.Ask(webtest.Operator, "/v1/waiting.csv?decision=admit&sort=waited", nil)
	if want := "\ufeffArrived,Minutes waited,Complaint,Age,Sex,Acuity,Site,Chance of " +
		"admission,Threshold,Prediction,Close " +
		"call,\"Ward, likely\"\n2026-11-20 10:17,370,"; !strings.HasPrefix(sheet, want) ||
		strings.Count(sheet, "\n") != 4 ||
		!strings.Contains(sheet, ",0.53,0.50,Likely admission,yes,") {
		t.Errorf("the sheet is %q", sheet)
	}
	if _, _, sheet = s.Ask(webtest.Operator, "/v1/waiting.csv",
		url.Values{"q": {"7 mo"}}); strings.Count(sheet, "\n") != 2 {
		t.Errorf("words that were sent find %q", sheet)
	}
	has("the page after a search", plain(webtest.Operator, "/waiting", url.Values{"q": {"7 mo"}}), "CSV for Excel")
	has("a search on the first page", plain(webtest.Operator, "/", url.Values{"q": {"7 mo"}}), "CSV for Excel")
	has("a patient who is gone", plain(webtest.Viewer, "/waiting?row=99", nil), "no longer in the list")
	has("a search for nobody", plain(webtest.Viewer, "/waiting", url.Values{"q": {"nonsense"}}),
		"Nobody who waits matches", "0 waiting of 6")
	has("a discharge", plain(webtest.Viewer, "/waiting?decision=discharge", nil), "Likely discharge 2",
		"1 to 2 of 2 shown")
	_, _, body := s.Ask(webtest.Viewer, "/waiting?complaint=Rare&sort=waited&close=1", nil)
	has("filters", body, `<option value="Rare" selected>Not listed</option>`, "the address asks for a complaint that is not in the menu",
		`<input type="hidden" name="sort" value="waited">`,
		`href="/waiting?complaint=Rare&amp;sort=waited"`, `<input type="hidden" name="close" value="1">`)
	for _, bad := range []string{"sort=x", "decision=perhaps", "close=2", "offset=-1"} {
		if status, _, body := s.Ask(webtest.Viewer, "/waiting?"+bad, nil); status != http.StatusBadRequest ||
			!strings.Contains(body, "Not understood") {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

// TestFurtherRows: a first page has a hundred rows, and leads to all others.
func TestFurtherRows(t *testing.T) {
	t.Parallel()
	var many []*waitlist.Patient
	for i := range 250 {
		many = append(many, patient(1000+i, i, float64(i)/250))
	}
	k := &known{list: listOf(many...)}
	s := serve(t, k)
	seen, path := map[string]bool{}, "/waiting?sort=waited"
	for range 3 {
		_, _, body := s.Ask(webtest.Viewer, path, nil)
		for _, m := range regexp.MustCompile(`<a href="[^"]*" data-row="(\d+)"`).FindAllStringSubmatch(body, -1) {
			seen[m[1]] = true
		}
		next := regexp.MustCompile(`<a href="([^"]*)">next (\d+)<`).FindStringSubmatch(body)
		if len(seen) < 250 && next == nil {
			t.Fatalf("after %d rows there is no next page", len(seen))
		}
		if next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	if len(seen) != 250 {
		t.Errorf("the pages show %d of 250", len(seen))
	}
	k.list = listOf(many[:1]...)
	if _, _, body := s.Ask(webtest.Viewer, "/waiting?sort=waited", nil); !strings.Contains(body, "1 to 1 of 1") {
		t.Error("the page of an earlier list is shown")
	}
}

// TestNoList: why nobody is shown, and that a list is not of now.
func TestNoList(t *testing.T) {
	t.Parallel()
	k := &known{list: listOf()}
	s := serve(t, k)
	for name, c := range map[string]struct {
		err    error
		status int
		want   string
	}{
		"nobody": {nil, http.StatusOK, "Nobody is waiting."},
		"old":    {nil, http.StatusOK, "Counted at 16:27. Who came or left since then is not known"},
		"not whole": {
			fmt.Errorf("x: %w", httpapi.ErrNotWhole), http.StatusServiceUnavailable,
			"The list is not whole yet",
		},
		"failed": {
			errors.New("no broker"), http.StatusServiceUnavailable,
			"cannot be listed now. The log says why.",
		},
	} {
		k.err = c.err
		if status, _, body := s.Ask(webtest.Viewer, "/waiting", nil); status != c.status || !strings.Contains(body,
			c.want) {
			t.Errorf("%s: %d, want %q:\n%s", name, status, c.want, body)
		}
	}
	v := patient(7, 1, .8)
	v.Prediction = nil
	k.list, k.err = listOf(v), nil
	if _, _, body := s.Ask(webtest.Viewer, "/waiting?row=7", nil); !strings.Contains(body, "not kept any more") ||
		!strings.Contains(body, `id="why" data-row="7"`) {
		t.Errorf("a prediction that is not kept:\n%s", body)
	}
}
