package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// What a command may take for a hostile file. One that takes far more is ended.
const (
	bombSeconds, bombMiB = 30, 1024
	bombStop             = 3
	mebi                 = 1 << 20
)

// bomb is a hostile file and the command that reads it, in which FILE, STORE, CONFIG, ANSWERS and DIR
// stand for paths.
type bomb struct {
	args, name, what string
	parts            []part
	make             func(t *testing.T, path string) // instead of parts
}

// part is a piece of a file, so many times.
type part struct {
	text  string
	times int
}

func once(text string) part            { return part{text, 1} }
func many(text string, times int) part { return part{text, times} }

// numbered returns a text n times, each with a number.
func numbered(format string, n int) part {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return once(b.String())
}

// pieces writes a file, compressed if its name says so.
func pieces(t *testing.T, path string, parts ...part) {
	t.Helper()
	f, err := os.Create(path) //nolint:gosec // of the test
	if err != nil {
		t.Fatal(err)
	}
	var w io.WriteCloser = f
	switch filepath.Ext(path) {
	case ".gz":
		w = gzip.NewWriter(f)
	case ".zst":
		if w, err = zstd.NewWriter(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range parts {
		for ; p.times > 0 && p.times%2 == 0 && len(p.text) < mebi; p.times /= 2 {
			p.text += p.text
		}
		for range p.times {
			_, e := io.WriteString(w, p.text)
			err = errors.Join(err, e)
		}
	}
	if err = errors.Join(err, w.Close()); err == nil && w != io.WriteCloser(f) {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// usage is what a process has taken.
type usage struct{ seconds, mib float64 }

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// usageOf reads it of a process that runs: getrusage counts the memory of the parent, from before the program began.
func usageOf(pid int) (u usage, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	stat, e := os.ReadFile(dir + "/stat")
	m, fields := highWater.FindSubmatch(status), bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if errors.Join(err, e) != nil || m == nil || len(fields) < 13 {
		return u, false
	}
	kib, _ := strconv.ParseFloat(string(m[1]), 64)
	for _, ticks := range fields[11:13] { // in user mode and in the kernel, a hundredth of a second each
		n, _ := strconv.ParseFloat(string(ticks), 64)
		u.seconds += n / 100
	}
	u.mib = kib / 1024
	return u, true
}

// measure runs a command, and ends it far beyond the bound.
func measure(t *testing.T, args ...string) (u usage, r clitest.Ran) {
	t.Helper()
	c := command(t.Context(), t, args...)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	c.Env = append(c.Env, "XDG_CACHE_HOME="+t.TempDir())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait() // the code says it
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			u.seconds = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
			return u, clitest.Ran{Stdout: out.String(), Stderr: log.String(), Code: c.ProcessState.ExitCode()}
		case <-tick.C:
			now, ok := usageOf(c.Process.Pid)
			if !ok {
				continue
			}
			if u = now; u.mib > bombStop*bombMiB || u.seconds > bombStop*bombSeconds {
				_ = c.Process.Kill() // it may have ended
			}
		}
	}
}

// Commands that read a file, the file of the served version that it becomes if there is one, and how files begin.
const (
	predicts   = "predict --model-dir STORE --input FILE --out DIR/out.jsonl"
	asks       = "predict --model-dir STORE --text fell"
	factorizes = "factorize --method nmf --rank 2 --out DIR/out --input FILE"
	counts     = "questionnaire items FILE --items q*"
	describes  = "questionnaire items ANSWERS --codebook FILE"
	checks     = "bridge check --message FILE"
	mshLine    = "MSH|^~\\&|A|B|C|D|20261120080000||ADT^A04^ADT_A01|1|P|2.5.1\r"
	pv1Line    = "PV1|1|E|ED||||||||||||||||V1|||||||||||||||||||||||||20261120080000\r"
	mtxHead    = "%%MatrixMarket matrix coordinate real general\n"
	redcap     = "Variable / Field Name,Form Name,Section Header,Field Type,Field Label," +
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
		with(factorizes, "rows.mtx", "2 billion rows, one entry", once(mtxHead+"2000000000 1 1\n1 1 1\n")),
		with(factorizes, "columns.mtx", "2 billion columns, one entry", once(mtxHead+"1 2000000000 1\n1 1 1\n")),
		with(counts, "items.csv", "99,999 items", once("q"), numbered(",q%d", 99_998), once("\n"),
			many("1"+strings.Repeat(",2", 99_998)+"\n", 10)),
		with(counts, "people.csv.gz", "5 million participants", once("q1,q2,q3\n"), many("1,2,3\n3,2,2\n", 5*mebi/2)),
		with(counts, "sparse.jsonl", "90,000 items, one for each participant", numbered("{\"q%d\":1}\n", 90_000)),
		with(counts, "qualtrics.csv", "Qualtrics: a question of 15 MiB",
			once("StartDate,Status,q1,q2\nStart Date,Response Type,\""), many("text ", 3*mebi),
			once("\",b\n"+qualtrics)),
		with(counts, "limesurvey.csv", "LimeSurvey: 99,000 questions", once("id,submitdate"),
			numbered(",\"q[SQ%03d]\"", 99_000), once("\n1,2"), many(",1", 99_000), once("\n")),
		with(describes, "redcap.csv", "REDCap: a field of 900,000 choices", once(redcap+"radio,x,\""),
			numbered("%[1]d, c%[1]d | ", 900_000), once("1000000, d\"\n")),
		with(describes, "checkbox.csv", "REDCap: a checkbox of 900,000 choices", once(redcap+"checkbox,x,\""),
			numbered("%[1]d, c%[1]d | ", 900_000), once("1000000, d\"\n")),
		with(asks,
			"vocabulary.json", "900,000 terms", once("[{}"), numbered(`,{"term":"t%d","surfaces":["a","b"]}`, 900_000),
			once("]")),
		with(asks, "vocabulary.json", "7 million surfaces of a term", once(`[{"term":"a","surfaces":["a"`),
			many(`,""`, 7*mebi), once("]}]")),
		with(asks,
			"manifest.json", "5 million columns", once(`{"format":"1","aux":[{}`), many(",{}", 5*mebi), once("]}")),
		with(asks,
			"manifest.json", "a million files", once(`{"format":"1","files":{"a":{}`), numbered(`,"%d":{}`, 1_000_000),
			once("}}")),
		with(asks, "manifest.json", "15 million nested lists", once(`{"format":"1","x":`), many("[", 15*mebi)),
		with(asks, "tensors.safetensors", "9,999 tensors of the same 8 MiB", tensors(9999)),
		with(asks, "generation.json", "a million models", once(`{"models":{"a":{}`), numbered(`,"m%d":{}`, 1_000_000),
			once("}}")),
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
		with("bulk --config CONFIG --out DIR/out --manifest FILE", "export.json", "800,000 files of an export",
			once(`{"output":[null`), many(",null", 800_000), once("]}")),
	}
	return append(all, parquets()...)
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

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// parquets are hostile tables of Parquet.
func parquets() []bomb {
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
	}
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

// TestBombs gives hostile files to the commands that read them. Each is refused, with an error that names the file, or
// read, within the bound.
func TestBombs(t *testing.T) {
	t.Parallel()
	long(t)
	if _, ok := usageOf(os.Getpid()); !ok {
		t.Skip("no /proc to measure by: Linux has it")
	}
	whole := trained(t)
	answers := clitest.File(t, "answers.csv", succeed(t, "", "synth", "questionnaire", "-n", "60"))
	key := filepath.Join(t.TempDir(), "key")
	succeed(t, "", "bridge", "keygen", "--out", key)
	config := clitest.File(t, "wardcast.yaml",
		"kafka: {brokers: [127.0.0.1:9]}\nbridge: {site: A, key_file: "+key+"}\n")
	for i, b := range bombs() {
		t.Run(fmt.Sprint(i, b.name), func(t *testing.T) {
			dir := t.TempDir()
			path, store := filepath.Join(dir, b.name), whole
			if b.make != nil {
				b.make(t, path)
			} else {
				pieces(t, path, b.parts...)
			}
			if strings.Contains(b.args, "STORE") && !strings.Contains(b.args, "FILE") && b.name != "query.txt" {
				store = hostileStore(t, whole, b.name, string(clitest.Read(t, path)))
			}
			u, r := measure(t, strings.Fields(strings.NewReplacer("FILE", path, "STORE", store, "DIR", dir,
				"CONFIG", config, "ANSWERS", answers).Replace(b.args))...)
			outcome := "read"
			if r.Code != 0 {
				said := strings.Split(strings.TrimSpace(r.Stderr), "\n")
				outcome = strings.NewReplacer(dir+"/in/", "", dir+"/", "", store+"/", "").Replace(said[len(said)-1])
			}
			t.Logf("| `%s` | %s | %.300s | %.1f | %.0f |", b.name, b.what, outcome, u.seconds, u.mib)
			switch {
			case u.seconds > bombSeconds || u.mib > bombMiB:
				t.Errorf("more than %d s of CPU or %d MiB", bombSeconds, bombMiB)
			case r.Code < 0 || r.Code > 3 || strings.Contains(r.Stderr, "goroutine "):
				t.Errorf("exits %d and says %.2000s", r.Code, r.Stderr)
			}
		})
	}
}

// hostileStore returns a copy of a store in which a file of the served version, or of the store, has another content,
// with names and checksums that agree.
func hostileStore(t *testing.T, store, file, content string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	read := func(path ...string) string {
		return string(clitest.Read(t, filepath.Join(append([]string{dir}, path...)...)))
	}
	if file == "champion" || file == "history.jsonl" {
		pieces(t, filepath.Join(dir, file), once(content))
		return dir
	}
	name := strings.TrimSpace(read("champion"))
	generation := read("generations", name+".json")
	if file != "generation.json" {
		folders, err := filepath.Glob(filepath.Join(dir, "_other", "*", "manifest.json"))
		if err != nil || len(folders) != 1 {
			t.Fatal(folders, err)
		}
		folder := filepath.Dir(folders[0])
		version := filepath.Base(folder)
		manifest, changed := read("_other", version, "manifest.json"), content
		if file != "manifest.json" {
			before := read("_other", version, file)
			changed = strings.NewReplacer(sha(before), sha(content), fmt.Sprintf(`"size": %d`, len(before)),
				fmt.Sprintf(`"size": %d`, len(content))).Replace(manifest)
			pieces(t, filepath.Join(folder, file), once(content))
		}
		pieces(t, folders[0], once(changed))
		renamed := version[:len(version)-6] + sha(changed)[:6]
		if err := os.Rename(folder, filepath.Join(dir, "_other", renamed)); err != nil {
			t.Fatal(err)
		}
		content = strings.NewReplacer(sha(manifest), sha(changed), version, renamed).Replace(generation)
	}
	served := name[:len(name)-6] + sha(content)[:6]
	pieces(t, filepath.Join(dir, "generations", served+".json"), once(content))
	for _, file := range []string{"champion", "history.jsonl", "head.json"} {
		pieces(t, filepath.Join(dir, file), once(strings.ReplaceAll(read(file), name, served)))
	}
	return dir
}
