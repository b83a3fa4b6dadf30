package models_test

import (
	"testing"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

func TestDir(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) models.Bucket { return models.Dir(t.TempDir()) })
}
