package app_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
)

// choose writes a model of the instrument mind whose number of factors was chosen by cross-validation.
func (s *site) choose() {
	s.Helper()
	text, err := plantAnswers(1, 300)
	if err != nil {
		s.Fatal(err)
	}
	path := filepath.Join(s.dir, "answers.csv")
	write(s.T, path, text)
	f, err := fit.Fit(s.Context(), fit.Options{
		Input: path, Factors: []int{2, 3, 4, 5, 6}, Betas: []float64{0.1},
		Learning: model.Learning{RelTol: solver.DefaultRelTol, Seed: 1},
		Columns: answers.Columns{
			Items: []string{"*_?"}, Range: &questionnaire.Range{Low: 0, High: synth.QuestionnaireTop},
			Confounds: []questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := folder.Write(s.Context(), s.config.Questionnaires.Models[mind], f); err != nil {
		s.Fatal(err)
	}
}

// TestOperatorPages: Health shows refused models and dead letters, the worst first, and Questionnaires of how a
// model was chosen. Neither shows who answered.
func TestOperatorPages(t *testing.T) {
	t.Parallel()
	if os.Getenv("WARDCAST_CHROMIUM") == "" {
		t.Skip("WARDCAST_CHROMIUM names no Chromium")
	}
	s := newSite(t)
	s.broker()
	s.questionnaires()
	s.choose()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.config.HTTP.Listen, s.options.Listener = listener.Addr().String(), listener
	scorer := s.start().ready()
	b, c := s.newBrowser("http://"+s.config.HTTP.Listen), s.stream()

	c.send(append(notes(t, 0, 50), &kgo.Record{Value: []byte(secret)}, &kgo.Record{Value: []byte("{}")},
		&kgo.Record{Value: []byte(secret)})...)
	c.answers(53)
	var said string
	b.await("the dead letters, which are read after the answers", func() bool {
		b.open("/health")
		said = b.is(`document.querySelector("#health").innerText`)
		return strings.Contains(said, "not_json")
	})
	for _, want := range []string{
		"1 needs attention", "3 dead letters in the last hour",
		"triage.notes.dlq", "Generation in use", "Responses",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("Health lacks %q:\n%s", want, said)
		}
	}
	b.shoot("health-letters")
	b.special("health-letters")
	b.run(chromedp.Click("a[href*=not_json]"))
	b.until(`document.querySelector("form b")`)
	b.shoot("replay")
	b.run(chromedp.SendKeys("#why", "tried once more"), chromedp.Click("form .btn.main"))
	b.until(`location.pathname === "/health" && document.body.innerText.includes("2 notes sent back")`)
	c.answers(55) // they die again

	b.open("/questionnaires?name=" + mind)
	b.shoot("questionnaires")
	b.special("questionnaires")
	b.open("/questionnaires?name=" + mind + "&factor=2")
	if shown := b.is(`[...document.querySelectorAll(".heat thead .num:not(.hide-s)")].map(e => ` +
		`e.textContent).join()`); shown != "Factor 2" {
		t.Errorf("a phone shows %s", shown)
	}
	said = b.is(`document.body.innerText`)
	for _, want := range []string{"The error is lowest with ", "The fewest within one standard error", "300"} {
		if !strings.Contains(said, want) {
			t.Errorf("Questionnaires lacks %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, secret) || strings.Contains(said, "answers.csv") {
		t.Error("Questionnaires shows participants")
	}
	b.mu.Lock()
	if b.wrong != nil {
		t.Errorf("wrong in the browser: %q", b.wrong)
	}
	b.mu.Unlock()
	scorer.stop()
}
