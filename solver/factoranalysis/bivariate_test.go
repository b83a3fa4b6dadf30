package factoranalysis

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestBivariateNormal(t *testing.T) {
	t.Parallel()
	const tolerance = 1e-15
	file, err := os.Open(filepath.Join("testdata", "bivariate.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for _, record := range records[1:] {
		var v [4]float64
		for f, field := range record {
			if v[f], err = strconv.ParseFloat(field, 64); err != nil {
				t.Fatal(err)
			}
		}
		a, b, rho, want := v[0], v[1], v[2], v[3]
		var normal BivariateNormal
		normal.To(rho)
		got := normal.CDF(a, b, upperTail(-a), upperTail(-b))
		worst = max(worst, math.Abs(got-want))
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("P(A ≤ %v, B ≤ %v) at ρ = %v: %.17g, want %.17g", a, b, rho, got, want)
		}
	}
	t.Logf("%d values, largest error %.2g", len(records)-1, worst)
}

// At ρ = ±1 one variable decides, and at the origin the probability is known.
func TestBivariateNormalIdentities(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{-1, -0.97, -0.6, 0, 0.25, 0.925, 1} {
		var normal BivariateNormal
		normal.To(rho)
		if got, want := normal.CDF(0, 0, 0.5, 0.5), 0.25+math.Asin(rho)/(2*math.Pi); math.Abs(got-want) > 1e-15 {
			t.Errorf("ρ = %v: %.17g at the origin, want %.17g", rho, got, want)
		}
		for _, p := range [][2]float64{{0.3, -1}, {-2, 2.2}, {1.5, 1.5}, {-1, -1}} {
			a, b := p[0], p[1]
			all := normal.CDF(a, b, upperTail(-a), upperTail(-b))
			if swapped := normal.CDF(b, a, upperTail(-b), upperTail(-a)); math.Abs(all-swapped) > 1e-15 {
				t.Errorf("ρ = %v, %v: %v, swapped %v", rho, p, all, swapped)
			}
			var mirrored BivariateNormal
			mirrored.To(-rho)
			// P(A ≤ a, B ≤ b) + P(A ≤ a, B > b) = Φ(a)
			if sum := all + mirrored.CDF(a, -b, upperTail(-a), upperTail(b)); math.Abs(sum-upperTail(-a)) > 1e-15 {
				t.Errorf("ρ = %v, %v: parts sum to %v, want %v", rho, p, sum, upperTail(-a))
			}
		}
	}
}

// The derivative with respect to ρ is the density.
func TestBivariateDensityIsTheDerivative(t *testing.T) {
	t.Parallel()
	const step = 1e-5
	for _, rho := range []float64{-0.98, -0.4, 0.1, 0.5, 0.94} {
		for _, p := range [][2]float64{{0.3, -1}, {-2, 1}, {1.5, 1.2}} {
			a, b := p[0], p[1]
			at := func(rho float64) float64 {
				var normal BivariateNormal
				normal.To(rho)
				return normal.CDF(a, b, upperTail(-a), upperTail(-b))
			}
			var normal BivariateNormal
			normal.To(rho)
			got, want := normal.Density(a, b), (at(rho+step)-at(rho-step))/(2*step)
			if math.Abs(got-want) > 1e-8*max(1, want) {
				t.Errorf("ρ = %v at %v: %v, want %v", rho, p, got, want)
			}
		}
	}
}

func BenchmarkBivariateNormal(b *testing.B) {
	for _, rho := range []float64{0.2, 0.5, 0.9, 0.95} {
		b.Run("rho="+strconv.FormatFloat(rho, 'g', -1, 64), func(b *testing.B) {
			b.ReportAllocs()
			var normal BivariateNormal
			normal.To(rho)
			for b.Loop() {
				normal.CDF(0.3, -0.7, 0.6179, 0.2420)
			}
		})
	}
}
