package argocd

import "testing"

func TestReleaseOf(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.14", "3.5", "3.6"} {
		if r, err := releaseOf(version); err != nil || r.component != "argocd-"+version {
			t.Errorf("releaseOf(%q) = %+v, %v", version, r, err)
		}
	}
	_, err := releaseOf("v1")
	if want := `version "v1": expected one of 2.14, 3.5, 3.6`; err == nil || err.Error() != want {
		t.Errorf("releaseOf of an unknown version: %v, expected %s", err, want)
	}
}
