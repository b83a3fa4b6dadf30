package beds

import (
	"cmp"
	"maps"
	"slices"
)

// Wards counts the wards of the admitted.
type Wards struct {
	Names []string `json:"names"` // sorted
	// Admitted counts the admitted by complaint, age band and ward, in the order of Names.
	Admitted map[string][ageBands][]int `json:"admitted"`
}

// mostWards is how many wards a site may have. A hospital has some dozens; more would be an error of the sender.
const mostWards = 100

// nameFew takes the names of all but the most frequent wards from the admitted, ties by name.
func nameFew(visits []Visit) {
	count := map[string]int{}
	for i := range visits {
		if visits[i].Ward != "" {
			count[visits[i].Ward]++
		}
	}
	if len(count) <= mostWards {
		return
	}
	names := slices.SortedFunc(maps.Keys(count),
		func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	for _, name := range names[mostWards:] {
		delete(count, name)
	}
	for i := range visits {
		if count[visits[i].Ward] == 0 {
			visits[i].Ward = ""
		}
	}
}

// Count returns how many were admitted to a ward.
func (w *Wards) Count(ward string) (n int) {
	i, known := slices.BinarySearch(w.Names, ward)
	for _, bands := range w.Admitted {
		for _, band := range bands {
			if known && i < len(band) {
				n += band[i]
			}
		}
	}
	return n
}

func fitWards(visits []Visit) Wards {
	w := Wards{Admitted: map[string][ageBands][]int{}}
	for i := range visits {
		if v := &visits[i]; v.Admitted && v.Ward != "" {
			w.Names = append(w.Names, v.Ward)
		}
	}
	slices.Sort(w.Names)
	w.Names = slices.Compact(w.Names)
	for i := range visits {
		v := &visits[i]
		if !v.Admitted || v.Ward == "" {
			continue
		}
		counts := w.Admitted[v.Complaint]
		band := &counts[ageBand(v.Age)]
		if *band == nil {
			*band = make([]int, len(w.Names))
		}
		ward, _ := slices.BinarySearch(w.Names, v.Ward)
		(*band)[ward]++
		w.Admitted[v.Complaint] = counts
	}
	return w
}

// wardsPrior is the weight, in admissions, of the larger group in blended shares: all, the age band, the complaint in
// it.
const wardsPrior = 5

// wardShares are the compiled shares of wards.
type wardShares struct {
	names []string
	ages  [ageBands][]float64
	cells map[string][ageBands][]float64
}

func newWardShares(w *Wards) *wardShares {
	s := &wardShares{names: w.Names, cells: map[string][ageBands][]float64{}}
	n := len(w.Names)
	all := make([]int, n)
	var ages [ageBands][]int
	for b := range ages {
		ages[b] = make([]int, n)
	}
	for _, counts := range w.Admitted {
		for b, band := range counts {
			for i, x := range band {
				ages[b][i] += x
				all[i] += x
			}
		}
	}
	overall := blend(all, slices.Repeat([]float64{1 / float64(n)}, n))
	for b := range ages {
		s.ages[b] = blend(ages[b], overall)
	}
	for complaint, counts := range w.Admitted {
		var cell [ageBands][]float64
		for b := range counts {
			cell[b] = blend(counts[b], s.ages[b])
		}
		s.cells[complaint] = cell
	}
	return s
}

// blend returns the shares of the counts, blended with those of a larger group. Nil counts are all 0.
func blend(counts []int, larger []float64) []float64 {
	n := float64(Counts(counts).total())
	shares := make([]float64, len(larger))
	for i := range shares {
		if counts != nil {
			shares[i] = float64(counts[i])
		}
		shares[i] = (shares[i] + wardsPrior*larger[i]) / (n + wardsPrior)
	}
	return shares
}

// to stores the probabilities of the wards of an admitted patient in dst, in the order of names: the patient's own if
// they name a known ward, else by complaint and age.
func (s *wardShares) to(dst []float64, patient *Patient) {
	clear(dst)
	var sum float64
	for _, w := range patient.Wards {
		if i, known := slices.BinarySearch(s.names, w.Ward); known && w.Share > 0 {
			dst[i] += w.Share
			sum += w.Share
		}
	}
	if sum > 0 {
		for i := range dst {
			dst[i] /= sum
		}
		return
	}
	band := ageBand(patient.Age)
	if cell, known := s.cells[patient.Complaint]; known {
		copy(dst, cell[band])
		return
	}
	copy(dst, s.ages[band])
}
