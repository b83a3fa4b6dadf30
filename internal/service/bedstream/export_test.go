package bedstream

import "time"

// LookEvery sets how often forecasts are compared with the published ones.
func (c *Config) LookEvery(pause time.Duration) { c.lookEvery = pause }

// FitEvery sets how often the fit is looked up.
func (c *Config) FitEvery(pause time.Duration) { c.fitEvery = pause }
