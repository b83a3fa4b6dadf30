package meter

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Meter creates metrics and registers them. A name that is registered already panics.
type Meter struct {
	factory promauto.Factory
	prefix  string
}

// New returns a Meter; prefix begins the names of its metrics. With a nil registry they are not registered.
func New(r prometheus.Registerer, prefix string) Meter { return Meter{promauto.With(r), prefix} }

func (m Meter) opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Name: m.prefix + name, Help: help}
}

// Counter returns a counter.
func (m Meter) Counter(name, help string) prometheus.Counter {
	return m.factory.NewCounter(prometheus.CounterOpts(m.opts(name, help)))
}

// Counters returns counters by labels.
func (m Meter) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return m.factory.NewCounterVec(prometheus.CounterOpts(m.opts(name, help)), labels)
}

// Gauge returns a gauge.
func (m Meter) Gauge(name, help string) prometheus.Gauge {
	return m.factory.NewGauge(prometheus.GaugeOpts(m.opts(name, help)))
}

// Gauges returns gauges by labels.
func (m Meter) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return m.factory.NewGaugeVec(prometheus.GaugeOpts(m.opts(name, help)), labels)
}

// Computed returns a gauge whose value is asked for whenever it is read.
func (m Meter) Computed(name, help string, value func() float64) prometheus.GaugeFunc {
	return m.factory.NewGaugeFunc(prometheus.GaugeOpts(m.opts(name, help)), value)
}

// Histogram returns a histogram.
func (m Meter) Histogram(name, help string, buckets []float64) prometheus.Histogram {
	return m.factory.NewHistogram(prometheus.HistogramOpts{Name: m.prefix + name, Help: help, Buckets: buckets})
}

// Histograms returns histograms by labels.
func (m Meter) Histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: m.prefix + name, Help: help, Buckets: buckets}
	return m.factory.NewHistogramVec(opts, labels)
}

// Set sets a gauge of Readings by its name, without the prefix.
type Set func(name string, value float64, labels ...string)

type readings struct {
	read   func(Set)
	gauges map[string]*prometheus.Desc
}

// Readings returns gauges, each a name, a help text and its labels, that read finds together whenever they are read.
// Those that it does not set are left out. The caller registers them.
func (m Meter) Readings(read func(Set), gauges ...[]string) prometheus.Collector {
	r := &readings{read, map[string]*prometheus.Desc{}}
	for _, g := range gauges {
		r.gauges[g[0]] = prometheus.NewDesc(m.prefix+g[0], g[1], g[2:], nil)
	}
	return r
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(all chan<- *prometheus.Desc) {
	for _, gauge := range r.gauges {
		all <- gauge
	}
}

// Collect implements prometheus.Collector.
func (r *readings) Collect(all chan<- prometheus.Metric) {
	r.read(func(name string, value float64, labels ...string) {
		all <- prometheus.MustNewConstMetric(r.gauges[name], prometheus.GaugeValue, value, labels...)
	})
}

// Bool returns 1 for true and 0 for false.
func Bool(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
