package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/table/tabletest"
)

// Commands that read a file, the file of the served version that it becomes if there is one, and how files begin.
const (
	predicts   = "predict --model-dir STORE --input FILE --out DIR/out.jsonl"
	trains     = "train --model-dir DIR/new --input FILE"
	asks       = "predict --model-dir STORE --text fell"
	factorizes = "factorize --method nmf --rank 2 --out DIR/out --input FILE"
	counts     = "questionnaire items FILE --items q*"
	fits       = "questionnaire fit FILE --items q* --factors 1 --out DIR/out --method "
	describes  = "questionnaire items ANSWERS --codebook FILE"
	confirms   = "questionnaire cfa ANSWERS --model FILE"
	configures = "check-config FILE"
	conceives  = "tokens --text fell --concepts FILE"
	checks     = "bridge check --message FILE"
	exports    = "bulk --config CONFIG --out DIR/out --folder DIR/in"

	mshLine = "MSH|^~\\&|A|B|C|D|20261120080000||ADT^A04^ADT_A01|1|P|2.5.1\r"
	pv1Line = "PV1|1|E|ED||||||||||||||||V1|||||||||||||||||||||||||20261120080000\r"
	mtxHead = "%%MatrixMarket matrix coordinate real general\n"
	redcap  = "Variable / Field Name,Form Name,Section Header,Field Type,Field Label," +
		"\"Choices, Calculations, OR Slider Labels\"\nanxiety_1,f,,"
	surfaces = "concept\tsurfaces\tkind\tnote\n"
	bundleOf = `{"resourceType":"Bundle","type":"transaction","entry":[`
)

// bombs are the hostile files.
func bombs() []bomb {
	with := func(args, name, what string, parts ...part) bomb {
		return bomb{args: args, name: name, what: what, parts: parts}
	}
	html := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("<i>", 900_000)))
	qualtrics := `"{""ImportId"":""startDate""}","{""ImportId"":""status""}","{""ImportId"":""QID1""}",` +
		"\"{\"\"ImportId\"\":\"\"QID2\"\"}\"\n1,0,1,2\n"
	answers := many("1,2,3\n2,1,3\n3,3,1\n", 20)
	all := []bomb{
		with(predicts, "tabs.tsv.gz", "16 million columns", once("text"), many("\t", 16*mebi), once("\nx\n")),
		with(predicts, "bytes.csv", "a note of 15 MiB that is not UTF-8", once("text\n"), many("\xff", 15*mebi)),
		with(predicts, "words.csv", "a note of 15 MiB", once("text\n"), many("hip ", 15*mebi/4)),
		with(predicts, "quotes.csv", "7 million quotation marks", once("text\n\""), many("\"\"", 7*mebi), once("\"\n")),
		with(predicts, "rows.csv.gz", "5 million rows", once("text\n"), many("x\n", 5*mebi)),
		with(predicts, "rows.jsonl.zst", "3 million rows", many("{\"text\":\"\"}\n", 3*mebi)),
		{args: predicts, name: "members.csv.gz", what: "a million empty members of gzip", make: members},
		with(predicts, "keys.jsonl", "the same key a million times", once("{"), many(`"text":"fell",`, mebi),
			once(`"age":1}`)),
		with(predicts, "names.jsonl.gz", "a million rows with a field of their own",
			numbered("{\"text\":\"fell\",\"n#\":1}\n", mebi)),
		with(predicts, "deep.jsonl", "15 million nested lists", once(`{"text":"fell","more":`), many("[", 15*mebi)),
		with(predicts, "digits.jsonl", "an age of 15 million digits", once(`{"text":"fell","age":1`),
			many("0", 15*mebi), once("}\n")),
		with(predicts, "exponent.jsonl", "ages of 1e999999999", many(`{"text":"fell","age":1e999999999}`+"\n", 1024)),
		with(predicts, "escapes.jsonl", "a note of 2.6 million escapes", once(`{"text":"`),
			many(`\u0000`, 15*mebi/6), once("\"}\n")),
		with(predicts,
			"array.json", "a list of 2 million notes", once("["), many(`{"text":"x"},`, 2*mebi), once("{}]")),
		with(predicts,
			"complaints.csv", "300,000 complaints", once("complaint,text\n"), numbered("c#,fell\n", 300_000)),
		with(trains, "labels.csv", "300,000 labels", once("text,label\n"), numbered("fell,l#\n", 300_000)),
		with(trains+" --classes auto --method smf-w", "classes.csv", "a million classes", once("text,label\n"),
			numbered("fell,l#\n", mebi)),
		with(trains, "train.csv.gz", "5 million rows of two notes", once("text,label\n"), many("x,1\ny,0\n", 5*mebi/2)),

		with(factorizes, "rows.mtx", "2 billion rows, one entry", once(mtxHead+"2000000000 1 1\n1 1 1\n")),
		with(factorizes, "columns.mtx", "2 billion columns, one entry", once(mtxHead+"1 2000000000 1\n1 1 1\n")),
		with(factorizes, "square.mtx", "300,000 rows and columns, one entry",
			once(mtxHead+"300000 300000 1\n1 1 1\n")),
		with(factorizes, "comment.mtx.gz", "a comment of 256 MiB", once(mtxHead+"%"), many("x", 256*mebi)),
		with(factorizes,
			"digits.mtx", "a size of 15 million digits", once(mtxHead), many("9", 15*mebi), once(" 1 1\n")),
		with(factorizes, "wide.csv", "20,000 columns of zeros", many("0,", 20000), once("1\n"), many("0,", 20000),
			once("2\n")),
		with(factorizes, "header.npy", "a header of 4 GiB", once("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
			many("(", 15*mebi)),
		with(factorizes, "shape.npy", "2^62 times 4 entries", once("\x93NUMPY\x01\x00\x76\x00"+fmt.Sprintf("%-117s\n",
			"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"))),
		with("factorize --method smf-w --rank 1 --out DIR/out --input MATRIX --labels FILE", "labels.csv",
			"a label of 1,999,999,999", once("0\n1\n0\n1999999999\n")),

		with(counts, "answer.csv", "an answer of 2 billion", once("q1,q2,q3\n"), answers, once("2000000000,1,2\n")),
		with(fits+"grm", "graded.csv", "the same", once("q1,q2,q3\n"), answers, once("2000000000,1,2\n")),
		with(fits+"fa --correlation polychoric", "polychoric.csv", "the same", once("q1,q2,q3\n"), answers,
			once("2000000000,1,2\n")),
		with(counts, "items.csv", "99,999 items", once("q"), numbered(",q#", 99_998), once("\n"),
			many("1"+strings.Repeat(",2", 99_998)+"\n", 10)),
		with(counts, "people.csv.gz", "5 million participants", once("q1,q2,q3\n"), many("1,2,3\n3,2,2\n", 5*mebi/2)),
		with(counts, "sparse.jsonl", "90,000 items, one for each participant", numbered("{\"q#\":1}\n", 90_000)),
		with(counts, "qualtrics.csv", "Qualtrics: a question of 15 MiB",
			once("StartDate,Status,q1,q2\nStart Date,Response Type,\""), many("text ", 3*mebi),
			once("\",b\n"+qualtrics)),
		with(counts, "limesurvey.csv", "LimeSurvey: 99,000 questions", once("id,submitdate"),
			numbered(",\"q[SQ#]\"", 99_000), once("\n1,2"), many(",1", 99_000), once("\n")),
		with(describes, "redcap.csv", "REDCap: a field of 900,000 choices", once(redcap+"radio,x,\""),
			numbered("#, c# | ", 900_000), once("1000000, d\"\n")),
		with(describes, "checkbox.csv", "REDCap: a checkbox of 900,000 choices", once(redcap+"checkbox,x,\""),
			numbered("#, c# | ", 900_000), once("1000000, d\"\n")),
		with(describes, "codebook.csv.gz", "2 million items", once("item,text\n"), numbered("q#,x\n", 2*mebi)),
		with(describes, "keys.json", "40,000 keys of psych", once("{"), numbered("\"s#\":[\"anxiety_1\"],", 40_000),
			once("\"x\":[\"a\"]}")),
		with(describes, "deep.json", "keys of psych: a million nested lists", once("{\"a\":"), many("[", 1_000_000)),
		with(confirms, "model.txt", "a factor of 100,000 items", once("f =~ anxiety_1"), numbered(" + q#", 100_000),
			once("\n")),
		with(confirms, "covariances.txt", "100,000 covariances", once("f =~ anxiety_1 + anxiety_2 + anxiety_3\n"),
			many("a ~~ b\n", 100_000)),
		with("questionnaire score ANSWERS --model FIT --norms FILE", "norms.json", "5 million cells of norms",
			once(`{"cells":[{}`), many(",{}", 5*mebi), once("]}")),
		{
			args: "questionnaire score ANSWERS --model FILE.fit", name: "model.json",
			what: "a million items, and 9,000 times the same 8 MiB of loadings", make: hostileFit,
		},

		with(configures, "laughs.yaml", "a billion laughs", once("a: &a [x,x,x,x,x,x,x,x,x,x]\n"), laughs()),
		with(configures, "deep.yaml", "a million nested lists", once("kafka: "), many("[", 1_000_000)),
		with(configures, "braces.yaml", "250,000 nested maps", once("kafka: "), many("{a: ", 250_000)),
		with(configures, "wards.yaml", "20,000 wards", once("beds:\n  available:\n"), numbered("    w#: 1\n", 20_000)),
		with(configures, "merges.yaml", "10,000 merges of 1,000 keys", once("a: &a {"), numbered("k#: 1, ", 1000),
			once("z: 1}\nb:\n"), many("  - <<: *a\n", 10_000)),
		with(conceives, "surfaces.tsv", "a concept of 1.5 million surfaces", once(surfaces+"c\tx"),
			numbered("|s#", 1_500_000), once("\tfinding\t\n")),
		with(conceives,
			"concepts.tsv", "600,000 concepts", once(surfaces), numbered("c#\ts#\tfinding\t\n", 600_000)),
		with(conceives, "surface.tsv", "a surface of 7 million words", once(surfaces+"c\tx"), many(" y", 7*mebi),
			once("\tfinding\t\n")),

		with(asks, "vocabulary.json", "60 million nested lists", many("[", 60*mebi)),
		with(asks,
			"vocabulary.json", "900,000 terms", once("[{}"), numbered(`,{"term":"t#","surfaces":["a","b"]}`, 900_000),
			once("]")),
		with(asks, "vocabulary.json", "7 million surfaces of a term", once(`[{"term":"a","surfaces":["a"`),
			many(`,""`, 7*mebi), once("]}]")),
		with(asks,
			"manifest.json", "5 million columns", once(`{"format":"1","aux":[{}`), many(",{}", 5*mebi), once("]}")),
		with(asks,
			"manifest.json", "a million files", once(`{"format":"1","files":{"a":{}`), numbered(`,"#":{}`, 1_000_000),
			once("}}")),
		with(asks, "manifest.json", "15 million nested lists", once(`{"format":"1","x":`), many("[", 15*mebi)),
		with(asks, "tensors.safetensors", "9,999 tensors of the same 8 MiB", tensors(9999)),
		with(asks, "generation.json", "a million models", once(`{"models":{"a":{}`), numbered(`,"m#":{}`, 1_000_000),
			once("}}")),
		with(asks, "champion", "a name of 100 MiB", many("x", 100*mebi)),
		with("models history --model-dir STORE", "history.jsonl", "499,000 empty events", many("{}\n", 499_000)),
		with("models history --model-dir STORE", "history.jsonl", "60 million nested lists", many("[", 60*mebi)),
		with("models list --model-dir STORE", "history.jsonl", "60 reasons of 1 MB", many(
			`{"reason":"`+strings.Repeat("x", 1_000_000)+"\"}\n", 60)),
		with("models show _other --model-dir STORE", "evaluation.json", "15 million objects", once(`{"methods":[{}`),
			many(",{}", 15*mebi), once("]}")),
		with("models card _other --model-dir STORE", "report.json", "15 million objects", once(`{"subgroups":[{}`),
			many(",{}", 15*mebi), once("]}")),
		with("models card --model-dir STORE", "card.md", "16 million columns of a table", many("|", 16*mebi-1)),
		with("topics search --model-dir STORE "+strings.Repeat("a*~?", 25_000), "query.txt",
			"a query of 100 KB of wildcards", once("x")),
		with("topics search --model-dir STORE "+strings.Repeat("fever~2 ", 10_000), "query.txt",
			"a query of 10,000 words", once("x")),

		with(checks, "repeats.hl7", "a million repetitions", once(mshLine+"PID|1||"), many("~", mebi-200), once("\r")),
		with(checks, "parts.hl7", "a million subcomponents", once(mshLine+pv1Line+"OBX|1|TX|54094-8||"),
			many("&", mebi-400), once("\r")),
		with(checks, "skips.hl7", "75,000 escapes of 99,999,999 lines", once(mshLine+pv1Line+"OBX|1|FT|54094-8||"),
			many("\\.sp99999999\\", 75_000), once("||||||F\r")),
		with(checks,
			"segments.hl7", "9,990 segments", once(mshLine+pv1Line), many("OBX|1|TX|54094-8||fell||||||F\r", 9990)),
		with(checks, "base64.hl7", "a document of 1 MB", once(mshLine+pv1Line+"OBX|1|ED|54094-8||^TEXT^plain^Base64^"),
			many("QUFB", mebi/4-100), once("\r")),
		with(checks, "fields.hl7", "a million fields", once(mshLine+"PV1"), many("|", mebi-100), once("\r")),
		with(checks, "components.json", "an observation of 800,000 components",
			once(bundleOf+`{"resource":{"resourceType":"Observation","component":[null`), many(",null", 800_000),
			once("]}}]}")),
		with(checks,
			"entries.json", "800,000 empty entries", once(bundleOf+"null"), many(",null", 800_000), once("]}")),
		with(checks,
			"deep.json", "4 million nested lists", once(`{"resourceType":"Bundle","x":`), many("[", 4*mebi-100)),
		with(checks, "exponent.json", "values of 1e999999999", once(bundleOf),
			many(`{"resource":{"resourceType":"Observation","valueQuantity":{"value":1e999999999}}},`, 9000),
			once("{}]}")),
		with(checks, "html.json", "a document of 900,000 open tags", once(bundleOf+`{"resource":{"resourceType":`+
			`"DocumentReference","content":[{"attachment":{"contentType":"text/html","data":"`+html+`"}}]}}]}`)),
		with(exports, "nulls.ndjson.gz", "an observation of 12 million components",
			once(`{"resourceType":"Observation","component":[null`), many(",null", 12*mebi), once("]}\n")),
		with(exports, "deep.ndjson.gz", "60 million nested lists", once(`{"resourceType":"Observation","component":`),
			many("[", 60*mebi)),
		with(exports, "lines.ndjson.gz", "3 million resources", many(`{"resourceType":"Observation"}`+"\n", 3*mebi)),
		with(exports, "message.hl7.gz", "a message of 272 MiB", once(mshLine), many("OBX|1|TX|x||fell\r", 16*mebi)),
		with(exports, "messages.hl7.gz", "a million messages", many(mshLine+"PV1|1|E\r", mebi)),
		with("bulk --config CONFIG --out DIR/out --manifest FILE", "export.json", "800,000 files of an export",
			once(`{"output":[null`), many(",null", 800_000), once("]}")),
	}
	return append(all, parquets()...)
}

// laughs are lists each of which refers ten times to the one before.
func laughs() part {
	var b strings.Builder
	for c := 'b'; c <= 'j'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	return once(b.String())
}

// tensors returns n tensors of the same 8 MiB.
func tensors(n int) part {
	var h strings.Builder
	for i := range n {
		fmt.Fprintf(&h, `,"t%d":{"dtype":"F64","shape":[%d],"data_offsets":[0,%d]}`, i, mebi, 8*mebi)
	}
	head := "{" + h.String()[1:] + "}"
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return once(string(size) + head + strings.Repeat("\x00", 8*mebi))
}

func members(t *testing.T, path string) {
	var empty, last bytes.Buffer
	e, l := gzip.NewWriter(&empty), gzip.NewWriter(&last)
	_, err := io.WriteString(l, "text\nfell\n")
	if err = errors.Join(err, e.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	raw(t, path, many(empty.String(), mebi), once(last.String()))
}

// raw writes a file as it is, whatever its name says.
func raw(t *testing.T, path string, parts ...part) {
	t.Helper()
	pieces(t, path+".raw", parts...)
	if err := os.Rename(path+".raw", path); err != nil {
		t.Fatal(err)
	}
}

func hostileFit(t *testing.T, path string) {
	dir, sums := path+".fit", ""
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]part{
		"model.json":           {once(`{"format":"1","items":[{}`), many(",{}", mebi-10), once("]}")},
		"loadings.safetensors": {tensors(9000)},
	} {
		pieces(t, filepath.Join(dir, name), parts...)
		sums += sha(string(clitest.Read(t, filepath.Join(dir, name)))) + "  " + name + "\n"
	}
	pieces(t, filepath.Join(dir, "SHA256SUMS"), once(sums))
	pieces(t, path, once(""))
}

// parquets are hostile tables of Parquet.
func parquets() []bomb {
	type plain struct {
		Text string `parquet:"text"`
	}
	type listed struct {
		Text string  `parquet:"text"`
		More []int32 `parquet:"more,list,zstd"`
	}
	type texts struct {
		Text []string `parquet:"text,list,dict,zstd"`
	}
	type inner struct {
		More []int32 `parquet:"more,zstd"`
	}
	type nested struct {
		Text string  `parquet:"text"`
		More []inner `parquet:"more"`
	}
	type shared struct {
		Text string `parquet:"text,delta,zstd"`
	}
	type same struct {
		Text string `parquet:"text,dict,zstd"`
		Age  int64  `parquet:"age,delta"`
	}
	type few struct {
		Text string `parquet:"text,dict,zstd"`
	}
	type gzipped struct {
		Text string `parquet:"text,gzip"`
	}
	type snappy struct {
		Text string `parquet:"text,snappy"`
	}
	type lz4 struct {
		Text string `parquet:"text,lz4"`
	}
	type zstd struct {
		Text string `parquet:"text,plain,zstd"`
	}
	type bounds struct {
		Text string `parquet:"text,zstd"`
		More string `parquet:"more,zstd"`
	}
	page := strings.Repeat("a", 100*mebi)
	with := func(name, what string, write func(t *testing.T, path string)) bomb {
		return bomb{args: predicts, name: name + ".parquet", what: what, make: write}
	}
	ends := make([]shared, 1000)
	for i := range ends {
		ends[i].Text = page[:120_000] + strconv.Itoa(i)
	}
	return []bomb{
		with("list", "a list of 5 million numbers", rows(listed{"fell", make([]int32, 5*mebi)})),
		with("texts", "a note that is a list of 5 million texts", rows(texts{make([]string, 5*mebi)})),
		with("nested", "lists of lists, of a million numbers", rows(nested{"fell", []inner{{make([]int32, mebi)}}})),
		with("shared", "1,000 notes of 120 KB that share all but their ends", rows(ends...)),
		with("delta", "a million rows in a few bytes", rows(make([]same, mebi)...)),
		with("gzip", "ten pages of 100 MiB", repeated(10, gzipped{page})),
		with("snappy", "ten pages of 100 MiB", repeated(10, snappy{page})),
		with("lz4", "ten pages of 100 MiB", repeated(10, lz4{page})),
		with("zstd", "2,000 pages of 100 MiB", repeated(2000, zstd{page})),
		with("cells", "a million notes of 60 KB that are one",
			repeated(1000, slices.Repeat([]few{{page[:60_000]}}, 1000)...)),
		with("decimal", "a decimal of 15 MiB", func(t *testing.T, path string) {
			raw(t, path, once(string(tabletest.Repeated(t, []zstd{{page[:15*mebi]}}, 1, func(m *format.FileMetaData) {
				m.Schema[1].LogicalType = format.LogicalType{Value: &format.DecimalType{Scale: 2, Precision: 9}}
			}))))
		}),
		with("bounds", "a least and a greatest value of 30 MiB", rows(bounds{"fell", page[:30*mebi]})),
		with("groups", "32,000 row groups", func(t *testing.T, path string) {
			written(t, path, func(w *parquet.GenericWriter[plain]) (err error) {
				for range 32_000 {
					_, e := w.Write([]plain{{"fell"}})
					err = errors.Join(err, e, w.Flush())
				}
				return err
			})
		}),
		with("beside", "60 MiB beside the table", func(t *testing.T, path string) {
			written(t, path, func(w *parquet.GenericWriter[plain]) error {
				w.SetKeyValueMetadata("x", page[:60*mebi])
				_, err := w.Write([]plain{{"fell"}})
				return err
			})
		}),
	}
}

// repeated returns what writes pages of these rows so many times, without bounds of their values.
func repeated[T any](times int, all ...T) func(t *testing.T, path string) {
	return func(t *testing.T, path string) { raw(t, path, once(string(tabletest.Repeated(t, all, times)))) }
}

// rows returns what writes these rows.
func rows[T any](all ...T) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		written(t, path, func(w *parquet.GenericWriter[T]) error { _, err := w.Write(all); return err })
	}
}

func written[T any](t *testing.T, path string, write func(*parquet.GenericWriter[T]) error) {
	t.Helper()
	f, err := os.Create(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[T](f)
	if err := errors.Join(write(w), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
