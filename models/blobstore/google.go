package blobstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	googleauth "golang.org/x/oauth2/google"

	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
)

const (
	googleScope = "https://www.googleapis.com/auth/cloud-platform"

	// A request that failed for a reason that may pass is sent again after a pause, which doubles up to the longest.
	firstPause, longestPause = time.Second / 4, 4 * time.Second

	answerTimeout = time.Minute // how long a request that was sent whole waits for the answer to begin

	messageLimit = 4096 // how many bytes of an error's text are read
)

// google implements service by the JSON API of Google Cloud Storage.
type google struct {
	client  *http.Client
	address string
	bucket  string
}

func openGoogle(ctx context.Context, bucket string, o *options) (service, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerTimeout
	transport.DisableCompression = true // the length of what is unpacked would be unknown
	g := &google{
		client:  &http.Client{Transport: transport},
		address: "https://storage." + cmp.Or(o.text("universe_domain"), "googleapis.com"),
		bucket:  bucket,
	}
	anonymous := o.flag("anonymous")
	if emulator := os.Getenv("STORAGE_EMULATOR_HOST"); emulator != "" {
		if !IsURL(emulator) {
			emulator = "http://" + emulator
		}
		g.address = strings.TrimSuffix(emulator, "/")
		return g, nil
	}
	if anonymous {
		return g, nil
	}
	// Tokens are renewed long after ctx has ended.
	credentials, err := googleauth.FindDefaultCredentials(context.WithoutCancel(ctx), googleScope)
	if err != nil {
		return nil, err
	}
	g.client.Transport = &oauth2.Transport{Source: credentials.TokenSource, Base: transport}
	return g, nil
}

// do sends a request until it is answered, or fails for good, and returns an answer that says that all is well.
func (g *google) do(
	ctx context.Context, method, path string, query url.Values, body []byte,
) (*http.Response, error) {
	address := g.address + path + "?" + query.Encode()
	for pause := firstPause; ; pause *= 2 {
		request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", contentType)
		answer, err := g.client.Do(request)
		if err == nil {
			if answer.StatusCode < 300 {
				return answer, nil
			}
			err = refusal(answer)
		}
		if ctx.Err() != nil || !mayPass(err) || pause > longestPause {
			return nil, err
		}
		if !wait.For(ctx, pause/2+rand.N(pause)) {
			return nil, ctx.Err()
		}
	}
}

// statusError is an answer of the service that is not a success.
type statusError struct {
	code   int
	status string
	text   string
}

func (e *statusError) Error() string { return e.status + ": " + e.text }

func refusal(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, messageLimit))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	var content struct {
		Error struct{ Message string }
	}
	message := strings.TrimSpace(string(text))
	if json.Unmarshal(text, &content) == nil {
		message = cmp.Or(content.Error.Message, message)
	}
	return &statusError{code: answer.StatusCode, status: answer.Status, text: message}
}

// mayPass reports whether a request that failed is worth sending again: the service is busy, or the connection broke.
func mayPass(err error) bool {
	if answer, ok := errors.AsType[*statusError](err); ok {
		return answer.code >= http.StatusInternalServerError || answer.code == http.StatusTooManyRequests ||
			answer.code == http.StatusRequestTimeout
	}
	_, noToken := errors.AsType[*oauth2.RetrieveError](err)
	return !noToken
}

func hasCode(err error, code int) bool {
	answer, ok := errors.AsType[*statusError](err)
	return ok && answer.code == code
}

func (g *google) objects() string { return "/storage/v1/b/" + url.PathEscape(g.bucket) + "/o" }

func (g *google) list(ctx context.Context, prefix string, recursive bool) (names []string, err error) {
	query := url.Values{"prefix": {prefix}, "fields": {"items(name),prefixes,nextPageToken"}}
	if !recursive {
		query.Set("delimiter", "/")
	}
	for {
		answer, err := g.do(ctx, http.MethodGet, g.objects(), query, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items         []struct{ Name string }
			Prefixes      []string
			NextPageToken string
		}
		err = json.NewDecoder(answer.Body).Decode(&page)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			return nil, fmt.Errorf("reading a list of objects: %w", err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		names = append(names, page.Prefixes...)
		if page.NextPageToken == "" {
			return names, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

func (g *google) get(ctx context.Context, name string, limit int64) ([]byte, version, error) {
	media := url.Values{"alt": {"media"}}
	answer, err := g.do(ctx, http.MethodGet, g.objects()+"/"+url.PathEscape(name), media, nil)
	if hasCode(err, http.StatusNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := readAll(answer.Body, answer.ContentLength, limit)
	return data, version(answer.Header.Get("X-Goog-Generation")), err
}

func (g *google) put(ctx context.Context, name string, data []byte, now version) error {
	query := url.Values{"uploadType": {"media"}, "name": {name}, "fields": {"generation"}}
	if now != anyVersion {
		query.Set("ifGenerationMatch", cmp.Or(string(now), "0"))
	}
	answer, err := g.do(ctx, http.MethodPost, "/upload"+g.objects(), query, data)
	if hasCode(err, http.StatusPreconditionFailed) {
		return models.ErrConflict
	}
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func (g *google) remove(ctx context.Context, name string) error {
	answer, err := g.do(ctx, http.MethodDelete, g.objects()+"/"+url.PathEscape(name), nil, nil)
	if hasCode(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
