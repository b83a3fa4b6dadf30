package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// forecasts stands in for those of bed demand.
type forecasts struct {
	demand *httpapi.DemandQuery
	err    error
}

func (a *forecasts) Forecasts(_ context.Context, q *httpapi.DemandQuery) ([]httpapi.Forecast, error) {
	a.demand = q
	return []httpapi.Forecast{{
		Component: "total", BedDemand: &msg.BedDemand{
			AsOf: "2026-11-20T08:00:00Z", Site: "A", Ward: "MED", HorizonHours: 8, UsualMean: msg.Some(2.5),
			Exceed: []msg.DemandAbove{{Beds: 6, Probability: 0.25}}, BedsVersion: "v",
			Total: msg.DemandTotal{Mean: 3.5, Median: 3, Interval80: [2]int{1, 5}, Interval95: [2]int{0, 7}},
		},
	}}, a.err
}

func (a *forecasts) History(_ context.Context, q *httpapi.HistoryQuery) (*httpapi.DemandHistory, error) {
	low, high, came := 3, 6, []int{5, 7}
	h, at := &httpapi.DemandHistory{}, time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)
	point := httpapi.HistoryPoint{At: at, Ward: q.Ward, Window: httpapi.Span(q.Window), Expected: 4.5}
	h.Add(point)
	for i := range came {
		point.Low, point.High, point.Actual = &low, &high, &came[i]
		h.Add(point)
	}
	return h, a.err
}

func TestBedDemandHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) { o.Demand = &forecasts{} })
	got := s.ask("GET /v1/bed-demand/history?ward=MED&window=90m&days=2", "", nil)
	const point = `{"at":"2026-11-20T06:00:00Z","ward":"MED","window":"90m","expected":4.5,`
	want := `{"points":[` + point + `"low":null,"high":null,"actual":null},` + point + `"low":3,"high":6,"actual":5},` +
		point + `"low":3,"high":6,"actual":7}],"held":1,"compared":2}` + "\n"
	if got.status != http.StatusOK || got.body != want {
		t.Errorf("%+v, want %s", got, want)
	}
	for _, bad := range []string{"days=0", "days=8", "days=x", "window=1m", "window=x", "at=now"} {
		path := "/v1/bed-demand/history?" + bad
		same(t, path, "bad_parameter", s.problem(path, s.ask("GET "+path, "", nil), http.StatusBadRequest))
	}
}

func TestBedDemand(t *testing.T) {
	t.Parallel()
	a := &forecasts{}
	s := newSite(t, func(o *httpapi.Options) { o.Demand = a })
	got := s.ask("GET /v1/bed-demand?ward=MED&window=90m&at=2026-11-20T08:00:00Z&include=waiting&beds=MED:6,SURG:4", "",
		nil)
	if got.status != http.StatusOK || !strings.HasPrefix(got.body, `{"forecasts":[{"schema_version":"1","site":"A","ward":"MED","as_of":`) {
		t.Errorf("%+v", got)
	}
	same(t, "query", &httpapi.DemandQuery{
		Ward: "MED", Window: 90 * time.Minute, At: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), Waiting: true,
		Beds: map[string]int{"MED": 6, "SURG": 4},
	}, a.demand)
	got = s.ask("GET /v1/bed-demand", "", with(nil, "Accept", "text/csv"))
	want := "as_of,site,ward,horizon_hours,component,patients,mean,median,lo80,hi80,lo95,hi95,beds,p_more,usual_mean," +
		"calibrated,outcomes_stale,beds_version\n2026-11-20T08:00:00Z,A,MED,8,total,0,3.5,3,1,5,0,7,6,0.25,2.5,false,false,v\n"
	if got.body != want || got.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%+v", got)
	}
	same(t, "defaults",
		&httpapi.DemandQuery{Window: 8 * time.Hour, Waiting: true, Coming: true, Beds: map[string]int{}}, a.demand)
}

// TestBedDemandAtFault: what a forecast finds wrong with a query names the parameter.
func TestBedDemandAtFault(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Demand = &forecasts{err: &httpapi.QueryError{Field: "at", Detail: "too far"}}
	})
	const path = "/v1/bed-demand?at=2400-01-01T00:00:00Z"
	got := s.ask("GET "+path, "", nil)
	same(t, path, "bad_parameter", s.problem(path, got, http.StatusBadRequest))
	if !strings.Contains(got.body, `"field":"at","detail":"too far"`) {
		t.Error(got.body)
	}
}
