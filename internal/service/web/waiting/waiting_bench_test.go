package waiting

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// BenchmarkPage draws the first hundred of 5,000 who wait: of a new list each time, in which one of fifty rows has
// changed since the list before, and as the many who ask for the same list get it.
func BenchmarkPage(b *testing.B) {
	const patients, changed = 5000, 100
	var all []*waitlist.Patient
	for i := range patients {
		all = append(all, patient(i, i%600, float64(i%100)/100))
	}
	k := &known{list: listOf(all...)}
	s := serve(b, k)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/waiting", http.NoBody)
	r.Header.Set("Accept-Encoding", "gzip")
	r.SetBasicAuth("anybody", webtest.Viewer)
	ask := func(b *testing.B) {
		b.Helper()
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Body.Len() > mostPage {
			b.Fatalf("%d, %d bytes", w.Code, w.Body.Len())
		}
		b.ReportMetric(float64(w.Body.Len()), "bytes")
	}
	ask(b)
	b.Run("new", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			now = now.Add(time.Second)
			for i := range changed {
				j := (n*changed + i) % patients
				all[j] = patient(j, j%600, float64(j%100)/100)
			}
			k.list = listOf(all...)
			b.StartTimer()
			ask(b)
		}
	})
	b.Run("same", func(b *testing.B) {
		for b.Loop() {
			ask(b)
		}
	})
}

// mostPage is the most bytes that the first hundred rows may take, compressed.
const mostPage = 25 << 10
