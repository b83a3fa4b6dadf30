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
	fmt.Printf("%.3f %t\n", n.Probability, n.Admitted)
	// Output:
	// 18yo F with low back pain + hx chronic back pain + after lifting + out of pain meds + old mvc injury + otherwise healthy + immunizations utd + denies palpitations. vs: 119/68 p 105 r 13 t 37.1
	// 0.001 false
}
