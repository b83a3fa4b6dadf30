package responses

import (
	"os/exec"
	"strings"
	"testing"
)

// Scoring in the stream links nothing that only reading, learning, drawing or writing needs.
func TestLinks(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"gonum.org/v1/plot", "flock", "renameio", "wardcast/models\n", "elasticnet", "solver/rank", "questionnaire/answers"} {
		if strings.Contains(string(list), part) {
			t.Errorf("responses links %s", strings.TrimSpace(part))
		}
	}
}
