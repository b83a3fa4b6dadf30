package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/hl7/mllp"
)

// validate prints the files that hl7apy finds invalid, and ends with an error then.
const validate = `
import sys
from hl7apy.consts import VALIDATION_LEVEL
from hl7apy.parser import parse_message
wrong = []
for name in sys.argv[1:]:
    text = open(name, newline="").read().replace("\n", "\r")
    try:
        parse_message(text, validation_level=VALIDATION_LEVEL.STRICT, find_groups=True).validate()
    except Exception as e:
        wrong.append(f"{name}: {e!r}")
sys.exit("\n".join(wrong) or None)
`

// TestForeign sends with a program that nobody here wrote, and has another one judge what the bridge sends: mllp_send
// of PyPI's hl7, and hl7apy. WARDCAST_HL7 is the folder of both, and of the python that has them.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WARDCAST_HL7")
	if dir == "" {
		t.Skip("WARDCAST_HL7 is not set: no other programs for HL7 v2")
	}
	run := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, program), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	h := newHospital(t)
	h.broker()
	h.start(nil)
	file := filepath.Join(t.TempDir(), "adt.hl7")
	message := adt("A04", "K1", "V1", text+fall)
	if err := os.WriteFile(file, mllp.Frame(nil, []byte(message)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(h.config.Bridge.MLLP.Listen, ":")
	if got := run("mllp_send", "-p", port, "-f", file, "127.0.0.1"); !strings.Contains(got, "MSA|AA|K1") {
		t.Errorf("mllp_send prints %q", got)
	}
	answers, err := filepath.Glob("../testdata/answers/*.hl7")
	if err != nil || len(answers) == 0 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	run("python", append([]string{"-c", validate}, answers...)...)
	broken := filepath.Join(t.TempDir(), "broken.hl7")
	data, err := os.ReadFile(answers[0])
	if err == nil {
		err = os.WriteFile(broken, []byte(strings.Replace(string(data), "OBR|", "OBQ|", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if exec.CommandContext(t.Context(), filepath.Join(dir, "python"), "-c", validate, broken).Run() == nil {
		t.Error("hl7apy finds nothing wrong with an answer without OBR")
	}
}
