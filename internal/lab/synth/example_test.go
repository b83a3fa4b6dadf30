package synth_test

import (
	"fmt"

	"github.com/wardcast/wardcast/internal/lab/synth"
)

func ExampleGenerator_At() {
	g, err := synth.New(synth.Settings{Seed: 7})
	if err != nil {
		panic(err)
	}
	n := g.At(10)
	fmt.Println(n.Text)
	for _, m := range n.Mentions {
		t := g.Truth().Topics[m.Topic]
		fmt.Printf("%s: %d × %.2f\n", t.Name, m.Count, t.Coefficient)
	}
	// Output:
	// 18yo F with low back pain + hx chronic back pain + after lifting + out of pain meds + old mvc injury + otherwise healthy + immunizations utd + denies palpitations. bp 119/68 hr 105 t 37.1 o2 98% ra
	// healthy: 2 × -0.47
	// mechanical: 4 × -0.42
}
