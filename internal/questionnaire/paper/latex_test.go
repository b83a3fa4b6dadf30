//go:build latex

package paper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// A table of texts full of markup, of signs that pdfLaTeX lacks and of spaces of all kinds compiles, and no line is too
// wide:
//
//	go test -tags latex ./internal/questionnaire/paper
//
// It needs pdflatex with the packages of Debian's texlive-latex-base and texlive-latex-recommended.
func TestLaTeXCompiles(t *testing.T) {
	t.Parallel()
	texts := []string{
		`50 % & $5, #1_a ~ ^ {x} \y < > | "q" 'q'`, "[first", "*first", "?` !` `q` -- ,, << >>",
		`\input{x} % no comment`, "", "Größe ÄÖÜ ß é ñ ç ø Łódź Škoda đ þ",
		"„q“ “q” ‘q’ «q» – — … • ½ ² ° µ € £ §", "≤ ≥ ≠ ≈ − ± × ÷ ℓ", "tab\tnewline\nreturn\rfeed\f\v\x00",
		"a\u0308 composed", "\u00a0\u2009\u202f\u200b\u2028spaces",
	}
	const factors = 5
	m := &model.Model{Summary: model.Summary{Method: model.MethodL1, Factors: factors, Participants: 12}}
	m.ICQF.Loadings = mat.NewDense(10*len(texts), factors, nil)
	for j := range 10 * len(texts) {
		m.Items = append(m.Items,
			questionnaire.Item{Name: "q_" + strconv.Itoa(j+1), Text: texts[j%len(texts)], Reversed: j%2 == 0})
		m.ICQF.Loadings.Set(j, j%factors, float64(1+j%7)/7)
		m.ICQF.Loadings.Set(j, (j+1)%factors, -.5)
	}
	dir := t.TempDir()
	page := "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{array,booktabs,longtable}\n" +
		"\\begin{document}\n" + string(LoadingsToPrint(m, 0).LaTeX()) + "\\end{document}\n"
	if err := os.WriteFile(filepath.Join(dir, "page.tex"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []byte
	for range 3 { // until the widths of the columns are known
		c := exec.CommandContext(t.Context(), "pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex")
		c.Dir = dir
		var err error
		if said, err = c.Output(); err != nil {
			t.Fatalf("%v:\n%s", err, said)
		}
	}
	if strings.Contains(string(said), "Overfull") {
		t.Errorf("%s", said)
	}
}
