package frame

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

var (
	//go:embed static/wardcast.css
	style string
	//go:embed static/wardcast.js
	script []byte
)

type asset struct {
	kind        string
	data, small []byte // as it is, and compressed
}

func readStatic() (static map[string]asset, sum string) {
	sheet := []byte(string(chart.Style()) + style)
	whole := sha256.Sum256(slices.Concat(sheet, script))
	return map[string]asset{
		"wardcast.css": {"text/css; charset=utf-8", sheet, compressed(sheet, gzip.BestCompression)},
		"wardcast.js":  {"text/javascript; charset=utf-8", script, compressed(script, gzip.BestCompression)},
	}, hex.EncodeToString(whole[:6])
}

// Static returns the route of the static files, whose addresses change with their content so that browsers keep them.
func (f *Frame) Static() httpapi.Route {
	return httpapi.Route{Pattern: "GET /static/{file}", Role: httpapi.Anyone, Handler: httpapi.Answering(f.file)}
}

func (f *Frame) file(r *http.Request) http.Handler {
	a, ok := f.static[r.PathValue("file")]
	if !ok {
		return httpapi.Problem{Status: http.StatusNotFound}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", a.kind)
		if r.URL.Query().Get("v") == f.assets {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		send(w, r, 0, a.data, a.small)
	})
}

// send sends data, compressed to those who take that. Small is the compressed data if it is there already.
func send(w http.ResponseWriter, r *http.Request, status int, data, small []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	for kind := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(kind) != "gzip" {
			continue
		}
		w.Header().Set("Content-Encoding", "gzip")
		if small == nil {
			small = compressed(data, gzip.DefaultCompression)
		}
		data = small
		break
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	_, _ = w.Write(data) // the client is gone
}

func compressed(data []byte, level int) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil // no level of ours
	}
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}
