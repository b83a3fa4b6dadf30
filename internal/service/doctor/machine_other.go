//go:build !linux

package doctor

import "errors"

func synchronized() bool { return true }

func free(string) (uint64, error) { return 0, errors.ErrUnsupported }
