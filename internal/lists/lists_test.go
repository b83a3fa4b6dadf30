package lists_test

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/wardcast/wardcast/internal/lists"
)

// A list of nothing is one, which JSON writes as [], but a list that is not there stays so.
func TestLists(t *testing.T) {
	t.Parallel()
	if n := lists.Count([]int{4, 1, 5}, func(v int) bool { return v > 3 }); n != 2 {
		t.Errorf("%d of 4, 1 and 5 are above 3", n)
	}
	if set := lists.Set([]string{"a", "a"}); !reflect.DeepEqual(set, map[string]bool{"a": true}) {
		t.Errorf("the entries of a and a are %v", set)
	}
	if at := lists.Where(5, func(i int) bool { return i%2 == 1 }); !reflect.DeepEqual(at, []int{1, 3}) {
		t.Errorf("%v below 5 are odd", at)
	}
	for _, c := range []struct{ got, want []string }{
		{lists.Make(3, strconv.Itoa), []string{"0", "1", "2"}},
		{lists.Map([]int{3, 1}, strconv.Itoa), []string{"3", "1"}},
		{lists.Map(nil, strconv.Itoa), []string{}},
		{lists.Take([]string{"a", "b", "c"}, []int{2, 0, 2}), []string{"c", "a", "c"}},
		{lists.Take([]string{"a"}, nil), []string{}},
		{lists.Take[string](nil, []int{1}), nil},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %#v, want %#v", c.got, c.want)
		}
	}
}
