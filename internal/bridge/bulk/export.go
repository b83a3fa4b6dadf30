package bulk

import (
	"context"
	"crypto/tls"
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
	"github.com/wardcast/wardcast/internal/reload"
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
}

type output struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// Names of files in dir.
const (
	statusFile   = "status"
	manifestFile = "manifest.json"
)

// open reads a manifest of files or URLs.
func (x *export) open(ctx context.Context) (source, error) {
	data, err := os.ReadFile(x.Manifest)
	if err != nil {
		return source{}, fmt.Errorf("reading the manifest: %w", err)
	}
	return x.fetch(ctx, data, filepath.Dir(x.Manifest))
}

// request asks a server for an export, or goes on with one that an earlier run asked for.
func (x *export) request(ctx context.Context) (source, error) {
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
	data, err := os.ReadFile(filepath.Join(x.dir, manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		if data, err = x.await(ctx); err == nil {
			err = os.WriteFile(filepath.Join(x.dir, manifestFile), data, 0o600)
		}
	}
	if err != nil {
		return source{}, fmt.Errorf("waiting for the export: %w", err)
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

// await polls until the export is finished and returns its manifest.
func (x *export) await(ctx context.Context) ([]byte, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		res, err := x.do(ctx, http.MethodGet, x.status, true)
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
		if err := wait(ctx, retryAfter(res, pause)); err != nil {
			return nil, err
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

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// fetch downloads the files of a manifest that are not here yet. Those of other types than are read are left.
func (x *export) fetch(ctx context.Context, data []byte, dir string) (from source, err error) {
	var m manifest
	if json.Unmarshal(data, &m) != nil || m.Output == nil {
		return from, errors.New("the manifest is not the answer of a finished export: it has no output")
	}
	from.time, x.login = m.TransactionTime, m.RequiresAccessToken
	all := append(slices.Clone(m.Output), m.Deleted...)
	for i, o := range all {
		gone := i >= len(m.Output)
		if !gone && !slices.Contains(kinds, o.Type) {
			continue
		}
		x.Progress("downloading", i, len(all))
		path, err := x.download(ctx, o.URL, fmt.Sprintf("%04d", i), dir)
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

// download returns the path of a file of an export, and downloads it unless it is one already.
func (x *export) download(ctx context.Context, from, name, dir string) (path string, err error) {
	u, err := url.Parse(from)
	switch {
	case err != nil:
		return "", errors.New("its address cannot be read")
	case u.Scheme == "file":
		return u.Path, nil
	case u.Scheme != "http" && u.Scheme != "https":
		if path = filepath.FromSlash(from); !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, nil
	}
	path = filepath.Join(x.dir, name+".ndjson")
	if strings.HasSuffix(u.Path, ".gz") {
		path += ".gz"
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return "", err
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
			err = fmt.Errorf("the server answers %d", res.StatusCode)
		}
		if !passing || n == attempts || ctx.Err() != nil {
			return nil, err
		}
		if wait(ctx, pause) != nil {
			return nil, err
		}
	}
}
