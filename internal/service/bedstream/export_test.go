package bedstream

import "time"

// LookEvery sets how often forecasts are compared with the published ones.
func LookEvery(pause time.Duration) { lookEvery = pause }
