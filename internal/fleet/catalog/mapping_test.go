package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

// TestLongCatalogIsMappedInTimeOfItsLength is rule H10: a file holds more than 150,000 entries.
func TestLongCatalogIsMappedInTimeOfItsLength(t *testing.T) {
	const entries, most = 170_000, 5 * race.Slack * time.Second
	fields := make([]yamldoc.Field, entries)
	for i := range fields {
		fields[i] = yamldoc.Field{Key: fmt.Sprintf("c%06d", i), Value: yamldoc.FromAny(nil, nil)}
	}
	root := yamldoc.NewMap(nil, fields...)
	began := time.Now()
	if _, problems := (Mapper{Mapping: &Mapping{}}).Map(root); len(problems) > 0 {
		t.Fatal(problems)
	}
	if took := time.Since(began); took > most {
		t.Errorf("%d entries are mapped in %s", entries, took)
	}
}
