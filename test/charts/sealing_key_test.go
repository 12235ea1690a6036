package charts_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSealedSecretsStartsAfterItsKey: the controller's pod mounts the very Secret that
// charts/fleet-secret brings, in its namespace, and may not start without it; and the controller
// makes no key of its own.
func TestSealedSecretsStartsAfterItsKey(t *testing.T) {
	var chart struct {
		SealedSecrets struct{ Namespace, Name string }
	}
	var entries struct {
		Components map[string]struct {
			Namespace string
			Values    struct {
				Keyrenewperiod    string
				AdditionalVolumes []struct {
					Secret struct {
						SecretName string
						Optional   *bool
					}
				}
				AdditionalVolumeMounts []struct{ Name string }
			}
		}
	}
	for file, into := range map[string]any{fleetSecret + "/values.yaml": &chart, catalog("addons"): &entries} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	entry := entries.Components["sealed-secrets"]
	volumes := entry.Values.AdditionalVolumes
	if entry.Namespace != chart.SealedSecrets.Namespace || len(volumes) != 1 || volumes[0].Secret.SecretName != chart.SealedSecrets.Name ||
		volumes[0].Secret.Optional != nil || len(entry.Values.AdditionalVolumeMounts) != 1 || entry.Values.Keyrenewperiod != "0" {
		t.Errorf("the entry is %+v; the key is %+v", entry, chart.SealedSecrets)
	}
}
