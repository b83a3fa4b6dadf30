package textproc

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// The tables that a model does not save are part of what Tokenizer names.
func TestTablesBelongToTheTokenizer(t *testing.T) {
	t.Parallel()
	tables := sha256.New()
	for _, name := range []string{
		"style.tsv", "common.txt.gz", "english.txt", "dialects.tsv", "words.tsv", "measures.tsv",
	} {
		file := builtinFile(name)
		_, _ = fmt.Fprintf(tables, "%d %s", len(file), file)
	}
	const want = "wardcast-3 8e6338ab2b599762"
	if got := fmt.Sprintf("%s %.8x", Tokenizer, tables.Sum(nil)); got != want {
		t.Errorf("the tables are %q, were %q. Models do not save style.tsv, common.txt.gz, english.txt, "+
			"dialects.tsv, words.tsv and measures.tsv, so that a model trained before would read notes in another "+
			"way. If a version of wardcast with this Tokenizer has been released, give Tokenizer a new name in "+
			"settings.go; in any case, write the new line into this test.", got, want)
	}
}
