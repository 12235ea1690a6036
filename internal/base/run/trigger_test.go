package run

import "testing"

func TestFiresTogetherMakeOneRun(t *testing.T) {
	tr := NewTrigger()
	for range 3 {
		tr.Fire()
	}
	if n := len(tr); n != 1 {
		t.Fatalf("%d runs are pending; expected 1", n)
	}
	<-tr
	tr.Fire()
	if n := len(tr); n != 1 {
		t.Fatalf("%d runs are pending after the next trigger; expected 1", n)
	}
}
