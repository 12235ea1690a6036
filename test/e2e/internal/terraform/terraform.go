// Package terraform makes members' records with terraform/modules/member-record, as Terraform's
// wrappers for clouds do.
package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Member is what the module makes a record of: its variables.
type Member struct {
	ClusterName string            `json:"cluster_name"`
	Server      string            `json:"server"`
	Connection  map[string]any    `json:"connection"`
	Metadata    map[string]string `json:"metadata"`
	Addons      map[string]string `json:"addons"`
}

// Installed tells whether there is a Terraform to run.
func Installed() bool {
	_, err := exec.LookPath("terraform")
	return err == nil
}

// Connection is what a config of Argo CD's is to the module.
func Connection(config string) (map[string]any, error) {
	var c struct {
		BearerToken     string `json:"bearerToken"`
		TLSClientConfig struct {
			Insecure   bool   `json:"insecure"`
			ServerName string `json:"serverName"`
			CAData     string `json:"caData"`
			CertData   string `json:"certData"`
			KeyData    string `json:"keyData"`
		} `json:"tlsClientConfig"`
	}
	decoder := json.NewDecoder(strings.NewReader(config))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("config of Argo CD: %w", err)
	}
	tls, out := c.TLSClientConfig, map[string]any{}
	for key, value := range map[string]string{
		"bearer_token": c.BearerToken, "server_name": tls.ServerName, "ca_data": tls.CAData, "cert_data": tls.CertData, "key_data": tls.KeyData,
	} {
		if value != "" {
			out[key] = value
		}
	}
	if tls.Insecure {
		out["insecure"] = true
	}
	return out, nil
}

// Records applies the module once for each member, in a folder of its own, and returns the records
// by the members' names.
func Records(ctx context.Context, checkout, dir string, members map[string]Member) (map[string]string, error) {
	root, err := json.Marshal(map[string]any{
		"variable": map[string]any{"members": map[string]any{}},
		"module": map[string]any{"record": map[string]any{
			"source": "./member-record", "for_each": "${var.members}",
			"cluster_name": "${each.value.cluster_name}", "server": "${each.value.server}", "connection": "${each.value.connection}",
			"metadata": "${each.value.metadata}", "addons": "${each.value.addons}",
		}},
		"output": map[string]any{"records": map[string]any{"sensitive": true, "value": "${{for name, m in module.record : name => m.json}}"}},
	})
	if err != nil {
		return nil, err
	}
	variables, err := json.Marshal(map[string]any{"members": members})
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(dir, "member-record"), os.DirFS(filepath.Join(checkout, "terraform", "modules", "member-record"))); err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"main.tf.json": root, "terraform.tfvars.json": variables} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-input=false"}, {"apply", "-auto-approve", "-input=false"}} {
		if _, err := run(ctx, dir, args...); err != nil {
			return nil, err
		}
	}
	out, err := run(ctx, dir, "output", "-json", "records")
	if err != nil {
		return nil, err
	}
	records := map[string]string{}
	return records, json.Unmarshal(out, &records)
}

func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "terraform", args...)
	var out, errs bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = dir, &out, &errs
	command.Env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "NO_COLOR=1")
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("terraform %s: %w\n%s%s", args[0], err, out.String(), errs.String())
	}
	return out.Bytes(), nil
}
