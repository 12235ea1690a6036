package charts_test

import "testing"

func TestMemberAccessGoldens(t *testing.T) { chartGoldens(t, repo+"/charts/member-access") }
