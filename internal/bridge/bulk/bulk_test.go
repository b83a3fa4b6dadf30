package bulk_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/bridge/bulk"
	"github.com/wardcast/wardcast/internal/service/config"
)

// visit returns the lines of an emergency visit by file. Its numbers and names begin with ZZ.
func visit(id, text, end string) map[string]string {
	document := fmt.Sprintf(
		`{"resourceType":"DocumentReference","id":"ZZD%s","status":"current","type":{"coding":[{"code":"54094-8"}]},
		"date":"2026-11-20T08:15:00Z","context":{"encounter":[{"reference":"Encounter/ZZE%s"}]},"content":[{"attachment":{
		"contentType":"text/plain","data":%q}}]}`, id, id, base64.StdEncoding.EncodeToString([]byte(text)))
	observation := func(at, v string) string {
		return fmt.Sprintf(
			`{"resourceType":"Observation","id":"o","status":"final","code":{"coding":[{"code":"8867-4"}]},
			"encounter":{"reference":"Encounter/ZZE%s"},"effectiveDateTime":%q,"valueQuantity":{"value":%s,"code":"/min"}}`, id, at, v)
	}
	encounter := fmt.Sprintf(`{"resourceType":"Encounter","id":"ZZE%s","status":"finished","class":{"code":"EMER"},
		"subject":{"reference":"Patient/ZZP%s"},"period":{"start":"2026-11-20T08:00:00Z","end":"2026-11-20T12:00:00Z"},
		"reasonCode":[{"text":"fall"}],"hospitalization":{"dischargeDisposition":{"coding":[{"code":%q}]}}}`, id, id,
		end)
	out := map[string]string{
		"Patient": fmt.Sprintf(`{"resourceType":"Patient","id":"ZZP%s","name":[{"family":"ZZname"}],"gender":"female"}`,
			id),
		// The second one is of the ward: it is not in the note.
		"Observation": line(observation("2026-11-20T08:10:00Z", "88")) + observation("2026-11-20T11:00:00Z", "140"),
		"Encounter":   encounter,
	}
	if text != "" {
		out["DocumentReference"] = document
	}
	return out
}

// line returns JSON on one line.
func line(s string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		return s + "\n"
	}
	return b.String() + "\n"
}

// exported joins the lines of several visits by file.
func exported(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, v := range all {
		for name, lines := range v {
			var b strings.Builder
			for l := range strings.SplitSeq(lines, "}\n{") {
				if b.Len() > 0 {
					l = "{" + l
				}
				if strings.Count(l, "{") > strings.Count(l, "}") {
					l += "}"
				}
				b.WriteString(line(l))
			}
			out[name] += b.String()
		}
	}
	return out
}

func write(t *testing.T, dir, name, data string) {
	t.Helper()
	var b bytes.Buffer
	if b.WriteString(data); strings.HasSuffix(name, ".gz") {
		b.Reset()
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, data); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// manifest writes files and their manifest, with what is deleted.
func manifest(t *testing.T, lines map[string]string, deleted ...string) string {
	t.Helper()
	dir := t.TempDir()
	m := map[string]any{"transactionTime": "2026-11-21T00:00:00Z", "requiresAccessToken": false}
	var output, gone []map[string]string
	for name, data := range lines {
		write(t, dir, name+".ndjson.gz", data)
		output = append(output, map[string]string{"type": name, "url": name + ".ndjson.gz"})
	}
	output = append(output, map[string]string{"type": "ImagingStudy", "url": "nowhere.ndjson"}) // which is not read
	for i, reference := range deleted {
		name := fmt.Sprintf("deleted%d.ndjson", i)
		write(t, dir, name, `{"resourceType":"Bundle","entry":[{"request":{"method":"DELETE","url":"`+reference+`"}}]}`)
		gone = append(gone, map[string]string{"type": "Bundle", "url": filepath.Join(dir, name)})
	}
	m["output"], m["link"] = output, []map[string]string{{"relation": "next", "url": "more.json"}}
	for name, page := range map[string]any{
		"manifest.json": m, "more.json": map[string]any{"output": []string{}, "deleted": gone},
	} {
		data, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(data))
	}
	return filepath.Join(dir, "manifest.json")
}

func run(t *testing.T, o bulk.Options) (*bulk.Counts, error) {
	t.Helper()
	smart := o.Config.FHIR.SMART
	o.Config = config.Default().Bridge
	o.Config.Site, o.Config.FHIR.SMART = "A", smart
	o.Key, o.Logger, o.Progress = bridge.PublicKey(), slog.New(slog.DiscardHandler), func(string, int, int) {}
	return bulk.Run(t.Context(), o)
}

// read runs and returns the counts with the notes and outcomes, which hold no identifier.
func read(t *testing.T, o bulk.Options) (c bulk.Counts, notes map[string]msg.Note, outcomes map[string]msg.Outcome) {
	t.Helper()
	counts, err := run(t, o)
	if err != nil {
		t.Fatal(err)
	}
	notes, outcomes = map[string]msg.Note{}, map[string]msg.Outcome{}
	err = filepath.WalkDir(o.Out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if data, err = io.ReadAll(z); err != nil {
				return err
			}
		}
		if bytes.Contains(bytes.ToUpper(data), []byte("ZZ")) {
			t.Errorf("an identifier in %s", d.Name())
		}
		for l := range bytes.Lines(data) {
			var n msg.Note
			var o msg.Outcome
			switch name, _, _ := strings.Cut(d.Name(), "."); name {
			case "notes":
				err = msg.DecodeNote(bytes.TrimSpace(l), &n)
				notes[n.VisitID] = n
			case "outcomes":
				err = msg.DecodeOutcome(bytes.TrimSpace(l), &o)
				outcomes[o.VisitID] = o
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != counts.Notes || len(outcomes) != counts.Outcomes {
		t.Errorf("%+v, but %d notes and %d outcomes", counts, len(notes), len(outcomes))
	}
	return *counts, notes, outcomes
}

func want(t *testing.T, what string, got bulk.Counts, encounters, notes, outcomes int, left map[string]int) {
	t.Helper()
	if d := cmp.Diff(bulk.Counts{Encounters: encounters, Notes: notes, Outcomes: outcomes, LeftOut: left},
		got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	clinic := visit("4", "a cough", "home")
	clinic["Encounter"] = strings.Replace(clinic["Encounter"], "EMER", "AMB", 1)
	stray := visit("5", "of another export", "home")
	delete(stray, "Encounter")
	broken := map[string]string{"Observation": `{"resourceType":"Observation","code":7}`}
	pdf := visit("6", "%PDF", "oth")
	pdf["DocumentReference"] = strings.Replace(pdf["DocumentReference"], "text/plain", "application/pdf", 1)
	o := bulk.Options{Out: t.TempDir(), Gzip: true}
	o.Manifest = manifest(t, exported(visit("1", "fell at home", "home"), visit("2", "", "home"),
		visit("3", "chest pain", "oth"),
		clinic, stray, pdf, broken, visit("7", "gone", "home")), "Encounter/ZZE7")
	c, notes, outcomes := read(t, o)
	left := map[string]int{
		"no_text": 2, "no_outcome": 1, "other_class": 1, "missing_visit": 3, "unsupported_attachment": 1, "not_fhir": 1,
		"deleted": 1,
	}
	want(t, "first", c, 5, 2, 2, left)
	for _, n := range notes {
		if n.Complaint != "fall" || n.Sex != "F" || n.ArrivedAt != "2026-11-20T08:00:00Z" || n.Vitals.HR.Value != 88 ||
			n.PatientID == "" {
			t.Errorf("note %+v", n)
		}
	}
	for _, o := range outcomes {
		if o.Disposition != msg.Discharged || o.DecidedAt != "2026-11-20T12:00:00Z" {
			t.Errorf("outcome %+v", o)
		}
	}
	if info, err := os.Stat(filepath.Join(o.Out, "state.json.gz")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the state: %v", err)
	}
	again, _, _ := read(t, o)
	want(t, "again", again, 5, 2, 2, left)
	// What has changed since: a disposition, a new visit, a deleted document, a deleted patient.
	o.Manifest = manifest(t, exported(map[string]string{"Encounter": visit("3", "", "aadvice")["Encounter"]},
		visit("8", "rash", "home")), "DocumentReference/ZZD1", "Patient/ZZP2")
	c, notes, _ = read(t, o)
	want(t, "later", c, 5, 2, 3, map[string]int{"no_text": 2, "other_class": 1, "deleted": 2})
	for _, n := range notes {
		if n.Text != "chest pain" && n.Text != "rash" {
			t.Errorf("note %+v", n)
		}
	}
	if _, err := run(t, bulk.Options{Out: o.Out, Manifest: filepath.Join(o.Out, "notes.jsonl.gz")}); err == nil {
		t.Error("notes are taken for a manifest")
	}
}

const (
	registers = "MSH|^~\\&|A|B|C|D|20261120081500+0000||ADT^A04|%s|P|2.5.1\rEVN|A04|20261120081500+0000\rPID|1||ZZP||ZZname\r" +
		"PV1|1|E|ED||||||||||||||||%s|||||||||||||||||||||||||20261120080000+0000\rOBX|1|TX|54094-8||fell||||||F\r" +
		"OBX|2|TX|8661-1||fall||||||F\r"
	discharges = "MSH|^~\\&|A|B|C|D|20261120120000+0000||ADT^A03|%s|P|2.5.1\rEVN|A03|20261120120000+0000\rPID|1||ZZP\r" +
		"PV1|1|E|ED||||||||||||||||%s|||||||||||||||||01\r"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), bulk.Options{Out: t.TempDir()}
	o.Folder = dir
	message := func(form, visit string) string { return fmt.Sprintf(form, fmt.Sprint(len(form))+visit, visit) }
	// The end comes in an earlier file than the beginning.
	write(t, dir, "1.hl7", message(discharges, "ZZ1"))
	write(t, dir, "2.hl7.gz", "FHS|^~\\&\rBHS|^~\\&\r"+message(registers, "ZZ1")+message(registers, "ZZ2")+
		"BTS|2\rFTS|1\r")
	write(t, dir, "3.hl7", strings.Replace(message(registers, "ZZ3"), "OBX|1", "NTE|1", 1)+
		strings.Replace(message(registers, "ZZ4"), "|E|", "|O|", 1)+message(registers, "")+
		strings.Replace(message(registers, "ZZ5"), "ADT^A04", "ADT^A60", 1))
	write(t, dir, "readme.txt", "ZZ")
	for name, data := range exported(visit("9", "chest pain", "09")) {
		write(t, dir, name+".ndjson", data)
	}
	write(t, dir, "deleted.ndjson",
		`{"resourceType":"Bundle","entry":[{"request":{"method":"DELETE","url":"Encounter/ZZE0"}}]}`)
	c, notes, outcomes := read(t, o)
	want(t, "folder", c, 5, 3, 2,
		map[string]int{"no_text": 1, "other_class": 1, "missing_visit": 1, "other_message": 1, "no_outcome": 1})
	seen := map[msg.Disposition]int{}
	for _, o := range outcomes {
		seen[o.Disposition]++
	}
	if len(notes) != 3 || !maps.Equal(seen, map[msg.Disposition]int{msg.Discharged: 1, msg.Admitted: 1}) {
		t.Errorf("%v", seen)
	}
	// Another key would name the same visits differently.
	o.Key = bridge.PublicKey()
	o.Config = config.Default().Bridge
	o.Config.Site = "A"
	key := filepath.Join(t.TempDir(), "key")
	if err := bridge.NewKeyFile(key); err != nil {
		t.Fatal(err)
	}
	own, err := bridge.ReadKey(key)
	if err != nil {
		t.Fatal(err)
	}
	o.Key, o.Logger, o.Progress = own, slog.New(slog.DiscardHandler), func(string, int, int) {}
	if _, err := bulk.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), own.ID()) {
		t.Errorf("another key: %v", err)
	}
	o.Key = bridge.PublicKey()
	o.Config.Site = "B"
	if _, err := bulk.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `site "A"`) {
		t.Errorf("another site: %v", err)
	}
	o.Out, o.Folder = t.TempDir(), t.TempDir()
	if _, err := bulk.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("an empty folder: %v", err)
	}
}

// An interrupted export is that of its server alone, and one that the server no longer has is requested anew.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	var kicks sync.Map
	status := atomic.Int32{}
	status.Store(http.StatusForbidden)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base, what, _ := strings.Cut(r.URL.Path[1:], "/")
		switch {
		case r.Method == http.MethodDelete:
		case what == "$export":
			n, _ := kicks.LoadOrStore(base, new(atomic.Int32))
			n.(*atomic.Int32).Add(1)
			w.Header().Set("Content-Location", "/"+base+"/status")
			w.WriteHeader(http.StatusAccepted)
		case base == "a":
			w.WriteHeader(int(status.Load()))
		default:
			_, _ = io.WriteString(w, `{"transactionTime":"2026-11-21T00:00:00Z","output":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	out := t.TempDir()
	f := func(base, want string, times int32) {
		t.Helper()
		_, err := run(t, bulk.Options{Server: server.URL + "/" + base, Out: out})
		n, _ := kicks.Load(base)
		if got := fmt.Sprint(err); !strings.Contains(got, want) || n == nil || n.(*atomic.Int32).Load() != times {
			t.Errorf("server %s: %v after %v requests, want %s after %d", base, err, n, want, times)
		}
	}
	f("a", "403", 1)
	f("b", "nil", 1)
	status.Store(http.StatusGone)
	f("a", "410", 1)
	f("a", "410", 2)
}

// A server that is slow, that fails in the middle, and whose export a second run goes on with.
func TestServer(t *testing.T) {
	t.Parallel()
	lines := exported(visit("1", "fell at home", "home"))
	const problems = "OperationOutcome"
	lines[problems] = `{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"not-found"},
		{"severity":"fatal","code":"ZZcode"},{"severity":"information","code":"informational"}]}`
	lines[problems] = line(lines[problems]) + line(lines[problems]) + "{ZZ"
	var kicks, polls, ended atomic.Int32
	var fails atomic.Bool
	fails.Store(true)
	var since atomic.Value
	mux := http.NewServeMux()
	var server *httptest.Server
	mux.HandleFunc("GET /fhir/$export", func(w http.ResponseWriter, r *http.Request) {
		kicks.Add(1)
		since.Store(r.URL.Query().Get("_since"))
		if r.Header.Get("Prefer") != "respond-async" || r.Header.Get("Authorization") != "Bearer secret" ||
			!strings.Contains(r.URL.Query().Get("_type"), "Encounter") {
			t.Errorf("export asked for with %v %v", r.URL, r.Header)
		}
		polls.Store(0)
		w.Header().Set("Content-Location", "/status/1")
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"secret","expires_in":300}`)
	})
	mux.HandleFunc("DELETE /status/1",
		func(w http.ResponseWriter, _ *http.Request) { ended.Add(1); w.WriteHeader(http.StatusAccepted) })
	mux.HandleFunc("GET /status/1", func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("Retry-After", "0"); polls.Add(1) < 3 || polls.Load() == 4 {
			w.WriteHeader([]int{0, http.StatusAccepted, http.StatusTooManyRequests, 0, http.StatusAccepted}[polls.Load()])
			return
		}
		// Encounters and what went wrong are on the second page.
		m := map[string]any{"transactionTime": "2026-11-21T00:00:00Z", "output": []string{}}
		var output []map[string]string
		second := r.URL.Query().Has("page")
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			item := map[string]string{"type": name, "url": server.URL + "/files/" + name}
			switch {
			case name == problems:
				if second {
					m["error"] = []any{item}
				}
			case second == (name == "Encounter"):
				output = append(output, item)
			}
		}
		if m["output"] = output; !second {
			m["link"] = []map[string]string{{"relation": "next", "url": "/status/1?page=2"}}
		}
		_ = json.NewEncoder(w).Encode(m)
	})
	var downloads atomic.Int32
	mux.HandleFunc("GET /files/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token is sent although the manifest says that files need none")
		}
		if downloads.Add(1) == 3 && fails.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, lines[r.PathValue("name")])
	})
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	secret, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	o := bulk.Options{Server: server.URL + "/fhir", Out: t.TempDir()}
	o.Config.FHIR.SMART = config.SMART{
		ClientID: "wardcast", Key: filepath.Join(t.TempDir(), "key.pem"), TokenURL: server.URL + "/token",
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(o.Config.FHIR.SMART.Key, block, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, o); err == nil || !strings.Contains(err.Error(), "403") ||
		strings.Contains(err.Error(), "http") {
		t.Fatalf("a refused file: %v", err)
	}
	fails.Store(false)
	c, _, _ := read(t, o)
	want(t, "the second run", c, 1, 1, 1, map[string]int{"export_not_found": 2, "export_other": 2, "not_json": 1})
	if kicks.Load() != 1 || polls.Load() != 5 || downloads.Load() != 6 || ended.Load() != 1 || since.Load() != "" {
		t.Errorf("%d exports, %d polls, %d downloads, %d ended", kicks.Load(), polls.Load(),
			downloads.Load(), ended.Load())
	}
	if _, err := os.Stat(filepath.Join(o.Out, ".export")); !os.IsNotExist(err) {
		t.Errorf("downloads stay: %v", err)
	}
	lines[problems] = ""
	if read(t, o); since.Load() != "" {
		t.Errorf("the export after one with errors is since %q", since.Load())
	}
	if read(t, o); since.Load() != "2026-11-21T00:00:00Z" {
		t.Errorf("the next export since %q", since.Load())
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	o.Config, o.Key, o.Logger = config.Default().Bridge, bridge.PublicKey(), slog.New(slog.DiscardHandler)
	if _, err := bulk.Run(cancelled, o); err == nil {
		t.Error("goes on although it was stopped")
	}
}
