package succession_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/succession"
)

// TestOnlyTheNewestIsNewest: an earlier value stays earlier when it is added again, one that was
// never added is neither, and the oldest of many is forgotten.
func TestOnlyTheNewestIsNewest(t *testing.T) {
	var s succession.Of[int]
	values := make([]int, succession.MaxKnown+8)
	for i := range values {
		isNewest, forgotten := s.Add(&values[i])
		if want := i >= succession.MaxKnown; !isNewest || (forgotten.Value() != nil) != want || want && forgotten.Value() != &values[i-succession.MaxKnown] {
			t.Fatalf("%d: %v, %v", i, isNewest, forgotten.Value())
		}
	}
	if isNewest, _ := s.Add(&values[len(values)-1]); !isNewest || s.IsEarlier(&values[len(values)-1]) {
		t.Error("the newest is not")
	}
	if isNewest, _ := s.Add(&values[20]); isNewest || !s.IsEarlier(&values[20]) || s.IsEarlier(&values[len(values)-1]) {
		t.Error("an earlier one has become the newest")
	}
	if s.IsEarlier(&values[0]) || s.IsEarlier(new(int)) {
		t.Error("one that is not known is earlier")
	}
}
