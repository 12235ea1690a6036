package server_test

import (
	"net/http"
	"testing"
)

// TestBrokenHoldIsRefused: a commit with a hold that cannot be read is refused as a whole, so that
// every answer stays as it was. (K9)
func TestBrokenHoldIsRefused(t *testing.T) {
	s := guarded(t, nil)
	before := s.askAs(ofDNS, askDNS)
	s.say(twelve(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n", "fleet/holds/x.yaml": "kind: Hold\nowner: a\n"}))
	if r := s.Refresher().Status().Refused; len(r) == 0 || r[0].Reason != "invalid-hold" {
		t.Error("the commit is not refused:", r)
	}
	if after := s.askAs(ofDNS, askDNS); after.code != http.StatusOK || after.body != before.body {
		t.Errorf("the answer has changed: %d %s", after.code, after.body)
	}
	s.say(twelve(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"}))
	if after := s.askAs(ofDNS, askDNS); after.body == before.body {
		t.Error("the next commit is not served")
	}
}
