package charts_test

import "testing"

func TestAWSResourcesGoldens(t *testing.T) { chartGoldens(t, repo+"/charts/aws-resources") }
