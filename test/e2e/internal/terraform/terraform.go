// Package terraform applies terraform/hub and terraform/spokes with OpenTofu, as their users do:
// one workspace a cluster.
//
//	r, err := terraform.New(ctx, binaries, checkout, dir)
//	hub, err := r.Apply(ctx, "hub", "hub-eu", "111122223333", map[string]any{"region": "eu-west-1", ...})
//	spoke, err := r.Apply(ctx, "spokes", "retail-prod-eu-1", "333344445555", map[string]any{...})
//
// OpenTofu is the real one. AWS is not: the providers are the component cloud-standin, whose cloud
// is a folder, and two modules of the community have stand-ins in the folder modules.
package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
)

// Components are what Apply needs of package component.
func Components() []string { return []string{"opentofu", "cloud-standin"} }

// Runner applies the wrappers.
type Runner struct {
	Dir string // a copy of the folder terraform, with the wrappers' states

	cloud cloud
	tofu  string
	env   []string
}

// New copies the folder terraform and initializes both wrappers.
func New(ctx context.Context, b component.Binaries, checkout, dir string) (*Runner, error) {
	tofu, err := b.Find("opentofu/tofu")
	if err != nil {
		return nil, err
	}
	aws, err := b.Find("cloud-standin/terraform-provider-aws")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "tofu.rc")
	r := &Runner{Dir: filepath.Join(dir, "terraform"), tofu: tofu, cloud: cloud(filepath.Join(dir, "cloud")), env: []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + config, "TF_IN_AUTOMATION=1", "TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1",
	}}
	if err := os.CopyFS(r.Dir, os.DirFS(filepath.Join(checkout, "terraform"))); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(string(r.cloud), 0o750); err != nil {
		return nil, err
	}
	registry, end, err := serveModules(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	text := fmt.Sprintf(`host "registry.opentofu.org" {
  services = { "modules.v1" = %q }
}
provider_installation {
  dev_overrides {
    "hashicorp/aws"  = %q
    "hashicorp/helm" = %[2]q
  }
  direct {}
}
`, registry, filepath.Dir(aws))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	for _, wrapper := range []string{"hub", "spokes"} {
		// Not init, which asks the registry for providers although they are overridden.
		if _, err := r.Run(ctx, wrapper, "", "get"); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// SetClusters gives clusters of EKS the addresses of real ones.
func (r *Runner) SetClusters(clusters map[string]Cluster) error {
	data, err := json.Marshal(clusters)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(r.cloud), "clusters.json"), data, 0o600)
}

// Cluster is how a real cluster is reached.
type Cluster struct {
	Endpoint string `json:"endpoint"`
	CA       string `json:"ca"` // base64
}

// Apply applies a wrapper in a workspace, with the credentials of an account, and returns the
// outputs by name.
func (r *Runner) Apply(ctx context.Context, wrapper, workspace, account string, variables map[string]any) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(variables)
	if err != nil {
		return nil, err
	}
	file := workspace + ".tfvars.json"
	if err := os.WriteFile(filepath.Join(r.Dir, wrapper, file), data, 0o600); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"workspace", "select", "-or-create", workspace}, {"apply", "-auto-approve", "-input=false", "-var-file=" + file}} {
		if _, err := r.Run(ctx, wrapper, account, args...); err != nil {
			return nil, err
		}
	}
	out, err := r.Run(ctx, wrapper, account, "output", "-json")
	if err != nil {
		return nil, err
	}
	var outputs map[string]struct{ Value json.RawMessage }
	if err := json.Unmarshal(out, &outputs); err != nil {
		return nil, fmt.Errorf("outputs of terraform/%s: %w", wrapper, err)
	}
	values := map[string]json.RawMessage{}
	for name, o := range outputs {
		values[name] = o.Value
	}
	return values, nil
}

// Run runs OpenTofu in a folder of the copy and returns what it prints.
func (r *Runner) Run(ctx context.Context, folder, account string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, r.tofu, args...)
	var out, errs bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = filepath.Join(r.Dir, folder), &out, &errs
	command.Env = slices.Concat(r.env, []string{"CLOUD_STANDIN=" + string(r.cloud), "AWS_ACCESS_KEY_ID=" + account})
	if err := command.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("tofu %s in terraform/%s: %w\n%s%s", strings.Join(args, " "), folder, err, out.String(), errs.String())
	}
	return out.Bytes(), nil
}
