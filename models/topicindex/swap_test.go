package topicindex

import (
	"sync"
	"testing"
)

// Fifty clients search while versions are added, and each search is answered by one index as a whole.
func TestSwapUnderClients(t *testing.T) {
	t.Parallel()
	x, s := usual(t)
	const clients, swaps = 50, 2
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := x.Search(t.Context(), Query{Text: []string{"dyspnea", "hip", "fractures", "lacer"}[i%4]})
				if err != nil || len(r.Results) != min(r.Total, DefaultLimit) ||
					r.Facets.Status[0].Count > r.Total || r.Total == 0 {
					t.Errorf("client %d: %+v, %v", i, r, err)
					return
				}
			}
		})
	}
	for day := 1; day <= swaps; day++ {
		later, fall := breath, falls
		later.day, fall.day = day, day
		add(t, s, later, fall)
		if err := x.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	all.Wait()
	if r, err := x.Search(t.Context(), Query{}); err != nil || r.Total != 5*(swaps+1) {
		t.Errorf("at the end: %+v, %v", r, err)
	}
}
