package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/wait"
)

// export is an export of FHIR Bulk Data. What was downloaded of it waits in dir, for a run that goes on.
type export struct {
	*run

	dir    string
	client *fhir.Client
	login  bool   // files need a token too
	status string // URL of the request's status, "" if it is not known
}

func newExport(r *run) (*export, error) {
	c := &r.Config.FHIR
	secured := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		var err error
		if secured.RootCAs, err = reload.Authorities(c.CA); err != nil {
			return nil, fmt.Errorf("reading bridge.fhir.ca: %w", err)
		}
	}
	// A file may take hours.
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: secured, IdleConnTimeout: longPause,
		ResponseHeaderTimeout: longPause,
	}
	return &export{run: r, dir: filepath.Join(r.Out, ".export"), client: &fhir.Client{
		Base: r.Server, HTTP: &http.Client{Transport: transport}, Smart: fhir.Smart(c.SMART),
	}}, nil
}

// manifest is the answer of a finished export.
type manifest struct {
	TransactionTime     string   `json:"transactionTime"`
	RequiresAccessToken bool     `json:"requiresAccessToken"`
	Output              []output `json:"output"`
	Deleted             []output `json:"deleted"`
	Error               []output `json:"error"`
	Link                []struct {
		Relation string `json:"relation"`
		URL      string `json:"url"`
	} `json:"link"`
}

// next returns the address of the next page, or "".
func (m *manifest) next() string {
	for _, l := range m.Link {
		if l.Relation == "next" {
			return l.URL
		}
	}
	return ""
}

type output struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// statusFile, in dir, holds the URL of the request's status.
const statusFile = "status"

// open reads a manifest of files or URLs.
func (x *export) open(ctx context.Context) (source, error) {
	data, err := files.Read(x.Manifest, fhir.MaxBundle)
	if err == nil {
		err = os.MkdirAll(x.dir, 0o700)
	}
	if err != nil {
		return source{}, fmt.Errorf("reading the manifest: %w", err)
	}
	x.dir = x.path(string(data)) // another export may have been interrupted
	return x.fetch(ctx, data, filepath.Dir(x.Manifest))
}

// request asks a server for an export, or goes on with one that an earlier run asked for.
func (x *export) request(ctx context.Context) (from source, err error) {
	x.dir = x.path(x.Server) // another export may have been interrupted
	defer func() {
		if answer, is := errors.AsType[fhir.StatusError](err); is && x.status != "" &&
			(answer == http.StatusNotFound || answer == http.StatusGone) {
			err = errors.Join(fmt.Errorf("%w; the next run requests a new export", err), os.RemoveAll(x.dir))
		}
	}()
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return source{}, fmt.Errorf("making the folder of downloads: %w", err)
	}
	status, err := os.ReadFile(filepath.Join(x.dir, statusFile))
	x.status = string(status)
	if errors.Is(err, os.ErrNotExist) {
		if err = x.begin(ctx); err == nil {
			err = os.WriteFile(filepath.Join(x.dir, statusFile), []byte(x.status), 0o600)
		}
	}
	if err != nil {
		return source{}, fmt.Errorf("requesting the export: %w", err)
	}
	data, err := x.page(ctx, x.status)
	if err != nil {
		return source{}, err
	}
	return x.fetch(ctx, data, x.Out)
}

// begin starts an export and sets x.status.
func (x *export) begin(ctx context.Context) error {
	query := url.Values{"_type": {strings.Join(kinds[:len(kinds)-1], ",")}}
	if since := x.Since[x.Server]; since != "" {
		query.Set("_since", since)
	}
	res, err := x.do(ctx, http.MethodGet, strings.TrimRight(x.Server, "/")+"/$export?"+query.Encode(), true)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	location := res.Header.Get("Content-Location")
	at, err := res.Request.URL.Parse(location)
	if err != nil || location == "" {
		return fmt.Errorf("the server answers %d without Content-Location", res.StatusCode)
	}
	x.status = at.String()
	return nil
}

// Pauses between two requests, unless the server says Retry-After.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// page returns a page of the manifest, and keeps it for a run that goes on.
func (x *export) page(ctx context.Context, address string) ([]byte, error) {
	path := x.path(address) + ".json"
	data, err := os.ReadFile(path) //nolint:gosec // in our folder
	if errors.Is(err, os.ErrNotExist) {
		if data, err = x.await(ctx, address); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for the export: %w", err)
	}
	return data, nil
}

// path returns where what this source gives is kept, without an ending.
func (x *export) path(source string) string {
	sum := sha256.Sum256([]byte(source))
	return filepath.Join(x.dir, hex.EncodeToString(sum[:8]))
}

// await polls until the export is finished and returns a page of its manifest.
func (x *export) await(ctx context.Context, address string) ([]byte, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		res, err := x.do(ctx, http.MethodGet, address, true)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK {
			data, err := io.ReadAll(io.LimitReader(res.Body, maxLine))
			return data, errors.Join(err, res.Body.Close())
		}
		_ = res.Body.Close()
		done, _ := strconv.Atoi(strings.TrimRight(res.Header.Get("X-Progress"), "% "))
		x.Progress("waiting for the export", done, 100)
		if !wait.For(ctx, retryAfter(res, pause)) {
			return nil, ctx.Err()
		}
	}
}

// retryAfter returns how long to wait: what the server says, else a pause of our own.
func retryAfter(res *http.Response, otherwise time.Duration) time.Duration {
	said := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(said); err == nil && seconds >= 0 {
		return min(time.Duration(seconds)*time.Second, time.Hour)
	}
	if at, err := http.ParseTime(said); err == nil {
		return max(0, min(time.Until(at), time.Hour))
	}
	return otherwise
}

// fetch downloads the files of a manifest that are not here yet. Those of other types than are read are left.
func (x *export) fetch(ctx context.Context, data []byte, dir string) (from source, err error) {
	m, err := x.pages(ctx, data, dir)
	if err != nil {
		return from, err
	}
	from.time, x.login = m.TransactionTime, m.RequiresAccessToken
	all := slices.Concat(m.Output, m.Deleted, m.Error)
	for i, o := range all {
		gone := i >= len(m.Output)
		if i >= len(m.Output)+len(m.Deleted) {
			gone, o.Type = false, problems
		} else if !gone && !slices.Contains(kinds, o.Type) {
			continue
		}
		x.Progress("downloading", i, len(all))
		path, err := x.download(ctx, o.URL, dir)
		if err != nil {
			return from, fmt.Errorf("file %d of the export, of %s: %w", i+1, o.Type, err)
		}
		if !gone {
			from.files = append(from.files, file{path, o.Type})
		} else if err := x.deletions(path, &from); err != nil {
			return from, err
		}
	}
	return from, nil
}

// pages returns a manifest with its further pages, which may come while the export goes on.
func (x *export) pages(ctx context.Context, data []byte, dir string) (m manifest, err error) {
	for read := map[string]bool{}; ; {
		var page manifest
		if json.Unmarshal(data, &page) != nil || page.Output == nil {
			return m, errors.New("the manifest is not the answer of a finished export: it has no output")
		}
		m.TransactionTime = cmp.Or(m.TransactionTime, page.TransactionTime)
		m.RequiresAccessToken = m.RequiresAccessToken || page.RequiresAccessToken
		m.Output, m.Deleted = append(m.Output, page.Output...), append(m.Deleted, page.Deleted...)
		m.Error = append(m.Error, page.Error...)
		next := page.next()
		if next == "" {
			return m, nil
		}
		if read[next] {
			return m, errors.New("a page of the manifest names one before it as the next")
		}
		read[next] = true
		if x.status == "" && !strings.HasPrefix(next, "http") {
			data, err = files.Read(local(next, dir), fhir.MaxBundle)
		} else {
			base, _ := url.Parse(x.status) // it was one before; "" for a manifest that is a file
			at, bad := base.Parse(next)
			if bad != nil {
				return m, errors.New("the address of the manifest's next page cannot be read")
			}
			data, err = x.page(ctx, at.String())
		}
		if err != nil {
			return m, fmt.Errorf("reading the manifest's next page: %w", err)
		}
	}
}

// local returns the path of a file that a manifest names.
func local(from, dir string) string {
	if u, err := url.Parse(from); err == nil && u.Scheme == "file" {
		return u.Path
	}
	if path := filepath.FromSlash(from); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(from))
}

// download returns the path of a file of an export, and downloads it unless it is one already.
func (x *export) download(ctx context.Context, from, dir string) (path string, err error) {
	u, err := url.Parse(from)
	switch {
	case err != nil:
		return "", errors.New("its address cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return local(from, dir), nil
	}
	path = x.path(from) + ".ndjson"
	if strings.HasSuffix(u.Path, ".gz") {
		path += ".gz"
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	res, err := x.do(ctx, http.MethodGet, from, x.login)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	part, err := os.OpenFile(path+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // in our folder
	if err != nil {
		return "", err
	}
	_, err = io.Copy(part, res.Body)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(part.Name(), path)
}

// finish tells the server that the files are here, and removes them.
func (x *export) finish(ctx context.Context) error {
	if x.status != "" {
		if res, err := x.do(ctx, http.MethodDelete, x.status, true); err == nil { // a favour: it deletes them some day
			_ = res.Body.Close()
		}
	}
	if err := os.RemoveAll(x.dir); err != nil {
		return fmt.Errorf("removing downloads: %w", err)
	}
	_ = os.Remove(filepath.Dir(x.dir)) // unless another export waits in it
	return nil
}

// attempts is how often a request is sent that the server or the network does not answer.
const attempts = 5

// do sends a request, with a token if login is set, and returns an answer of status 2xx. Errors do not name the
// address, which may hold a secret.
func (x *export) do(ctx context.Context, method, address string, login bool) (*http.Response, error) {
	send := x.client.HTTP.Do
	if login {
		send = x.client.Do
	}
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		req, err := http.NewRequestWithContext(ctx, method, address, http.NoBody)
		if err != nil {
			return nil, errors.New("the address cannot be read")
		}
		req.Header.Set("Accept", "application/fhir+json, application/json, application/fhir+ndjson;q=0.9, */*;q=0.1")
		if strings.Contains(address, "/$export?") {
			req.Header.Set("Prefer", "respond-async")
		}
		res, err := send(req)
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		passing := err != nil
		if err == nil {
			if res.StatusCode/100 == 2 {
				return res, nil
			}
			_ = res.Body.Close()
			pause = retryAfter(res, pause)
			passing = res.StatusCode == http.StatusTooManyRequests || res.StatusCode/100 == 5
			err = fhir.StatusError(res.StatusCode)
		}
		if !passing || n == attempts || ctx.Err() != nil {
			return nil, err
		}
		if !wait.For(ctx, pause) {
			return nil, err
		}
	}
}
